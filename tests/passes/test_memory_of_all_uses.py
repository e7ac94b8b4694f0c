"""Random kernels against all assignments of memories there are: inference finds one exactly when
there is one, and it is right."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest

from tile_ir import (
    DEFAULT_TARGET,
    DTYPES,
    OPS,
    Alloc,
    Buffer,
    Func,
    KernelError,
    Launch,
    Loc,
    Memory,
    Op,
    Phase,
    Region,
)
from tile_ir.expr import Const, Var
from tile_ir.machine import possible
from tile_ir.opdef import check_op
from tile_ir.traversal import replace_buffers, walk_ops
from tile_passes import apply_passes

KERNELS = 90
SHAPE = (Const(32), Const(32))


def loc(line: int) -> Loc:
    return Loc("random.py", line, 1)


def buffer(name: str, memory: Memory, dtype: str) -> Buffer:
    return Buffer(name, memory, DTYPES[dtype], SHAPE, loc(1))


def random_op(rng: random.Random, tensors: list[Buffer], tiles: list[Buffer], line: int) -> Op:
    """A copy in most cases, else a product or vector operation; of any buffers."""
    name = rng.choice(["copy"] * 6 + ["gemm_v0"] * 4 + ["mma"] * 2 + ["exp", "add", "atomic_add"])
    tile = [Region.whole(rng.choice(tiles)) for _ in range(3)]
    anywhere = [Region.whole(rng.choice(tiles + tensors)) for _ in range(2)]
    tensor = Region.whole(rng.choice(tensors))
    match name:
        case "copy":
            relu, turned, pad = (rng.random() < chance for chance in (0.1, 0.1, 0.05))
            return Op(OPS[name], tuple(anywhere), (relu, turned, 1.0 if pad else None), loc(line))
        case "gemm_v0":
            return Op(OPS[name], (*tile, Const(True, DTYPES["bool"])), (False, False), loc(line))
        case "mma":
            return Op(OPS[name], (*tile, Const(True, DTYPES["bool"])), (), loc(line))
        case "exp":
            return Op(OPS[name], tuple(tile[:2]), (), loc(line))
        case "add":
            return Op(OPS[name], tuple(tile), (), loc(line))
    return Op(OPS[name], (tile[0], tensor), (), loc(line))


def random_kernel(seed: int) -> Func:
    """Operations that are legal as far as can be said while memories are open."""
    rng = random.Random(seed)
    kinds = [Memory.SHARED] * 3 + [Memory.FRAGMENT] * 2 + [Memory.UB, Memory.L1, Memory.L0C]
    dtypes = ["float16", "float16", "float32"]
    tiles = [
        buffer(f"b{i}", kind, "float32" if kind is Memory.L0C else rng.choice(dtypes))
        for i, kind in enumerate(kinds)
    ]
    tensors = [buffer("X", Memory.GM, "float16"), buffer("F", Memory.GM, "float32")]
    wanted, ops = rng.randint(2, 10), []
    for line in range(1, 400):
        op = random_op(rng, tensors, tiles, line)
        if check_op(op, DEFAULT_TARGET) is None:
            ops.append(op)
        if len(ops) == wanted:
            break
    launch = Launch(
        Const(1), Var("cid"), Var("vid"), None,
        tuple(Alloc(t, loc(1)) for t in tiles), tuple(ops), loc(1),
    )  # fmt: skip
    return Func("k", tuple(tensors), launch, Phase.BUILT, loc(1))


def assignments(func: Func) -> Iterator[dict[str, Memory]]:
    """All memories that satisfy the op table, of the buffers that are used."""
    used = {
        r.buffer for op in walk_ops(func.launch.body) for r in op.operands if isinstance(r, Region)
    }
    opened = [
        a.buffer
        for a in func.launch.allocs
        if a.buffer in used and len(possible(a.buffer.memory)) > 1
    ]
    for memories in product(*(possible(b.memory) for b in opened)):
        new = {b: replace(b, memory=m) for b, m in zip(opened, memories, strict=True)}
        if all(
            check_op(op, DEFAULT_TARGET) is None
            for op in walk_ops(replace_buffers(func.launch.body, new))
        ):
            yield {b.name: m for b, m in zip(opened, memories, strict=True)}


def test_inference_finds_an_assignment_if_there_is_one() -> None:
    found, impossible = 0, 0
    for seed in range(KERNELS):
        func = random_kernel(seed)
        right = list(assignments(func))
        try:
            inferred = apply_passes(func, ["infer_memory"], DEFAULT_TARGET)
        except KernelError as error:
            assert not right, f"seed {seed}: {error}"
            assert error.loc is not None and error.message
            impossible += 1
            continue
        chosen = {a.buffer.name: a.buffer.memory for a in inferred.launch.allocs}
        assert any(one.items() <= chosen.items() for one in right), f"seed {seed}"
        found += 1
    assert min(found, impossible) > KERNELS // 4


@pytest.mark.parametrize("seed", range(3))
def test_a_buffer_that_may_lie_in_ub_does(seed: int) -> None:
    """docs/language/rules.md#open-memories: what no use forces elsewhere is in ub; a fragment may be
    an accumulator instead."""
    for number in range(KERNELS // 3):
        func = random_kernel(1000 * (seed + 1) + number)
        right = list(assignments(func))
        if not right:
            continue
        inferred = apply_passes(func, ["infer_memory"], DEFAULT_TARGET)
        for alloc, old in zip(inferred.launch.allocs, func.launch.allocs, strict=True):
            name = alloc.buffer.name
            if name in right[0] and old.buffer.memory is Memory.SHARED:
                wanted = any(one[name] is Memory.UB for one in right)
                assert (alloc.buffer.memory is Memory.UB) == wanted, (seed, number, name)
