"""`check_sync` on one idea per file, on the examples, and on examples with one instruction less."""

from __future__ import annotations

import random
import time
from pathlib import Path

import example_kernels
import golden
import pytest

import tile_ir
from tile_checkers import check_sync
from tile_checkers.loop_facts import SYNC
from tile_ir import (
    DEFAULT_TARGET,
    OPS,
    Alloc,
    Buffer,
    Core,
    Func,
    Launch,
    Loc,
    Memory,
    Op,
    Phase,
    Region,
    Section,
    Slice,
)
from tile_ir.dtypes import FLOAT32
from tile_ir.expr import Const, Var
from tile_ir.traversal import rewrite, walk_ops
from tile_passes import run_pipeline

FILES = sorted((Path(__file__).parent / "check_sync").glob("*.tir"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_case(path: Path) -> None:
    case = golden.read(path)
    func = tile_ir.parse(case.source, path.name)
    tile_ir.verify(func)
    found = [d.render() for d in check_sync(func)]
    golden.compare(case, "\n".join(found) if found else "# nothing\n")


def compiled(name: str) -> Func:
    func = run_pipeline(example_kernels.traced()[name], DEFAULT_TARGET).func
    assert func.phase is Phase.SYNCED
    return func


EXAMPLES = list(example_kernels.traced())


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_pass(name: str) -> None:
    assert [d.render() for d in check_sync(compiled(name))] == []


def small() -> dict[str, Func]:
    """Sizes at which every loop runs at least three times."""
    load = example_kernels.load
    made = {
        "vector_add": load("01_vector_add").vector_add.__wrapped__(320, 128, 64),
        "gemm": load("02_gemm").gemm.__wrapped__(64, 96, 320, 32, 48, 64),
        "gemm_intrinsic": load("03_gemm_intrinsic").gemm_intrinsic.__wrapped__(
            96, 96, 512, 32, 32, 128, 32, 3
        ),
        "softmax": load("04_online_softmax").online_softmax.__wrapped__(
            128, 256, 16, 64, "float32", 1
        ),
        "attention": load("05_flash_attention").flash_attention.__wrapped__(1, 2, 128, 64, 32, 32),
    }
    return {n: run_pipeline(f, DEFAULT_TARGET).func for n, f in made.items()}


@pytest.mark.parametrize("name", ("vector_add", "gemm", "gemm_intrinsic", "softmax", "attention"))
def test_what_is_missing_is_noticed(name: str) -> None:
    """Without any one of its flags and barriers an example does not pass."""
    func = small()[name]
    for op in walk_ops(func.launch.body):
        if op.opdef.effect in SYNC:
            assert check_sync(without(func, op)), op.loc


def without(func: Func, op: Op) -> Func:
    return func.with_body(rewrite(func.launch.body, lambda s: () if s is op else s))


@pytest.mark.times
def test_flash_attention_takes_little_time() -> None:
    func = compiled("flash_attention")
    check_sync(func)
    started = time.process_time()
    check_sync(func)
    assert time.process_time() - started < 0.06  # 7 ms on an idle machine


def straight(count: int, every: int) -> Func:
    """Additions of rows of many buffers with a barrier after each few."""
    rng = random.Random(1)
    here = Loc("k.py", 1, 1)
    shape = (Const(8), Const(64))
    buffers = [Buffer(f"b{i}", Memory.UB, FLOAT32, shape, here) for i in range(60)]

    def row(buffer: Buffer) -> Region:
        at = Slice(Const(rng.randrange(8)), Const(1))
        return Region(buffer, (at, Slice(Const(0), Const(64))))

    body: list[Op] = []
    for i in range(count):
        place = Loc("k.py", 2 + i, 1)
        one, two, three = map(row, rng.sample(buffers, 3))
        body.append(Op(OPS["add"], (one, two, three), (), place))
        if i % every == 0:
            body.append(Op(OPS["pipe_barrier"], (), ("v",), place))
    allocs = tuple(Alloc(b, here, 2048 * i) for i, b in enumerate(buffers))
    section = Section(Core.VECTOR, tuple(body), here)
    launch = Launch(Const(1), Var("cid"), Var("vid"), 1, allocs, (section,), here)
    return Func("straight", (), launch, Phase.SYNCED, here)


@pytest.mark.times
@pytest.mark.parametrize("every", [1, 10, 10_000], ids=["ordered", "partly", "hardly"])
def test_two_thousand_operations_take_little_time(every: int) -> None:
    func = straight(2000, every)
    started = time.process_time()
    found = check_sync(func)
    assert bool(found) == (every > 1)
    assert time.process_time() - started < 1.5  # 0.6 s on an idle machine
