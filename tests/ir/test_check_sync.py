"""`check_sync` on one idea per file, on the examples, and on examples with one instruction less."""

from __future__ import annotations

import time
from pathlib import Path

import example_kernels
import golden
import pytest

import tile_ir
from tile_ir import DEFAULT_TARGET, Func, Op, Phase
from tile_ir.check_sync import check_sync
from tile_ir.check_sync.loops import SYNC
from tile_ir.walk import rewrite, walk_ops
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


# What may be left out of an example without harm, by line. Either a barrier next to another one, or
# next to the flags with which a product orders itself.
REDUNDANT = {
    "vector_add": set(),
    "gemm": {32, 33, 34},
    "gemm_intrinsic_24": set(),
    "softmax_float32_34x130": {32, 37, 59, 75},
    "flash_attention": {64, 65, 66, 68, 74, 75, 76, 78, 86, 98, 108, 113, 122, 123},
}


@pytest.mark.parametrize("name", REDUNDANT)
def test_what_is_missing_is_noticed(name: str) -> None:
    """Without any one of its flags and barriers an example does not pass; those that are redundant
    are listed, and all of them are barriers."""
    func = compiled(name)
    unnoticed = set()
    for op in walk_ops(func.launch.body):
        if op.opdef.effect in SYNC and not check_sync(without(func, op)):
            assert op.opdef.effect.value == "barrier", op.loc
            unnoticed.add(op.loc.line)
    assert unnoticed <= REDUNDANT[name]


def without(func: Func, op: Op) -> Func:
    return func.with_body(rewrite(func.launch.body, lambda s: () if s is op else s))


def test_flash_attention_takes_little_time() -> None:
    func = compiled("flash_attention")
    started = time.process_time()
    check_sync(func)
    assert time.process_time() - started < 0.06  # 7 ms on an idle machine
