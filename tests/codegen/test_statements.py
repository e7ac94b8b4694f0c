"""Statements and scalar expressions as C++: goldens in `statements/`."""

from __future__ import annotations

from pathlib import Path

import golden
import pytest

import tile_ir
from tile_codegen_ascendc import emit
from tile_ir import DEFAULT_TARGET
from tile_passes import PassOptions, run_pipeline


@pytest.mark.parametrize(
    "path", sorted(Path(__file__).parent.glob("statements/*.tir")), ids=lambda p: p.stem
)
def test_golden(path: Path) -> None:
    case = golden.read(path)
    # One statement per file: what it reads comes from nowhere.
    options = PassOptions(skip=("check_written",))
    func = run_pipeline(tile_ir.parse(case.source, path.name), DEFAULT_TARGET, options).func
    golden.compare(case, emit(func, DEFAULT_TARGET))
