"""What lines cost, of functions as the pipeline leaves them."""

from __future__ import annotations

from tile_ir import DEFAULT_TARGET, Core, parse
from tile_passes import run_pipeline
from tile_passes.explain.line_costs import LineCost, costs_of_lines

TEXT = """\
file 0 "script.py"
func "k" phase built automatic memory sync @0:1:1 {
  tensor $A: float32 [8, 64] @0:1:2
  launch blocks(2) %cid %vid threads any @0:2:1 {
    alloc $a: ub float32 [64] @0:3:1
    section vector @0:4:1 {
      for %i: int32 in serial(0, COUNT) @0:5:1 {
        copy($A[%i:+1, 0:+64], $a) {enable_relu=false, transpose=false, pad_value=none} @0:6:1
        exp($a, $a) @0:7:1
        copy($a, $A[%i:+1, 0:+64]) {enable_relu=false, transpose=false, pad_value=none} @0:8:1
      }
    }
  }
}
"""


def costs(count: str) -> dict[int, list[LineCost]]:
    lowered = run_pipeline(parse(TEXT.replace("COUNT", count)), DEFAULT_TARGET).func
    return {line: found for (_, line), found in costs_of_lines(lowered, DEFAULT_TARGET).items()}


def test_a_loop_multiplies_what_stands_in_it() -> None:
    once, often = costs("1"), costs("5")
    assert [(c.core, c.pipe, c.instructions, c.gm_bytes) for c in often[6]] == [
        (Core.VECTOR, "mte2", 5, 5 * 256)
    ]
    assert [(c.pipe, c.instructions, c.gm_bytes) for c in often[7]] == [("v", 5, 0)]
    assert [(c.pipe, c.instructions, c.gm_bytes) for c in often[8]] == [("mte3", 5, 5 * 256)]
    assert often[7][0].cycles == 5 * once[7][0].cycles > 0
    assert not any(c.assumed for found in often.values() for c in found)


def test_rounds_that_only_a_run_knows_are_assumed() -> None:
    (exp,) = costs("%cid + 1")[7]
    assert exp.assumed and exp.instructions == 16
