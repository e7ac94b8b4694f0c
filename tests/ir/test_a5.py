"""A5: kernels for a chip of other AI cores are read and checked, and told what is not there
(docs/hardware/index.md#a5)."""

from __future__ import annotations

import pytest

import tile_ir
from tile_checkers import check_memory
from tile_ir import DEFAULT_TARGET, TARGETS, Core, IRError, KernelError, Memory, Pipe
from tile_ir.costs.timing import timing_of
from tile_ir.verification.verifier import problems

A5 = TARGETS["Ascend950PR_9579"]
TEXT = """file 0 "k.py"
func "f" phase built @0:1:1 {{
  tensor $A: float16 [64, 64] @0:1:1
  tensor $C: float32 [64, 64] @0:1:1
  launch blocks(1) %cid %vid threads any @0:1:1 {{
    alloc $u: ub float32 [64, 64] @0:2:1
    alloc $h: ub int16 [64, 64] @0:2:1
    alloc $b: ub int8 [64, 64] @0:2:1
    alloc $i: ub int32 [64, 64] @0:2:1
    alloc $p: l1 int4 [64, 64] @0:2:1
    alloc $a: l1 float16 [64, 64] @0:2:1
    alloc $c: l0c float32 [64, 64] @0:2:1
    alloc $n: l0c int32 [64, 64] @0:2:1
    alloc $l: l0a float16 [64, 64] @0:2:1
    alloc $v: ub float16 [64, 64] @0:2:1
    alloc $w: ub bfloat16 [64, 64] @0:2:1
    section {core} @0:4:1 {{
      {line} @0:5:1
    }}
  }}
}}
"""
GEMM = "{transpose_A=false, transpose_B=false}"
WHOLE = "{enable_relu=false, transpose=false, pad_value=none}"
FLAG = '{src_pipe="%s", dst_pipe="%s"}'


def found(line: str, core: str, target: tile_ir.Target) -> list[tuple[str, str]]:
    func = tile_ir.parse(TEXT.format(core=core, line=line))
    return [(d.slug, d.message) for d in problems(func, target)]


NOT_ON_A5 = [
    (f"gemm_v0($p, $p, $n, true) {GEMM}", "cube", "operand-dtype", "`p` is int4, of which the cube unit of Ascend950PR_9579"),
    ("zero_l0($l)", "cube", "op-unavailable", "zero_l0 is not available on Ascend950PR_9579"),
    ("clear_l0c($c)", "cube", "op-unavailable", "clear_l0c is not available on Ascend950PR_9579"),
    ("dump_tensor($a, 8) {desc=1}", "cube", "operand-memory", "is in l1, of which Ascend950PR_9579 can print nothing"),
    ("set_flag(0) " + FLAG % ("mte2", "mte3"), "cube", "section-core", "cube core of Ascend950PR_9579 has no flag from mte2 to mte3"),
    ("set_flag(0) " + FLAG % ("mte1", "mte3"), "cube", "flag-pair", "no core has a flag from mte1 to mte3"),
    ('pipe_barrier() {pipe="mte3"}', "cube", "section-core", "cube core of Ascend950PR_9579 has no pipe mte3"),
    ("set_flag(8) " + FLAG % ("mte2", "v"), "vector", "flag-id", "event_id is 8, expected 0 to 7"),
    ('cast($u, $i, none) {mode="cast_none"}', "vector", "cast-mode", "does not take CAST_NONE"),
]  # fmt: skip
ONLY_ON_A5 = [
    ('cast($h, $b, none) {mode="cast_none"}', "vector", "cast-pair"),
    ('cast($v, $w, none) {mode="cast_rint"}', "vector", "cast-pair"),
]
ON_BOTH = [
    ("exp($u, $u)", "vector"),
    (f"gemm_v0($a, $a, $c, true) {GEMM}", "cube"),
    (f"copy($A[0:+64, 0:+64], $a) {WHOLE}", "cube"),
    ("set_flag(7) " + FLAG % ("mte2", "mte3"), "vector"),
    ("set_flag(0) " + FLAG % ("m", "fix"), "cube"),
    ("dump_tensor($c, 8) {desc=1}", "cube"),
    ('cast($v, $u, none) {mode="cast_rint"}', "vector"),
]


@pytest.mark.parametrize(("line", "core", "slug", "says"), NOT_ON_A5)
def test_what_is_not_there_is_told(line: str, core: str, slug: str, says: str) -> None:
    assert found(line, core, DEFAULT_TARGET) == []
    ((told, message),) = found(line, core, A5)
    assert told == slug and says in message


@pytest.mark.parametrize(("line", "core", "slug"), ONLY_ON_A5)
def test_what_is_new_there_is_legal(line: str, core: str, slug: str) -> None:
    assert [told for told, _ in found(line, core, DEFAULT_TARGET)] == [slug]
    assert found(line, core, A5) == []


@pytest.mark.parametrize(("line", "core"), ON_BOTH)
def test_what_both_have_is_legal_on_both(line: str, core: str) -> None:
    assert found(line, core, DEFAULT_TARGET) == found(line, core, A5) == []


def test_a_path_that_no_operation_takes_is_told_as_such() -> None:
    line = f"copy($a, $v) {WHOLE}"
    assert "there is no path from l1" in found(line, "cube", DEFAULT_TARGET)[0][1]
    ((slug, message),) = found(line, "cube", A5)
    assert slug == "copy-direction"
    assert message == "copy: no operation takes the path from l1 to ub that Ascend950PR_9579 has"


def test_verify_raises_for_the_chip_it_is_asked_about() -> None:
    func = tile_ir.parse(TEXT.format(core="cube", line="zero_l0($l)"))
    tile_ir.verify(func)
    with pytest.raises(IRError, match="op-unavailable"):
        tile_ir.verify(func, A5)


PLANNED = """file 0 "k.py"
func "f" phase planned @0:1:1 {{
  launch blocks(1) %cid %vid threads any @0:1:1 {{
    alloc $u: {memory} float32 [{rows}, 16] address {address} @0:2:1
  }}
}}
"""


@pytest.mark.parametrize(
    ("memory", "older", "newer"), [("ub", 196608, 253952), ("l0c", 131072, 262144)]
)
def test_sizes_are_those_of_the_chip(memory: str, older: int, newer: int) -> None:
    for address, fits in ((older - 1024, True), (older, False), (newer - 1024, False)):
        func = tile_ir.parse(PLANNED.format(memory=memory, rows=16, address=address))
        assert (check_memory(func) == ()) is fits
        assert check_memory(func, A5) == ()
    func = tile_ir.parse(PLANNED.format(memory=memory, rows=16, address=newer))
    assert [d.slug for d in check_memory(func, A5)] == ["address-range"]


def test_nothing_is_timed_without_a_clock() -> None:
    with pytest.raises(KernelError, match="no clock of Ascend950PR_9579 is published") as caught:
        timing_of(A5)
    assert caught.value.slug == "chip-unpublished"


def test_the_older_chips_lack_nothing_of_the_table() -> None:
    for target in TARGETS.values():
        if target.ai_core == "dav-c220":
            assert not target.unavailable
        assert target.flag_pairs.keys() == target.pipes.keys() == {Core.CUBE, Core.VECTOR}
        for core, pairs in target.flag_pairs.items():
            assert {pipe for pair in pairs for pipe in pair} == set(target.pipes[core])
            assert all(a is not b and Pipe.ALL not in (a, b) for a, b in pairs)
        assert target.capacity.keys() == target.alignment.keys() - {Memory.GM}
        assert target.unavailable.keys() <= tile_ir.OPS.keys()
