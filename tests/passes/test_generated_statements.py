"""Where the order inside a core is the author's: `insert_sync` orders the statements that
lowering generates, among each other and against the author's, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tile_ir
from tile_checkers import check_choices
from tile_ir import DEFAULT_TARGET, Automatic, Func, Op, Phase
from tile_ir.expr import Const
from tile_ir.opdef import Effect
from tile_ir.traversal import walk
from tile_passes.accept_manual_sync import accept_manual_sync
from tile_passes.insert_sync import insert_sync
from tile_passes.lower_tile_ops import lower_tile_ops

ORDER = (Effect.SET_FLAG, Effect.WAIT_FLAG, Effect.BARRIER)
HEAD = """file 0 "kernel.py"
func "k" phase planned @0:1:1 {
  tensor $X: float32 [64] @0:1:1
  tensor $Y: float32 [64] @0:1:1
  launch blocks(1) %cid %vid threads any @0:1:1 {
    alloc $a: ub float32 [64] address 0 @0:2:5
    alloc $b: ub float32 [64] address 256 @0:3:5
    alloc $c: ub float32 [64] address 512 @0:4:5
    section vector @0:2:9 {
"""
LOAD, AGAIN = (f"copy_gm_ub($X, $a) {{pad_value=0.0}} @0:{line}:9" for line in (5, 8))
SET, WAIT = (f'{do}_flag(0) {{src_pipe="mte2", dst_pipe="v"}} @0:5:20' for do in ("set", "wait"))
STEPS = ("exp($b, $a) @0:6:9", "add($c, $b, $b) @0:6:9")
STORE = "copy_ub_gm($c, $Y) @0:7:9"
GENERATED = "@0:6:9"
# Name: the place of generated statements, all statements, and the order that is put in.
CASES = {
    "nothing is generated": ("", (LOAD, *STEPS, STORE), []),
    "steps among each other and against the author's": (
        GENERATED,
        (LOAD, *STEPS, STORE),
        ["set mte2 v 0", "wait mte2 v 0", "barrier v", "set v mte3 0", "wait v mte3 0"],
    ),
    "flags of the author's count": (
        GENERATED,
        (LOAD, SET, WAIT, *STEPS, STORE),
        ["barrier v", "set v mte3 0", "wait v mte3 0"],
    ),
    "an id of the author's is not taken": (
        GENERATED,
        (LOAD, *STEPS, AGAIN, SET, WAIT),
        ["set mte2 v 1", "wait mte2 v 1", "set v mte2 0", "barrier v", "wait v mte2 0"],
    ),
    "a race of the author's is left alone": (
        "@0:7:9",
        (LOAD, *STEPS, STORE),
        ["set v mte3 0", "wait v mte3 0"],
    ),
    "rounds of a loop": (
        GENERATED,
        ("for %i: int32 in serial(0, 4) @0:4:9 {", *STEPS, "}"),
        ["barrier v", "barrier v"],
    ),
    "a loop without rounds": (
        GENERATED,
        ("for %i: int32 in serial(0, 0) @0:4:9 {", *STEPS, "}", STORE),
        [],
    ),
}


def kernel(place: str, body: tuple[str, ...]) -> Func:
    lines = (f"{s} generated" if place and s.endswith(place) else s for s in body)
    return tile_ir.parse(HEAD + "".join(f"      {s}\n" for s in lines) + "    }\n  }\n}\n")


def order_of(func: Func) -> list[str]:
    ops = (s for s in walk(func.launch.body) if isinstance(s, Op) and s.opdef.effect in ORDER)
    short = {"set_flag": "set", "wait_flag": "wait", "pipe_barrier": "barrier"}
    return [
        " ".join(
            [short.get(op.opdef.name, op.opdef.name), *map(str, op.attrs)]
            + [str(o.value) for o in op.operands if isinstance(o, Const)]
        )
        for op in ops
    ]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.whole
def test_generated_statements_are_ordered(name: str) -> None:
    place, body, expected = CASES[name]
    func = kernel(place, body)
    ordered = insert_sync.run(func, DEFAULT_TARGET)
    put_in = order_of(ordered)
    for own in order_of(func):
        put_in.remove(own)
    assert put_in == expected
    assert (ordered is func) == (not expected)
    final = accept_manual_sync.run(ordered, DEFAULT_TARGET)
    assert check_choices(func, final) == ()


def test_a_missing_order_is_told_as_the_compilers() -> None:
    place, body, _ = CASES["steps among each other and against the author's"]
    func = kernel(place, body)
    assert {d.slug for d in check_choices(func, func)} == {"sync-missing"}
    theirs = kernel("", body)
    assert check_choices(theirs, theirs) == ()


def test_the_text_marks_generated_statements() -> None:
    func = kernel(GENERATED, CASES["nothing is generated"][1])
    again = tile_ir.parse(tile_ir.print_func(func))
    assert [s.loc.generated for s in walk(again.launch.body)] == [False, False, True, True, False]
    assert Automatic.SYNC not in func.automatic


def test_a_generated_statement_is_lowered_to_generated_ones() -> None:
    copies = [
        f"copy({a}, {b}) {{enable_relu=false, transpose=false, pad_value=none}} @0:6:9"
        for a, b in (("$a", "$Y"), ("$X", "$a"))
    ]
    func = replace(kernel(GENERATED, tuple(copies)), phase=Phase.TYPED)
    lowered = replace(lower_tile_ops.run(func, DEFAULT_TARGET), phase=Phase.PLANNED)
    ordered = insert_sync.run(lowered, DEFAULT_TARGET)
    assert order_of(ordered) == ["set mte3 mte2 0", "wait mte3 mte2 0"]
