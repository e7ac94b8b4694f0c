"""What is said about bytes that two tiles share: who touched them, who shares them, whose choice it
was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import Func, IRError
from tile_ir.switches import override
from tile_runtime import PassConfigKey, compile
from tile_runtime.simulator.simulation_error import SimulationError
from tile_runtime.tools.command_line import main

PLANNED = {PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True}
N = 16384


def four_tiles(together: bool = False, flags: bool = True) -> Any:
    """Four tiles of 64 KiB, each filled by V and stored by MTE3: UB has room for three of them.
    The flags are right for tiles of their own. `together`: the author puts the first two on the
    same bytes; `flags`: those of the last tile are there."""

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
                if flags:
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


@pytest.fixture
def no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans come without the order that they ask for."""

    def unordered(func: Func, *_: object) -> Func:
        return func

    monkeypatch.setattr("tile_passes.plan_memory.order_sharing", unordered)


def told_as_ours(error: pytest.ExceptionInfo[IRError]) -> bool:
    return error.value.message.startswith("by the compiler's own choice, ") and (
        error.value.hint == "this is a bug of the compiler, not of the kernel"
    )


@pytest.mark.usefixtures("no_order")
def test_what_the_compiler_chose_is_proven() -> None:
    """A plan without the order that it asks for is told as ours, not as the author's."""
    with override(prove=False, check="strict"), pytest.raises(IRError) as caught:
        compile(four_tiles(), out_idx=[1], pass_configs=PLANNED)
    assert told_as_ours(caught)


@pytest.mark.usefixtures("no_order")
@pytest.mark.parametrize("cached", [False, True])
def test_a_kernel_built_at_another_level_is_proven_at_its_first_strict_call(cached: bool) -> None:
    with override(prove=False):
        for _ in range(1 + cached):
            kernel = compile(four_tiles(), out_idx=[1], pass_configs=PLANNED)
        assert kernel.cached == cached
        for _ in range(2):
            with override(check="strict"), pytest.raises(IRError) as caught:
                kernel(torch.zeros(8))
            assert told_as_ours(caught)
            assert "T.tile.fill(t3, 4.0)\n" in str(caught.value)  # the line is shown


def test_a_kernel_is_proven_once(monkeypatch: pytest.MonkeyPatch) -> None:
    proofs = []

    def counted(*given: object) -> tuple[()]:
        proofs.append(given)
        return ()

    monkeypatch.setattr("tile_checkers.check_choices", counted)
    with override(prove=False):
        kernel = compile(four_tiles(), out_idx=[1], pass_configs=PLANNED)
        kernel(torch.zeros(8))
        assert not proofs
        with override(check="strict"):
            kernel(torch.zeros(8))
            kernel(torch.zeros(8))
        assert len(proofs) == 1


@pytest.mark.usefixtures("no_order")
@pytest.mark.parametrize("flags", [True, False])
def test_check_tells_our_choices_from_the_findings_of_the_author(
    flags: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The order that sharing asks for is ours to make; the flag that the author forgot is not."""
    monkeypatch.setenv("TILE_MEMORY_PLANNING", "1")
    assert main(["check", f"{__file__}:four_tiles", "-a", f"flags={flags}"]) == 1
    blocks = capsys.readouterr().out.split(f"{Path(__file__).name}:")[1:]
    ours = [b for b in blocks if "by the compiler's own choice, " in b]
    assert ours and all("`t3`" in b and "`t0`" in b for b in ours), blocks
    assert all("hint: this is a bug of the compiler, not of the kernel" in b for b in ours)
    theirs = [b for b in blocks if b not in ours]
    assert len(theirs) == (not flags), blocks
    assert all("bug" not in b and 'T.set_flag("v", "mte3"' in b for b in theirs)
