"""Scripts whose buffers name no memory: what is emitted is what the same scripts with named memories
emit."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import example_kernels
import pytest

import tile_frontend as T
from tile_codegen_ascendc import emit, entry_source
from tile_ir import DEFAULT_TARGET, Automatic, Func, KernelError
from tile_ir.machine import CHOICES_OF_OPEN
from tile_passes import PassOptions, run_pipeline

from .matrix.cases import elementwise_cases
from .matrix.programs import kernel_text, load_module

ALLOCATORS = {
    "T.alloc_ub(": "T.alloc_shared(",
    "T.alloc_L1(": "T.alloc_shared(",
    "T.alloc_L0A(": "T.alloc_fragment(",
    "T.alloc_L0B(": "T.alloc_fragment(",
    "T.alloc_L0C(": "T.alloc_fragment(",
}


def traced(folder: Path, replaced: dict[str, str], patch: pytest.MonkeyPatch) -> dict[str, Func]:
    """The kernels of the examples, after a change of their text."""
    for script in example_kernels.EXAMPLES.glob("*.py"):
        text = script.read_text()
        for old, new in replaced.items():
            text = text.replace(old, new)
        (folder / script.name).write_text(text)
    with patch.context() as context:
        context.setattr(example_kernels, "EXAMPLES", folder)
        context.syspath_prepend(str(folder))
        # Each is traced once a process, and these are other sources.
        return dict(example_kernels.traced.__wrapped__() | example_kernels.automatic.__wrapped__())


def emitted(func: Func) -> str:
    options = PassOptions(automatic=(Automatic.SYNC, Automatic.MEMORY))
    lowered = run_pipeline(func, DEFAULT_TARGET, options).func
    return emit(lowered, DEFAULT_TARGET) + entry_source(lowered)


@pytest.mark.parametrize("names", [("T.alloc_ub(",), tuple(ALLOCATORS)], ids=["ub", "all"])
def test_examples_emit_the_same_text(
    names: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = traced(tmp_path, {}, monkeypatch)
    left_open = traced(tmp_path, {n: ALLOCATORS[n] for n in names}, monkeypatch)
    assert list(named) == list(left_open) and len(named) > 10
    for name, func in left_open.items():
        some = any(a.buffer.memory in CHOICES_OF_OPEN for a in func.launch.allocs)
        assert some or "gemm" in name
        assert emitted(func) == emitted(named[name]), name


def ending(function: Any) -> str:
    """What a kernel emits, or why it is refused: slug and line."""
    try:
        return emitted(T.prim_func(function))
    except KernelError as error:
        return f"{error.slug} in line {error.loc.line if error.loc else 0}"


def test_forms_of_operands_end_alike(tmp_path: Path) -> None:
    """Slices of every kind, of buffers that name ub and of such that do not: refused at the same
    lines or emitted alike."""
    cases = list(elementwise_cases())[::71]
    texts = [kernel_text(case, f"k{i}") for i, case in enumerate(cases)]
    endings = []
    for allocator in ("T.alloc_ub(", "T.alloc_shared("):
        linecache.clearcache()
        changed = [text.replace("T.alloc_ub(", allocator) for text in texts]
        module = load_module(tmp_path, "matrix_kernels", changed)
        endings.append([ending(getattr(module, f"k{i}")) for i in range(len(cases))])
    for case, named, left_open in zip(cases, *endings, strict=True):
        assert named == left_open, case.name
    emits = sum(len(named) > 100 for named in endings[0])
    assert emits > 100 and len(cases) > emits
