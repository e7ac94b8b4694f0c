"""Variables of single iterations: which there are, beside tiles of any type."""

from __future__ import annotations

import tile_ir
from tile_passes.parallel.private_values import private_variables

TEXT = """\
file 0 "kernel.py"
func "k" phase typed @0:1:1 {
  tensor $X: int4 [64] @0:1:1
  launch blocks(1) %cid %vid threads any @0:1:1 {
    alloc $u: ub int4 [64] @0:2:5
    section vector @0:3:5 {
      copy_gm_ub($X, $u) {pad_value=0.0} @0:4:7
    }
  }
}
"""


def test_elements_that_share_bytes_are_no_variables() -> None:
    assert private_variables(tile_ir.parse(TEXT).launch.body) == frozenset()
