"""Uses of a buffer become uses of one part of a larger one: the index comes in front of their own."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tile_ir
from tile_ir import Const, Op, print_func, replace_buffers, walk_ops

TEXT = """file 0 "k.py"
func "k" phase built @0:1:1 {
  launch blocks(1) %cid %vid threads any @0:1:1 {
    alloc $x: ub float32[ROWS] @0:2:1
    alloc $m: ub float32[8] @0:3:1
    reduce_sum($x, $m, none) {dim=DIM, clear=true} @0:4:1
  }
}
"""


@pytest.mark.parametrize(
    ("shape", "dim", "becomes"),
    [
        ("64", 0, -1),  # the only dimension is the last one behind the index
        ("64", -1, -1),
        ("8, 64", -1, -1),
        ("8, 64", 1, 1),
    ],
)
def test_the_dimension_of_a_reduction(shape: str, dim: int, becomes: int) -> None:
    func = tile_ir.parse(TEXT.replace("ROWS", shape).replace("DIM", str(dim)))
    x = func.launch.allocs[0].buffer
    whole = replace(x, shape=(Const(2), *x.shape))
    body = replace_buffers(func.launch.body, {x: whole}, {x: Const(1)})
    (op,) = walk_ops(body)
    assert isinstance(op, Op)
    assert op.region("src").buffer is whole
    assert op.region("src").dims[0].offset == Const(1)
    assert len(op.region("src").dims) == len(x.shape) + 1
    assert op.attr("dim") == becomes, print_func(func.with_body(body))
