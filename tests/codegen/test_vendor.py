"""Emitted sources type-check with CANN's headers: the examples, and every operation's golden."""

from __future__ import annotations

from pathlib import Path

import example_kernels
import golden
import pytest
import vendor_headers

import tile_ir
from tile_codegen_ascendc import DEVICE_HEADER_DIR, emit
from tile_ir import DEFAULT_TARGET, Func
from tile_passes import PIPELINE, PassOptions, run_passes
from tile_runtime.jit_kernels.watch_kernels import watch_kernels
from tile_runtime.scripts.module import load_script

pytestmark = pytest.mark.vendor
SCRIPTS = [
    *sorted((example_kernels.EXAMPLES / "developer").glob("*.py")),
    *sorted((example_kernels.EXAMPLES / "torch").glob("*.py")),
]
GOLDENS = sorted(Path(__file__).parent.glob("*/*.tir"))

# An operation alone reads buffers that nothing has written.
FRAGMENT = PassOptions(skip=("check_written",))


def source_of(func: Func, options: PassOptions = FRAGMENT) -> str:
    remaining = [p for p in PIPELINE if p.gives is None or p.gives > func.phase]
    return emit(run_passes(func, remaining, DEFAULT_TARGET, options).func, DEFAULT_TARGET)


def check(func: Func, folder: Path, options: PassOptions = FRAGMENT) -> None:
    path = folder / "kernel.cpp"
    path.write_text(source_of(func, options))
    vendor_headers.type_check(path, [DEVICE_HEADER_DIR])


@pytest.mark.parametrize("name", example_kernels.traced())
def test_example(name: str, tmp_path: Path) -> None:
    check(example_kernels.traced()[name], tmp_path)


@pytest.mark.parametrize("name", example_kernels.automatic())
def test_example_without_flags(name: str, tmp_path: Path) -> None:
    options = PassOptions(automatic=example_kernels.AUTOMATIC_SYNC)
    check(example_kernels.automatic()[name], tmp_path, options)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_kernels_of_scripts(script: Path, tmp_path: Path) -> None:
    """All kernels that an example in developer style, or one for torch, compiles."""
    vendor_headers.toolkit()
    with watch_kernels() as made:
        load_script(script).main()
    assert made
    for number, kernel in enumerate(made):
        path = tmp_path / f"kernel{number}.cpp"
        path.write_text(kernel.get_kernel_source())
        vendor_headers.type_check(path, [DEVICE_HEADER_DIR])


@pytest.mark.parametrize("path", GOLDENS, ids=lambda p: p.stem)
def test_operation(path: Path, tmp_path: Path) -> None:
    check(tile_ir.parse(golden.read(path).source), tmp_path)
