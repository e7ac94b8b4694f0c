"""Random element code as for a GPU, at `strict` against NumPy (`element_programs`)."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from kept_cases import kept

from end_to_end.element_programs import Meaning, program
from tile_ir import KernelError, KernelWarning
from tile_runtime import compile

PROGRAMS, PARTS = 400, 10


@pytest.mark.parametrize("part", range(PARTS))
def test_element_code_means_what_numpy_says(
    part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")
    wrong = [seed for seed in kept(range(part, PROGRAMS, PARTS), 3) if not right(seed, tmp_path)]
    assert not wrong


def right(seed: int, folder: Path) -> bool:
    """Whether a program gives what it means, or is refused: by the order of elements."""
    made = program(seed)
    file = folder / f"element_program_{seed}.py"
    file.write_text(made.text)
    rng = np.random.default_rng(seed)
    kind = np.dtype(made.dtype)
    x, y = (rng.integers(-3, 4, (made.rows, made.columns)).astype(kind) for _ in range(2))
    places = rng.integers(-1, max(made.rows, made.columns) + 1, 64).astype(np.int32)
    expected = y.copy()
    Meaning(made, x, places, kind.type(2)).run(expected)
    found = torch.from_numpy(y.copy())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KernelWarning)
        try:
            compile(loaded(file).kernel)(torch.from_numpy(x), torch.from_numpy(places), found, 2)
        except KernelError as error:
            return error.slug in REFUSED
    return bool(np.array_equal(found.numpy(), expected))


# What no order of elements gives, and what has no room.
REFUSED = ("parallel-order",)


def loaded(file: Path) -> Any:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
