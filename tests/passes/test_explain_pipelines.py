"""`opt -p pipeline_across_cores --explain` and `-p inject_pipeline --explain`: the stage of every
statement, or why there is one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import golden
import pytest

from tile_ir import DEFAULT_TARGET, Func, Memory, Target, parse
from tile_passes import EXPLANATIONS, PIPELINE, run_passes
from tile_passes.analysis.memory_use import memory_max_live, memory_peak

HERE = Path(__file__).parent / "pipeline_across_cores"


def source(name: str) -> Func:
    return parse(golden.read(HERE / f"{name}.tir").source, name)


def told(func: Func, target: Target = DEFAULT_TARGET) -> list[str]:
    """The explanation of the one loop, without its head."""
    head, empty, *lines = EXPLANATIONS["pipeline_across_cores"](func, target).splitlines()
    assert head.startswith("k (k.py:") and not empty
    return [" ".join(line.split()) for line in lines]


def test_every_statement_has_its_stage_and_cost() -> None:
    first, _, *rows, versions = told(source("two_ways_back"))
    assert first == "loop `i` at line 8: 2 stages, the last 2 iterations behind the first"
    assert [row.split()[0] for row in rows] == sorted(row.split()[0] for row in rows)
    assert rows[0] == "0 cube mte2 200 copy_gm_l1 (line 9)"
    assert rows[-1].startswith("2 vector v ") and rows[-1].endswith("add (line 24)")
    assert versions.endswith("`workspace_5` 2, `c` 3, `s` 3, `p` 3")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("there_only", "one stage, as nothing comes back"),
        (
            "iteration_through_both",
            "one stage, because iterations hand on `o` through both kinds of core (line 14)",
        ),
        (
            "order_of_the_author",
            "one stage, because the order of the pipes or of the cores is the author's (line 8)",
        ),
    ],
)
def test_why_there_is_one(name: str, why: str) -> None:
    assert told(source(name))[0] == f"loop `i` at line 8: {why}"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("      sync_all() @0:9:1\n", "a statement has work for both kinds of core (line 9)"),
        ("      section vector @0:9:1 {\n        break @0:9:1\n      }\n", "a break leaves the loop (line 9)"),
        ("      section vector @0:9:1 {\n        barrier_all() @0:9:1\n      }\n", "barrier_all stays where it is written (line 9)"),
    ],
)  # fmt: skip
def test_what_keeps_statements_in_their_order(line: str, why: str) -> None:
    text = golden.read(HERE / "there_only.tir").source
    loop = "stages 2 @0:8:1 {\n"
    assert loop in text
    func = parse(text.replace(loop, loop + line))
    assert told(func)[0] == f"loop `i` at line 8: one stage, because {why}"


def with_ub(size: int) -> Target:
    return replace(DEFAULT_TARGET, capacity={**DEFAULT_TARGET.capacity, Memory.UB: size})


def test_no_room_for_versions() -> None:
    first, *more = told(source("kept_for_the_next_stage"), with_ub(1024))
    assert "one stage, because the versions of more stages take 2048" in first and not more
    assert "bytes of ub, which has 1024 (line 8)" in first


def test_room_for_versions_where_others_are_not_live() -> None:
    """From their first use to their last, the buffers of both stages need more than there is."""
    func, small = source("kept_for_the_next_stage"), with_ub(2048)
    assert told(func, small)[0].endswith(": 2 stages, the last an iteration behind the first")
    names = [p.name for p in PIPELINE]
    first, last = names.index("pipeline_across_cores"), names.index("plan_memory")
    skewed = run_passes(func, PIPELINE[first : first + 1], small).func
    assert memory_max_live(skewed, small)[Memory.UB] > 2048
    assert memory_peak(run_passes(func, PIPELINE[first : last + 1], small).func)[Memory.UB] <= 2048


def test_no_loop() -> None:
    func = source("there_only")
    assert told(func.with_body(func.launch.body[:2])) == [
        "no pipelined loop over both kinds of core"
    ]


def scheduled(name: str) -> list[str]:
    """The explanation of the loop of one core, without its head."""
    func = parse(golden.read(HERE.with_name("inject_pipeline") / f"{name}.tir").source, name)
    _, empty, *lines = EXPLANATIONS["inject_pipeline"](func, DEFAULT_TARGET).splitlines()
    assert not empty
    return [" ".join(line.split()) for line in lines]


def test_every_statement_of_one_core_has_stage_cycle_and_pipe() -> None:
    first, interval, _, *rows, versions = scheduled("element_of_a_result")
    assert first == "loop `i` at line 10, vector core: 2 stages"
    assert interval.startswith("an iteration every ") and interval.endswith("is never idle")
    assert [(row.split()[0], *row.split()[3:]) for row in rows] == [
        ("1", "v", "exp", "(line", "12)"),
        ("0", "mte2", "copy_gm_ub", "(line", "11)"),
        ("1", "v", "mul", "(line", "14)"),
        ("1", "mte3", "copy_ub_gm", "(line", "15)"),
    ]
    assert versions == "versions: `u` 2, `w` 2"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("load_work_store", "because no other order is faster"),
        ("left_early", "because a break leaves the loop"),
        ("ordered_by_hand", None),
    ],
)
def test_why_the_order_is_that_of_the_text(name: str, why: str | None) -> None:
    line = scheduled(name)[0]
    expected = f"loop `i` at line 10, vector core: the order of the text, {why}"
    assert line == (expected if why else "no pipelined loop whose order is the compiler's")


def test_versions_without_room_are_a_table() -> None:
    lines = scheduled("no_room")
    assert lines[-4:] == [
        "no room for 3 versions of `u`:",
        "ub has 196608 bytes, all together take 295680:",
        "u 3 x 98304 = 294912 bytes float32[24576] line 5",
        "w 3 x 256 = 768 bytes float32[1, 64] line 6",
    ]


def test_versions_go_to_what_moves_the_most_bytes_in_all() -> None:
    """`part` is smaller than `s`, but an iteration of the outer loop moves it eight times."""
    text = """file 0 "k.py"
func "k" phase split automatic memory sync @0:1:1 {
  tensor $A: float32 [64, 16384] @0:1:1
  tensor $B: float32 [64, 8, 12288] @0:1:1
  tensor $C: float32 [64, 16384] @0:1:1
  launch blocks(1) %cid %vid threads any @0:2:1 {
    alloc $s: ub float32 [16384] @0:5:1
    alloc $part: ub float32 [12288] @0:6:1
    section vector @0:8:1 {
      for %i: int32 in pipelined(0, 64) stages 2 @0:8:1 {
        copy_gm_ub($A[%i:+1, 0:+16384], $s) {pad_value=0.0} @0:9:1
        exp($s, $s) @0:10:1
        for %j: int32 in pipelined(0, 8) stages 2 @0:11:1 {
          copy_gm_ub($B[%i:+1, %j:+1, 0:+12288], $part) {pad_value=0.0} @0:12:1
          add($s[0:+12288], $s[0:+12288], $part) @0:13:1
        }
        copy_ub_gm($s, $C[%i:+1, 0:+16384]) @0:14:1
      }
    }
  }
}
"""
    lines = EXPLANATIONS["inject_pipeline"](parse(text), DEFAULT_TARGET).splitlines()
    versions = [line for line in lines if line.startswith("versions:")]
    assert versions == ["versions: `part` 2"], lines
