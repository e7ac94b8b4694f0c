"""What is said about bytes that two tiles share: who touched them, who shares them, whose choice it
was."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import Func, IRError
from tile_ir.switches import override
from tile_runtime import PassConfigKey, compile
from tile_runtime.simulation_error import SimulationError

PLANNED = {PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True}
N = 16384


def four_tiles(together: bool = False) -> Any:
    """Four tiles of 64 KiB, each filled by V and stored by MTE3: UB has room for three of them.
    The flags are right for tiles of their own. `together`: the author puts the first two on the
    same bytes."""

    @T.prim_func
    def main(A: T.Tensor((8,), "float32"), B: T.Tensor((4, N), "float32")):
        with T.Kernel(1, is_npu=True, threads=1) as (cid,):
            t0 = T.alloc_ub((N,), "float32")
            t1 = T.alloc_ub((N,), "float32")
            t2 = T.alloc_ub((N,), "float32")
            t3 = T.alloc_ub((N,), "float32")
            if together:
                T.annotate_address({t0: 0, t1: 0, t2: 65536, t3: 131072})
            with T.Scope("V"):
                T.tile.fill(t0, 1.0)
                T.set_flag("v", "mte3", 0)
                T.wait_flag("v", "mte3", 0)
                T.copy(t0, B[0, 0])
                T.tile.fill(t1, 2.0)
                T.set_flag("v", "mte3", 1)
                T.wait_flag("v", "mte3", 1)
                T.copy(t1, B[1, 0])
                T.tile.fill(t2, 3.0)
                T.set_flag("v", "mte3", 2)
                T.wait_flag("v", "mte3", 2)
                T.copy(t2, B[2, 0])
                T.tile.fill(t3, 4.0)
                T.set_flag("v", "mte3", 3)
                T.wait_flag("v", "mte3", 3)
                T.copy(t3, B[3, 0])

    return main


@pytest.mark.parametrize("level", ["device", "strict"])
def test_the_compiler_makes_no_race(level: str) -> None:
    with override(check=level):
        result = compile(four_tiles(), out_idx=[1], pass_configs=PLANNED)(torch.zeros(8))
    expected = torch.arange(1.0, 5.0)[:, None].expand(4, N)
    torch.testing.assert_close(result, expected)


def test_a_race_names_the_tile_that_was_accessed_and_who_shares_with_it() -> None:
    kernel = compile(four_tiles(together=True), out_idx=[1])
    with pytest.raises(SimulationError) as caught:
        kernel(torch.zeros(8))
    text = caught.value.message
    assert text.startswith("MTE3 reads bytes [0, 65536) of 't0' (UB)"), text
    assert "V writes them as bytes [0, 65536) of 't1' (UB), which shares them" in text


def test_what_the_compiler_chose_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan without the order that it asks for is told as ours, not as the author's."""
    def unordered(func: Func, *_: object) -> Func:
        return func

    monkeypatch.setattr("tile_passes.plan_memory.order_sharing", unordered)
    with override(prove=False, check="strict"), pytest.raises(IRError) as caught:
        compile(four_tiles(), out_idx=[1], pass_configs=PLANNED)
    assert caught.value.message.startswith("by the compiler's own choice, ")
    assert caught.value.hint == "this is a bug of the compiler, not of the kernel"
