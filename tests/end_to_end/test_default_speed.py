"""What the compiler does for speed without being asked: plain loops overlap, and grids are dealt
out to the cores. Results are those without, bit for bit at strict, and no launch takes longer."""

from __future__ import annotations

import statistics
from typing import Any

import pytest
import torch

import tile_frontend as T
from end_to_end.plain_kernels import KERNELS, Plain, attend, scale_rows, sum_tiles
from tile_ir import DEFAULT_TARGET, Const
from tile_ir.switches import override
from tile_passes import left_by, run_pipeline
from tile_passes.explain.schedules import loop_schedules
from tile_runtime.options.pass_configs import pass_options

OFF = {
    T.PassConfigKey.TL_ASCEND_RETILE: False,
    T.PassConfigKey.TL_ASCEND_PERSISTENT: False,
    T.PassConfigKey.TL_ASCEND_OVERLAP_LOOPS: False,
}
# A full wave of the 24 cores and a short one; fewer blocks than cores, as many, and more waves.
USUAL, OTHERS = 31, (1, 24, 49, 72)
# Modelled time that a default may cost at most.
MOST = 1.02


def ran(plain: Plain, configs: dict[Any, bool]) -> tuple[list[torch.Tensor], float, Any]:
    with override(check="strict", time=True):
        kernel = T.compile(plain.kernel, out_idx=list(plain.outputs), pass_configs=configs)
        found = kernel(*plain.inputs)
    timeline = kernel.timeline()
    assert timeline is not None
    outputs = [found] if isinstance(found, torch.Tensor) else list(found)
    return outputs, timeline.task_microseconds, kernel


def compared(name: str, blocks: int) -> float:
    """How many times as fast a kernel is by default."""
    torch.manual_seed(0)
    plain = KERNELS[name](blocks)
    expected, without, _ = ran(plain, OFF)
    found, with_defaults, _ = ran(plain, {})
    assert all(map(torch.equal, found, expected))
    assert with_defaults <= MOST * without
    return without / with_defaults


@pytest.mark.parametrize("name", KERNELS)
def test_defaults_give_the_same_no_later(name: str) -> None:
    compared(name, USUAL)


@pytest.mark.exhaustive
@pytest.mark.parametrize("blocks", OTHERS)
@pytest.mark.parametrize("name", KERNELS)
def test_grids_of_other_sizes_do_too(name: str, blocks: int) -> None:
    compared(name, blocks)


@pytest.mark.exhaustive
def test_defaults_are_worth_it() -> None:
    assert statistics.geometric_mean(compared(name, USUAL) for name in KERNELS) >= 1.2


def blocks_of(kernel: T.PrimFunc, configs: dict[Any, bool] | None = None) -> Any:
    return run_pipeline(kernel, DEFAULT_TARGET, pass_options(configs)).func.launch.blocks


def versions_of(kernel: T.PrimFunc, configs: dict[Any, bool] | None = None) -> dict[str, int]:
    """Of what the loops of a kernel load."""
    loops = loop_schedules(left_by(kernel, pass_options(configs)), DEFAULT_TARGET)
    return dict(versions for loop in loops for versions in loop.versions)


def test_a_larger_grid_is_dealt_out_unless_its_option_is_off() -> None:
    kernel = scale_rows(49).kernel
    assert blocks_of(kernel) == Const(DEFAULT_TARGET.cube_cores)
    assert blocks_of(kernel, OFF) == Const(49)
    assert blocks_of(scale_rows(24).kernel) == Const(24)


def test_loads_run_ahead_unless_their_option_is_off() -> None:
    kernel = sum_tiles(24).kernel
    assert versions_of(kernel)["x"] >= 2
    assert versions_of(kernel, OFF) == {}


def test_a_lane_that_is_never_used_is_the_compilers() -> None:
    """One vector core would store what the other one stores."""

    @T.prim_func
    def doubled(X: T.Tensor((48, 64), "float32"), Y: T.Tensor((48, 64), "float32")):
        with T.Kernel(6, is_npu=True) as (cid, vid):
            x = T.alloc_shared((8, 64), "float32")
            T.copy(X[cid * 8, 0], x)
            for i, j in T.Parallel(8, 64):
                x[i, j] = x[i, j] * 2
            T.copy(x, Y[cid * 8, 0])

    x = torch.randn(48, 64)
    with override(check="strict"):
        assert torch.equal(T.compile(doubled, out_idx=[1])(x), 2 * x)
    assert left_by(doubled, pass_options(None)).launch.threads == 2


def test_blocks_of_different_lengths_go_to_idle_cores() -> None:
    """Dealt out in turn, one core would have all that take long."""
    rows = 24 * 3

    @T.prim_func
    def uneven(X: T.Tensor((64, 8192), "float32"), Y: T.Tensor((rows, 8192), "float32")):
        with T.Kernel(rows, is_npu=True) as cid:
            x = T.alloc_shared((1, 8192), "float32")
            for n in T.serial(T.if_then_else(cid % 24 == 0, 60, 1)):
                T.copy(X[n, 0], x)
                T.copy(x, Y[cid, 0])

    assert blocks_of(uneven) == Const(rows)
    assert blocks_of(attend(30).kernel) == Const(24), "a start takes longer than these differ by"


def test_what_waits_for_all_blocks_keeps_its_grid() -> None:
    @T.prim_func
    def meet(X: T.Tensor((100, 64), "float32")):
        with T.Kernel(100, threads=2, is_npu=True) as cid:
            x = T.alloc_shared((1, 64), "float32")
            T.copy(X[cid, 0], x)
            T.sync_all()
            T.copy(x, X[cid, 0])

    assert blocks_of(meet) == Const(100)


def test_what_prints_its_block_keeps_its_grid() -> None:
    @T.prim_func
    def tell(X: T.Tensor((100, 64), "float32")):
        with T.Kernel(100, is_npu=True) as cid:
            x = T.alloc_shared((1, 64), "float32")
            T.copy(X[cid, 0], x)
            T.printf("%d\n", cid)
            T.copy(x, X[cid, 0])

    assert blocks_of(tell) == Const(100)


def test_an_order_by_hand_keeps_its_grid() -> None:
    @T.prim_func
    def by_hand(X: T.Tensor((100, 64), "float32")):
        with T.Kernel(100, is_npu=True) as cid:
            x = T.alloc_shared((1, 64), "float32")
            T.copy(X[cid, 0], x)
            T.barrier_all()
            T.copy(x, X[cid, 0])

    assert blocks_of(by_hand) == Const(100)


def test_a_tile_that_fills_ub_has_one_version() -> None:
    """No version has room: the loop stays as it is, and nothing is said of it."""

    @T.prim_func
    def full(X: T.Tensor((8, 48, 1000), "float32"), Y: T.Tensor((8, 48, 1000), "float32")):
        with T.Kernel(1, threads=1, is_npu=True) as cid:
            x = T.alloc_shared((48, 1000), "float32")
            for n in T.serial(8):
                T.copy(X[n, 0, 0], x)
                T.copy(x, Y[n, 0, 0])

    kernel = T.compile(full, out_idx=[1])
    given = torch.randn(8, 48, 1000)
    with override(check="strict"):
        assert torch.equal(kernel(given), given)
    assert not [r for r in kernel.remarks if r.slug == "pipeline-versions"]
