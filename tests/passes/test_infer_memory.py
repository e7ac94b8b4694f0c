"""Kernels whose memories are left open: every buffer comes to lie where the same kernel names its
memory, so that all that follows is the same."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from end_to_end import parallel_kernels
from end_to_end.op_kernels import broadcast_cases, cast_cases, reduction_cases
from fuzz.kernels.random_kernel import random_kernel
from structural_equality import structurally_equal

from tile_ir import DEFAULT_TARGET, Func, Memory, Phase
from tile_ir.machine import CHOICES_OF_OPEN
from tile_ir.traversal import replace_buffers
from tile_passes import apply_passes

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


def test_what_may_be_open_is_what_has_a_memory_in_the_end() -> None:
    closed = frozenset(OPEN_FORM)
    assert frozenset().union(*CHOICES_OF_OPEN.values()) == closed
