"""Kernels whose memories are left open: every buffer comes to lie where the same kernel names its
memory, so that all that follows is the same."""

from __future__ import annotations

import linecache
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import example_kernels
import pytest
from end_to_end import parallel_kernels
from end_to_end.matrix.cases import elementwise_cases
from end_to_end.matrix.programs import kernel_text, load_module
from end_to_end.op_kernels import broadcast_cases, cast_cases, reduction_cases
from fuzz.kernels.random_kernel import random_kernel

import tile_frontend as T
from tile_codegen_ascendc import emit, entry_source
from tile_ir import DEFAULT_TARGET, Automatic, Func, KernelError, Memory, Phase
from tile_ir.equality import structurally_equal
from tile_ir.machine import CHOICES_OF_OPEN
from tile_ir.walk import replace_buffers
from tile_passes import PassOptions, apply_passes, run_pipeline

ALLOCATORS = {
    "T.alloc_ub(": "T.alloc_shared(",
    "T.alloc_L1(": "T.alloc_shared(",
    "T.alloc_L0A(": "T.alloc_fragment(",
    "T.alloc_L0B(": "T.alloc_fragment(",
    "T.alloc_L0C(": "T.alloc_fragment(",
}
OPEN_FORM = {
    Memory.UB: Memory.SHARED,
    Memory.L1: Memory.SHARED,
    Memory.L0A: Memory.FRAGMENT,
    Memory.L0B: Memory.FRAGMENT,
    Memory.L0C: Memory.FRAGMENT,
}


def opened(func: Func, form: dict[Memory, Memory] = OPEN_FORM) -> Func:
    """The kernel at its beginning, with buffers that name no memory."""
    new = {
        a.buffer: replace(a.buffer, memory=form[a.buffer.memory])
        for a in func.launch.allocs
        if a.buffer.memory in form
    }
    allocs = tuple(
        replace(a, buffer=new.get(a.buffer, a.buffer), alias_of=new.get(a.alias_of, a.alias_of))
        for a in func.launch.allocs
    )
    body = replace_buffers(func.launch.body, new)
    return replace(func.with_body(body, allocs=allocs), phase=Phase.BUILT)


def found_again(func: Func, form: dict[Memory, Memory] = OPEN_FORM) -> bool:
    """Whether inference gives every buffer the memory it had."""
    inferred = apply_passes(opened(func, form), ["infer_memory"], DEFAULT_TARGET)
    return structurally_equal(inferred, replace(func, phase=Phase.TYPED))


@pytest.mark.parametrize("seed", range(200))
def test_memories_of_random_kernels_are_found_again(seed: int) -> None:
    assert found_again(random_kernel(seed))


def test_tiles_of_parallel_kernels_lie_in_ub() -> None:
    for seed in range(150):
        _, func = parallel_kernels.random_kernel(random.Random(seed).choice)
        for kind in (Memory.SHARED, Memory.FRAGMENT):
            assert found_again(func, {Memory.UB: kind}), seed


def test_operands_of_vector_operations_lie_in_ub() -> None:
    cases = [*cast_cases(), *reduction_cases(), *broadcast_cases()]
    assert len(cases) > 100
    for case in cases:
        for kind in (Memory.SHARED, Memory.FRAGMENT):
            assert found_again(case.func, {Memory.UB: kind}), case.name


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
        return example_kernels.traced() | example_kernels.automatic()


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


def test_what_may_be_open_is_what_has_a_memory_in_the_end() -> None:
    closed = frozenset(OPEN_FORM)
    assert frozenset().union(*CHOICES_OF_OPEN.values()) == closed
