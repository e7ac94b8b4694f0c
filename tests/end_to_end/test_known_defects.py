"""Defects other compilers of this language have
(docs/use/coming_from_tilelang.md#what-differs-on-purpose), each with the right behaviour: tests
of one number in their names belong to one defect. All kernels run at `strict`."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError, KernelWarning
from tile_ir.switches import override
from tile_runtime import PassConfigKey, compile, jit
from tile_runtime.simulator.simulation_error import SimulationError

pytestmark = pytest.mark.usefixtures("strict")

AUTOMATIC_SYNC = {PassConfigKey.TL_ASCEND_AUTO_SYNC: True}


def run(kernel: Any, *arguments: Any, **options: Any) -> Any:
    """Compile with automatic synchronisation and call."""
    return compile(kernel, pass_configs=AUTOMATIC_SYNC, **options)(*arguments)


def raised(kernel: Any, **options: Any) -> KernelError:
    with pytest.raises(KernelError) as caught:
        compile(kernel, **options)
    return caught.value


def test_01_what_an_output_holds_before_it_is_written_is_nobodys_zero() -> None:
    @T.prim_func
    def half(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((64,), "float32")
            with T.Scope("V"):
                T.copy(X, a)
                T.copy(a[0:32], Y[0:32])

    told = pytest.warns(KernelWarning, match=r"nothing writes \[32\] to \[63\] of output `Y`")
    with override(check="device"), told:
        y = run(half, torch.zeros(64), out_idx=[-1])
    assert (y[:32] == 0).all() and y[32:].isnan().all()


def test_01_reading_an_output_before_it_is_written_is_reported() -> None:
    @T.prim_func
    def k(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((64,), "float32")
            with T.Scope("V"):
                T.copy(Y, a)
                T.tile.add(a, a, 1.0)
                T.copy(a[0:32], Y[0:32])

    with pytest.raises(SimulationError) as caught:
        run(k, torch.zeros(64), out_idx=[-1])
    assert caught.value.slug == "uninitialised-read"


def test_01_reading_what_nothing_wrote_is_reported() -> None:
    @T.prim_func
    def k(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((64,), "float32")
            with T.Scope("V"):
                T.tile.add(a, a, 1.0)
                T.copy(a, Y)

    with pytest.raises(SimulationError) as caught:
        run(k, torch.zeros(64), out_idx=[-1])
    assert caught.value.slug == "uninitialised-read"
    assert "T.clear(tile)" in str(caught.value.hint)


def test_02_bounded_slices_are_regions_everywhere() -> None:
    @T.prim_func
    def k(X: T.Tensor((4, 40), "float32"), Y: T.Tensor((4, 40), "float32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((4, 40), "float32")
            with T.Scope("V"):
                T.copy(X, a)
                T.tile.add(a[1:3, 8:24], a[1:3, 8:24], a[1:3, 24:40])
                T.copy(a, Y)

    x = torch.randn(4, 40)
    want = x.clone()
    want[1:3, 8:24] += x[1:3, 24:40]
    torch.testing.assert_close(run(k, x, out_idx=[-1]), want)


def test_02_a_source_that_overlaps_the_destination_is_refused() -> None:
    def k(X: T.Tensor((4, 32), "float32"), Y: T.Tensor((4, 32), "float32")):  # type: ignore
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((4, 32), "float32")
            with T.Scope("V"):
                T.copy(X, a)
                T.tile.add(a[1:3, 8:24], a[1:3, 8:24], a[0:2, 0:16])
                T.copy(a, Y)

    with pytest.raises(KernelError) as caught:
        T.prim_func(k)
    assert caught.value.slug == "operand-overlap"


def test_03_a_scalar_may_be_an_element_of_a_matrix() -> None:
    @T.prim_func
    def k(X: T.Tensor((4, 32), "float32"), Y: T.Tensor((4, 32), "float32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((4, 32), "float32")
            b = T.alloc_ub((4, 32), "float32")
            with T.Scope("V"):
                T.copy(X, a)
                T.tile.mul(b, a, a[2, 5])
                T.copy(b, Y)

    x = torch.randn(4, 32)
    torch.testing.assert_close(run(k, x, out_idx=[-1]), x * x[2, 5])


def test_04_floor_division_and_modulo_of_negative_numbers() -> None:
    @T.prim_func
    def k(X: T.Tensor((16,), "int32"), Y: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((16,), "int32")
            b = T.alloc_ub((32,), "int32")
            with T.Scope("V"):
                T.copy(X, a)
                for i in range(16):
                    b[i] = a[i] // 4
                    b[16 + i] = (i - 9) % 5
                T.copy(b, Y)

    x = torch.arange(-8, 8, dtype=torch.int32)
    want = torch.cat([x // 4, (torch.arange(16, dtype=torch.int32) - 9) % 5])
    assert torch.equal(run(k, x, out_idx=[-1]), want)


@pytest.mark.parametrize("rounds", [0, 1, 5, 7])
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_05_a_pipelined_loop_runs_every_iteration(rounds: int, stages: int) -> None:
    @T.prim_func
    def k(X: T.Tensor((8, 32), "float32"), Y: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((32,), "float32")
            total = T.alloc_ub((32,), "float32")
            with T.Scope("V"):
                T.tile.fill(total, 0.0)
                for i in T.Pipelined(rounds, num_stages=stages):
                    T.copy(X[i, :], a)
                    T.tile.add(total, total, a)
                T.copy(total, Y)

    x = torch.randn(8, 32)
    torch.testing.assert_close(run(k, x, out_idx=[-1]), x[:rounds].sum(0))


def test_05_two_positions_of_pipelined_are_start_and_stop() -> None:
    @T.prim_func
    def k(X: T.Tensor((8, 32), "float32"), Y: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((32,), "float32")
            total = T.alloc_ub((32,), "float32")
            with T.Scope("V"):
                T.tile.fill(total, 0.0)
                for i in T.Pipelined(2, 6, num_stages=2):
                    T.copy(X[i, :], a)
                    T.tile.add(total, total, a)
                T.copy(total, Y)

    x = torch.randn(8, 32)
    torch.testing.assert_close(run(k, x, out_idx=[-1]), x[2:6].sum(0))


def test_06_missing_order_between_cores_is_never_silent() -> None:
    @T.prim_func
    def k(
        A: T.Tensor((32, 32), "float16"),
        B: T.Tensor((32, 32), "float16"),
        W: T.Tensor((32, 32), "float32"),
        D: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_L1((32, 32), "float16")
            b = T.alloc_L1((32, 32), "float16")
            c = T.alloc_L0C((32, 32), "float32")
            u = T.alloc_ub((16, 32), "float32")
            with T.Scope("C"):
                T.copy(A, a)
                T.copy(B, b)
                T.gemm_v0(a, b, c, init=True)
                T.copy(c, W)
            with T.Scope("V"):
                T.copy(W[vid * 16, 0], u)
                T.tile.add(u, u, 1.0)
                T.copy(u, D[vid * 16, 0])

    a, b = torch.randn(32, 32).half(), torch.randn(32, 32).half()
    # The scopes are the author's, and so is the order between them, unless it is asked for.
    kernel = compile(k, out_idx=[-1], workspace_idx=[2], pass_configs=AUTOMATIC_SYNC)
    with pytest.raises(SimulationError) as caught:
        kernel(a, b)
    assert caught.value.slug in ("race", "uninitialised-read")
    sync, combine = PassConfigKey.TL_ASCEND_AUTO_CV_SYNC, PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE
    for asked in ({sync: True}, {sync: True, combine: True}):
        configs = {**AUTOMATIC_SYNC, **asked}
        kernel = compile(k, out_idx=[-1], workspace_idx=[2], pass_configs=configs)
        torch.testing.assert_close(kernel(a, b), a.float() @ b.float() + 1, rtol=1e-3, atol=1e-3)


def test_06_own_flags_stay_where_order_between_cores_is_asked_for_alone() -> None:
    @T.prim_func
    def k(
        A: T.Tensor((32, 32), "float16"),
        B: T.Tensor((32, 32), "float16"),
        W: T.Tensor((32, 32), "float32"),
        D: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_L1((32, 32), "float16")
            b = T.alloc_L1((32, 32), "float16")
            c = T.alloc_L0C((32, 32), "float32")
            u = T.alloc_ub((16, 32), "float32")
            with T.Scope("C"):
                T.copy(A, a)
                T.copy(B, b)
                T.gemm_v0(a, b, c, init=True)
                T.copy(c, W)
                T.set_cross_flag("FIX", 0)
            with T.Scope("V"):
                T.wait_cross_flag(0)
                T.copy(W[vid * 16, 0], u)
                T.tile.add(u, u, 1.0)
                T.copy(u, D[vid * 16, 0])

    a, b = torch.randn(32, 32).half(), torch.randn(32, 32).half()
    configs = {**AUTOMATIC_SYNC, PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True}
    kernel = compile(k, out_idx=[-1], workspace_idx=[2], pass_configs=configs)
    torch.testing.assert_close(kernel(a, b), a.float() @ b.float() + 1, rtol=1e-3, atol=1e-3)


def test_07_flags_of_the_compiler_avoid_those_of_the_user() -> None:
    @T.prim_func
    def k(
        A: T.Tensor((64, 256), "float16"),
        B: T.Tensor((256, 64), "float16"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_L1((64, 256), "float16")
            b = T.alloc_L1((256, 64), "float16")
            c = T.alloc_L0C((64, 64), "float32")
            with T.Scope("C"):
                T.set_flag("mte1", "mte2", 0)
                T.set_flag("m", "fix", 1)
                T.copy(A, a)
                T.copy(B, b)
                T.set_flag("mte2", "mte1", 0)
                T.wait_flag("mte2", "mte1", 0)
                T.gemm_v0(a, b, c, init=True)
                T.barrier_all()
                T.wait_flag("mte1", "mte2", 0)
                T.wait_flag("m", "fix", 1)
                T.copy(c, C)

    a, b = torch.randn(64, 256).half(), torch.randn(256, 64).half()
    result = compile(k, out_idx=[-1])(a, b)
    torch.testing.assert_close(result, a.float() @ b.float(), rtol=1e-3, atol=1e-3)


def test_08_gathers_and_sorts_leave_their_sources_alone() -> None:
    """topk takes the product of the dimensions, not their sum: 96 elements here, not 35."""

    @T.prim_func
    def k(
        X: T.Tensor((3, 32), "float32"),
        K: T.Tensor((32,), "uint32"),
        Y: T.Tensor((3, 32), "float32"),
        J: T.Tensor((32,), "uint32"),
        P: T.Tensor((32,), "float32"),
        G: T.Tensor((32,), "float32"),
    ):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((3, 32), "float32")
            i = T.alloc_ub((32,), "uint32")
            best = T.alloc_ub((32,), "float32")
            picked = T.alloc_ub((32,), "float32")
            with T.Scope("V"):
                T.copy(X, x)
                T.copy(K, i)
                T.tile.topk(best, x, 16, 90)
                T.tile.gather_mask(picked, x[0, :], i)
                T.copy(x, Y)
                T.copy(i, J)
                T.copy(best, P)
                T.copy(picked, G)

    x = torch.randn(3, 32)
    i = torch.randperm(32).to(torch.uint32)
    y, j, p, g = run(k, x, i, out_idx=[2, 3, 4, 5])
    assert torch.equal(y, x) and torch.equal(j, i)
    assert torch.equal(p.view(-1, 2)[:, 0], x.reshape(-1)[:90].topk(16).values)
    assert torch.equal(g, x[0, i.long()])


@pytest.mark.parametrize("count", [64, 70])
def test_10_comparing_any_count_with_whole_numbers(count: int) -> None:
    @T.prim_func
    def k(X: T.Tensor((count,), "float32"), Y: T.Tensor((count,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((count,), "float32")
            mask = T.alloc_ub((32,), "uint8")
            y = T.alloc_ub((count,), "float32")
            with T.Scope("V"):
                T.copy(X, x)
                T.tile.compare(mask, x, 1, "GT")
                T.tile.select(y, mask, x, 7, "VSEL_TENSOR_SCALAR_MODE")
                T.copy(y, Y)

    x = torch.randn(count) * 2
    torch.testing.assert_close(run(k, x, out_idx=[-1]), torch.where(x > 1, x, 7.0))


def test_12_parallel_takes_scalars_on_either_side() -> None:
    @T.prim_func
    def k(X: T.Tensor((4, 32), "float32"), s: T.float32, Y: T.Tensor((3, 4, 32), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((4, 32), "float32")
            y = T.alloc_ub((3, 4, 32), "float32")
            with T.Scope("V"):
                T.copy(X, x)
                for i, j in T.Parallel(4, 32):
                    y[0, i, j] = 1 - x[i, j]
                    y[1, i, j] = T.max(x[i, j], s)
                    y[2, i, j] = T.min(0.25, x[i, j]) / s
                T.copy(y, Y)

    x = torch.randn(4, 32)
    want = torch.stack([1 - x, x.clamp(min=0.5), x.clamp(max=0.25) / 0.5])
    torch.testing.assert_close(run(k, x, 0.5, out_idx=[-1]), want)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("clear", [True, False])
@pytest.mark.parametrize("columns", [48, 300])
def test_09_half_precision_sums(axis: int, clear: bool, columns: int) -> None:
    rows = 7
    length = columns if axis == 0 else rows
    padded = -(-length // 16) * 16
    width = -(-columns // 16) * 16

    @T.prim_func
    def k(
        X: T.Tensor((rows, columns), "float16"),
        S: T.Tensor((padded,), "float16"),
        Y: T.Tensor((padded,), "float16"),
    ):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((rows, width), "float16")
            s = T.alloc_ub((padded,), "float16")
            with T.Scope("V"):
                T.copy(X[0, 0], a)
                T.copy(S, s)
                T.reduce_sum(a[:, 0:columns], s[0:length], dim=axis, clear=clear)
                T.copy(s, Y)

    x, s = torch.randn(rows, columns).half(), torch.randn(padded).half()
    want = x.double().sum(axis) + (0 if clear else s[:length].double())
    got = run(k, x, s, out_idx=[-1])[:length]
    torch.testing.assert_close(got.double(), want, rtol=2e-3, atol=2e-3 * columns**0.5)


def test_11_compound_scalars_and_integer_divisors() -> None:
    @T.prim_func
    def k(X: T.Tensor((32,), "float32"), n: T.int32, Y: T.Tensor((2, 32), "float32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((32,), "float32")
            b = T.alloc_ub((2, 32), "float32")
            with T.Scope("V"):
                T.copy(X, a)
                s = a[3]
                T.tile.sub(b[0, :], a, s + 2.0)
                T.tile.div(b[1, :], a, n)
                T.copy(b, Y)

    x = torch.randn(32)
    got = run(k, x, 7, out_idx=[-1])
    torch.testing.assert_close(got, torch.stack([x - (x[3] + 2), x / 7]))


@pytest.mark.parametrize("rows", [1, 7, 32])
def test_13_lanes_split_rows_once_and_all_of_them(rows: int) -> None:
    @T.prim_func
    def k(X: T.Tensor((rows, 32), "float32")):
        with T.Kernel(1, threads=2) as cid:
            a = T.alloc_ub((rows, 32), "float32")
            T.copy(X, a)
            for r in T.serial(rows):
                T.tile.add(a[r, :], a[r, :], 1.0)
            T.tile.mul(a, a, 2.0)
            T.copy(a, X)

    x = torch.randn(rows, 32)
    expected = (x + 1) * 2
    compile(k)(x)
    assert torch.equal(x, expected)


def test_14_a_buffer_that_is_only_copied_lies_where_its_copy_needs_it() -> None:
    @T.prim_func
    def k(X: T.Tensor((32, 32), "float16"), Y: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_shared((32, 32), "float16")
            left = T.alloc_fragment((32, 32), "float16")
            right = T.alloc_fragment((32, 32), "float16")
            c = T.alloc_fragment((32, 32), "float32")
            T.copy(X, a)
            T.copy(a, left)
            T.copy(a, right)
            T.mma(left, right, c, init=True)
            T.copy(c, Y)

    x = torch.randn(32, 32).half()
    y = compile(k, out_idx=[1], pass_configs=AUTOMATIC_SYNC)(x)
    torch.testing.assert_close(y, x.float() @ x.float(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("planning", [True, False])
def test_15_too_much_memory_is_an_error_with_a_table(planning: bool) -> None:
    @T.prim_func
    def k(X: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((256, 128), "float32")
            b = T.alloc_ub((256, 128), "float32")
            T.tile.fill(a, 0.0)
            T.tile.add(b, a, 1.0)
            T.tile.mul(b, b, a)  # or b could be written over a

    error = raised(k, pass_configs={PassConfigKey.TL_ASCEND_MEMORY_PLANNING: planning})
    assert error.slug == "memory-overflow"
    assert "a  " in error.message and "131072 bytes" in error.message


@pytest.mark.parametrize("rounds", [0, 1, 2, 3])
def test_15_values_survive_the_end_of_a_round(rounds: int) -> None:
    @T.prim_func
    def k(X: T.Tensor((4, 64), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            carried = T.alloc_ub((64,), "float32")
            loaded = T.alloc_ub((64,), "float32")
            other = T.alloc_ub((64,), "float32")
            with T.Scope("V"):
                T.tile.fill(carried, 1.0)
                for i in range(rounds):
                    T.tile.mul(other, carried, 2.0)
                    T.copy(X[i, :], loaded)
                    T.tile.add(carried, other, loaded)
                T.copy(carried, Y)

    x = torch.randn(4, 64)
    want = torch.ones(64)
    for i in range(rounds):
        want = want * 2 + x[i]
    configs = {**AUTOMATIC_SYNC, PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True}
    torch.testing.assert_close(compile(k, out_idx=[-1], pass_configs=configs)(x), want)


def test_16_every_earlier_reader_is_waited_for() -> None:
    """The store reads `a`, then the vector unit does; the load that overwrites `a` waits for both."""

    @T.prim_func
    def k(X: T.Tensor((2, 2048), "float32"), Y: T.Tensor((3, 2048), "float32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((2048,), "float32")
            b = T.alloc_ub((2048,), "float32")
            with T.Scope("V"):
                T.copy(X[0, :], a)
                T.copy(a, Y[0, :])
                T.tile.add(b, a, 1.0)
                T.copy(X[1, :], a)
                T.copy(a, Y[1, :])
                T.copy(b, Y[2, :])

    x = torch.randn(2, 2048)
    torch.testing.assert_close(run(k, x, out_idx=[-1]), torch.stack([x[0], x[1], x[0] + 1]))


def test_17_kernels_are_remembered_by_all_arguments() -> None:
    @jit(out_idx=[-1], pass_configs=AUTOMATIC_SYNC)
    def scaled(n: int, factor: float = 2.0) -> Any:
        @T.prim_func
        def k(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
            with T.Kernel(1, threads=1) as cid:
                a = T.alloc_ub((n,), "float32")
                T.copy(X, a)
                T.tile.mul(a, a, factor)
                T.copy(a, Y)

        return k

    x = torch.randn(32)
    for factor in (2.0, 3.0, 2.0):
        torch.testing.assert_close(scaled(32, factor=factor)(x), x * factor)


def test_18_negative_positions_count_the_parameters_of_the_user() -> None:
    @T.prim_func
    def k(
        X: T.Tensor((32,), "float32"),
        Y: T.Tensor((32,), "float32"),
        W: T.Tensor((32,), "float32"),
    ):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((32,), "float32")
            T.copy(X, a)
            T.copy(a, W)
            T.copy(a, Y)

    x = torch.randn(32)
    assert torch.equal(run(k, x, out_idx=[-2], workspace_idx=[-1]), x)


def test_19_symbols_are_passed_in_the_order_of_the_emitted_function() -> None:
    m, n = T.symbolic("m"), T.symbolic("n")

    @T.prim_func
    def k(Y: T.Tensor((n, m), "float32"), A: T.Tensor((m, 8), "float32"),
          B: T.Tensor((n, 8), "float32")):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((1, 8), "float32")
            with T.Scope("V"):
                for i in range(n):
                    T.copy(A[m - 1, 0], a)
                    T.copy(a, Y[i, 0:8])

    a, b = torch.randn(8, 8), torch.randn(3, 8)
    assert torch.equal(run(k, a, b, out_idx=[0]), a[7].expand(3, 8))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8"])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
def test_20_products_of_every_type_and_transposition(dtype: str, left: bool, right: bool) -> None:
    m, n, depth = 64, 96, 192
    result = "int32" if dtype == "int8" else "float32"
    a_shape, b_shape = ((depth, m) if left else (m, depth)), ((n, depth) if right else (depth, n))

    @T.prim_func
    def k(A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype), C: T.Tensor((m, n), result)):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_L1(a_shape, dtype)
            b = T.alloc_L1(b_shape, dtype)
            c = T.alloc_L0C((m, n), result)
            with T.Scope("C"):
                T.copy(A, a)
                T.copy(B, b)
                T.gemm_v0(a, b, c, transpose_A=left, transpose_B=right, init=True)
                T.copy(c, C)

    def values(shape: tuple[int, ...]) -> torch.Tensor:
        if dtype == "int8":
            return torch.randint(-128, 128, shape, dtype=torch.int8)
        return torch.randn(shape).to(getattr(torch, dtype))

    a, b = values(a_shape), values(b_shape)
    want = (a.double().T if left else a.double()) @ (b.double().T if right else b.double())
    got = run(k, a, b, out_idx=[-1])
    tolerance = 0 if dtype == "int8" else 1e-3
    torch.testing.assert_close(got.double(), want, rtol=tolerance, atol=tolerance)


def test_21_nothing_is_printed_while_compiling(capfd: pytest.CaptureFixture[str]) -> None:
    @T.prim_func
    def k(X: T.Tensor((4, 32), "float32"), Y: T.Tensor((4, 32), "float32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((4, 32), "float32")
            with T.Scope("V"):
                T.copy(X, a)
                T.tile.sigmoid(a[1, :], a[1, :])
                T.copy(a, Y)

    run(k, torch.zeros(4, 32), out_idx=[-1])
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("domain", [(1, 1), (3, 5), (4, 8), (2, 11), (7, 1)])
@pytest.mark.parametrize("group", [1, 3, 8])
@pytest.mark.parametrize("cores", [1, 4])
def test_22_persistent_visits_every_tile_once(
    domain: tuple[int, int], group: int, cores: int
) -> None:
    rows, columns = domain

    @T.prim_func
    def k(Y: T.Tensor((rows * columns, 8), "int32")):
        with T.Kernel(cores, threads=1) as cid:
            one = T.alloc_ub((1, 8), "int32")
            with T.Scope("V"):
                T.tile.fill(one, 1)
                for i, j in T.Persistent([rows, columns], cores, cid, group_size=group):
                    T.tile.atomic_add(Y[i * columns + j, 0:8], one[0, 0:8])

    y = torch.zeros(rows * columns, 8, dtype=torch.int32)
    run(k, y)
    assert torch.equal(y, torch.ones_like(y))


@pytest.mark.parametrize("columns", [1, 3, 15, 17])
def test_23_rows_of_odd_bytes_are_dense(columns: int) -> None:
    @T.prim_func
    def k(X: T.Tensor((5, columns), "float32"), Y: T.Tensor((5, columns), "float32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((5, columns), "float32")
            T.copy(X, a)
            T.tile.add(a, a, 1.0)
            T.copy(a, Y)

    x = torch.randn(5, columns)
    torch.testing.assert_close(run(k, x, out_idx=[-1]), x + 1)

    @T.prim_func
    def cut(X: T.Tensor((5, 64), "float32"), Y: T.Tensor((5, 64), "float32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((5, columns), "float32")
            T.copy(X[0:5, 0:columns], a)
            T.copy(a, Y[0:5, 0:columns])

    x, y = torch.randn(5, 64), torch.zeros(5, 64)
    run(cut, x, y)
    want = torch.cat([x[:, :columns], torch.zeros(5, 64 - columns)], 1)
    torch.testing.assert_close(y, want, rtol=0, atol=0)
