"""Operations as other versions of the language spell them, each against NumPy at `strict`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
from tile_frontend._dialects.tilelang_ascend import TILELANG_ASCEND
from tile_ir import OPS, KernelError
from tile_ir.diagnostics.errors import KernelWarning
from tile_runtime import PassConfigKey, compile

pytestmark = pytest.mark.usefixtures("strict")

AUTOMATIC = {PassConfigKey.TL_ASCEND_AUTO_SYNC: True}


def run(kernel: Any, *arguments: Any, **options: Any) -> Any:
    got = compile(kernel, pass_configs=AUTOMATIC, **options)(*arguments)
    return got.numpy() if isinstance(got, torch.Tensor) else [y.numpy() for y in got]


def test_every_older_name_leads_to_an_operation_of_today() -> None:
    for namespace, names in TILELANG_ASCEND.operations.items():
        room = T.tile if namespace else T
        for older, today in names.items():
            assert getattr(room, older) is getattr(room, today), older
    parameters = {name for opdef in OPS.values() for name in opdef.call_order()}
    assert all(set(today) & parameters for today in TILELANG_ASCEND.arguments.values())


def test_a_limit_on_one_side() -> None:
    @T.prim_func
    def k(X: T.Tensor((2, 40), "float32"), Y: T.Tensor((2, 40), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((2, 40), "float32")
            tmp = T.alloc_ub((2, 40), "float32")
            T.copy(X, x)
            T.tile.clamp_max(x, x, tmp, 0.5, 80)
            T.tile.clamp_min(out=x, buffer=x, scalar_value=-0.5, count=33)
            T.copy(x, Y)

    x = torch.randn(2, 40)
    want = np.minimum(x.numpy(), 0.5).reshape(-1)
    want[:33] = np.maximum(want[:33], -0.5)
    with pytest.warns(KernelWarning, match="`tmp` is working memory"):
        got = run(k, x, out_idx=[-1])
    np.testing.assert_array_equal(got, want.reshape(2, 40))


@pytest.mark.parametrize("dtype", ["int16", "int32", "float16"])
def test_a_limit_on_one_side_of_other_types(dtype: str) -> None:
    @T.prim_func
    def k(X: T.Tensor((64,), dtype), Y: T.Tensor((64,), dtype)):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((64,), dtype)
            T.copy(X, x)
            T.tile.clampMax(x, x, 5, 64)
            T.tile.clampMin(x, x, -5, 64)
            T.copy(x, Y)

    x = (torch.randn(64) * 9).to(getattr(torch, dtype))
    np.testing.assert_array_equal(run(k, x, out_idx=[-1]), np.clip(x.numpy(), -5, 5))


def test_names_of_operations_and_arguments() -> None:
    @T.prim_func
    def k(X: T.Tensor((64,), "int16"), Y: T.Tensor((64,), "int16"), Z: T.Tensor((64,), "int16")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((64,), "int16")
            y = T.alloc_ub((64,), "int16")
            T.copy(X, x)
            T.tile.shiftleft(y, x, scalarValue=2)
            T.tile.or_tl(y, y, x)
            T.tile.not_tl(dst=y, src0=y)
            T.copy(y, Y)
            T.tile.createvecindex(y, firstValue=3)
            T.tile.and_tl(y, y, x)
            T.copy(y, Z)

    x = torch.randint(0, 999, (64,), dtype=torch.int16)
    y, z = run(k, x, out_idx=[1, 2])
    n = x.numpy()
    np.testing.assert_array_equal(y, ~(n << 2 | n))
    np.testing.assert_array_equal(z, n & np.arange(3, 67, dtype=np.int16))


@pytest.mark.parametrize(("rows", "columns", "dim"), [(4, 32, -1), (8, 16, 0), (2, 64, 1)])
def test_a_reduction_with_its_result_first(rows: int, columns: int, dim: int) -> None:
    kept = rows if dim else columns

    @T.prim_func
    def k(X: T.Tensor((rows, columns), "float32"), Y: T.Tensor((kept,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((rows, columns), "float32")
            y = T.alloc_ub((kept,), "float32")
            tmp = T.alloc_ub((4096,), "uint8")
            T.copy(X, x)
            T.reduce_max(y, x, tmp, dim=dim)
            T.copy(y, Y)

    x = torch.randn(rows, columns)
    with pytest.warns(KernelWarning, match="`tmp` is working memory"):
        got = run(k, x, out_idx=[-1])
    np.testing.assert_array_equal(got, x.numpy().max(1 if dim else 0))


@pytest.mark.parametrize("lists", [1, 3])
def test_a_running_top_of_sorted_lists(lists: int) -> None:
    """init_sort_buf, merge_sort with sizes, topk with a size, gather_mask with a number."""
    size, total = 32, 4 * 32

    @T.prim_func
    def k(X: T.Tensor((lists, 4, size), "float32"), Y: T.Tensor((total,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((size,), "float32")
            pairs = T.alloc_ub((4, 2 * size), "float32")
            merged = T.alloc_ub((2 * total,), "float32")
            best = T.alloc_ub((2 * total,), "float32")
            found = T.alloc_ub((total,), "float32")
            tmp = T.alloc_ub((4 * total,), "float32")
            T.tile.init_sort_buf(best, 2 * total, 0)
            for i in T.serial(lists):
                for j in T.serial(4):
                    T.copy(X[i, j, 0], x)
                    T.tile.sort(pairs[j, :], x, size)
                T.tile.merge_sort(merged, pairs, size, 4, is_copy=1)
                if i % 2 == 0:
                    T.tile.topk(best, merged, tmp, total)
                else:
                    T.tile.topk(best, pairs, total)
            T.tile.gather_mask(found, best, "P0101")
            T.copy(found, Y)

    x = torch.randn(lists, 4, size)
    with pytest.warns(KernelWarning, match="`tmp` is working memory"):
        got = run(k, x, out_idx=[-1])
    np.testing.assert_array_equal(got, np.sort(x.numpy().reshape(-1))[::-1][:total])


@pytest.mark.parametrize("groups", [1, 3, 8])
def test_a_sort_with_indices(groups: int) -> None:
    count = 32 * groups

    @T.prim_func
    def k(X: T.Tensor((256,), "float32"), L: T.Tensor((256,), "uint32"),
          Y: T.Tensor((2 * count,), "float32")):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((256,), "float32")
            i = T.alloc_ub((256,), "uint32")
            y = T.alloc_ub((2, 512), "float32")
            tmp = T.alloc_ub((512,), "float32")
            T.copy(X, x)
            T.copy(L, i)
            T.tile.sort(y[1, :], x, i, tmp, groups)
            T.tile.sort(dst=y[0, :], src=x, indices=i, tmp_buffer=tmp, repeat_time=groups)
            T.copy(y[0, 0 : 2 * count], Y)

    x, index = torch.randn(256), torch.randperm(256).to(torch.uint32)
    with pytest.warns(KernelWarning, match="`tmp` is working memory"):
        got = run(k, x, index, out_idx=[-1])
    order = np.argsort(-x.numpy()[:count], kind="stable")
    np.testing.assert_array_equal(got[0::2], x.numpy()[order])
    np.testing.assert_array_equal(got[1::2].view(np.uint32), index.numpy()[order])


@pytest.mark.parametrize("count", [2, 64, 66, 512, 20000])
def test_the_lowest_pairs(count: int) -> None:
    have = max(count, 64)

    @T.prim_func
    def k(Y: T.Tensor((have,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            y = T.alloc_ub((have,), "float32")
            T.tile.fill(y, 3.0)
            T.tile.init_sort_buf(y, count)
            T.copy(y, Y)

    got = run(k, out_idx=[-1])
    assert (got[0:count:2] == -np.inf).all() and np.isnan(got[1:count:2]).all()
    assert (got[count:] == 3.0).all()


def test_the_first_indices_of_pairs() -> None:
    @T.prim_func
    def k(X: T.Tensor((64,), "float32"), Y: T.Tensor((20,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((64,), "float32")
            y = T.alloc_ub((24,), "float32")
            T.copy(X, x)
            T.tile.gather_mask(y, x, 20)
            T.copy(y[0:20], Y)

    x = torch.randn(64)
    np.testing.assert_array_equal(run(k, x, out_idx=[-1]), x.numpy()[1:40:2])


def test_two_names_of_a_product() -> None:
    @T.prim_func
    def k(A: T.Tensor((16, 32), "float16"), B: T.Tensor((32, 16), "float16"),
          C: T.Tensor((16, 16), "float32")):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_L1((16, 32), "float16")
            b = T.alloc_L1((32, 16), "float16")
            c = T.alloc_L0C((16, 16), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm_v1(a, b, c, init=True)
            T.copy(c, C)

    a, b = torch.randn(16, 32).half(), torch.randn(32, 16).half()
    want = a.float().numpy() @ b.float().numpy()
    np.testing.assert_allclose(run(k, a, b, out_idx=[-1]), want, atol=1e-3)


def test_keywords_from_a_dictionary_and_a_dynamic_dimension() -> None:
    n = T.dynamic("n")
    launch = {"threads": 2}

    @T.prim_func
    def k(X: T.Tensor((n, 16), "float32"), Y: T.Tensor((n, 16), "float32")):
        with T.Kernel(T.ceildiv(n, 8), is_npu=True, **launch) as cid:
            x = T.alloc_shared((8, 16), "float32")
            T.copy(X[cid * 8, 0], x)
            T.tile.mul(x, x, *[-1.0])
            T.copy(x, Y[cid * 8, 0])

    x = torch.randn(21, 16)
    np.testing.assert_array_equal(run(k, x, out_idx=[-1]), -x.numpy())


WRONG = [
    (lambda d, s: T.tile.topk(d, s[0:32], 32), "arity"),
    (lambda d, s: T.tile.topk(d, s, 0), "arity"),
    (lambda d, s: T.tile.sort(d, s, s, s, 2), "operand-dtype"),
    (lambda d, s: T.tile.sort(d, s, s, s, s), "operand-kind"),
    (lambda d, s: T.tile.merge_sort(d, s, 32, 4), "merge-size"),
    (lambda d, s: T.tile.init_sort_buf(d, 7), "count-range"),
    (lambda d, s: T.tile.init_sort_buf(d, 400), "count-range"),
    (lambda d, s: T.tile.gather_mask(d, s, 40), "count-range"),
    (lambda d, s: T.tile.exp(d, src1=s), "unknown-argument"),
    (lambda d, s: T.tile.exp(d, s, src0=s), "unknown-argument"),
]


@pytest.mark.parametrize(("call", "slug"), WRONG)
def test_what_fits_no_version(call: Any, slug: str) -> None:
    def k(X: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=1) as cid:
            src = T.alloc_ub((64,), "float32")
            dst = T.alloc_ub((128,), "float32")
            call(dst, src)

    with pytest.raises(KernelError) as caught:
        T.prim_func(k)
    assert caught.value.slug == slug


@pytest.mark.parametrize("rows", [1, 8, 9])
def test_operations_without_tile_beside_functions_of_numbers(rows: int) -> None:
    """The first versions have the operations of `T.tile` at `T`."""

    @T.prim_func
    def k(X: T.Tensor((rows, 40), "float32"), Y: T.Tensor((rows, 40), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((rows, 40), "float32")
            y = T.alloc_ub((rows, 40), "float32")
            T.copy(X, x)
            T.fill(y, T.max(2.0, T.sqrt(9.0)))
            T.min(y, y, 2.5)
            T.max(x, x, y)
            T.exp(y[0, :], x[0, :])
            T.mul(x, x, y)
            for i, j in T.Parallel(rows, 40):
                x[i, j] = T.max(T.abs(x[i, j]), T.exp(x[i, j] * 0.01))
            T.pow(y, x, y)
            T.log(y, y)
            T.abs(x, y)
            T.copy(x, Y)

    x = torch.linspace(-1, 1, rows * 40).reshape(rows, 40)
    y = np.full((rows, 40), 2.5)
    a = np.maximum(x.numpy(), y)
    y[0] = np.exp(a[0])
    b = np.maximum(np.abs(a * y), np.exp(a * y * 0.01))
    np.testing.assert_allclose(run(k, x, out_idx=[-1]), np.abs(np.log(b**y)), rtol=2e-4)


@pytest.mark.parametrize(("rows", "dtype"), [(1, "float32"), (4, "float32"), (9, "float16")])
@pytest.mark.parametrize("first", [True, False])
def test_a_reduction_into_whole_blocks(rows: int, dtype: str, first: bool) -> None:
    """Results of few rows stand in buffers of whole blocks; what is behind them stays."""
    room = 8 if dtype == "float32" else 16

    @T.prim_func
    def k(X: T.Tensor((rows, 64), dtype), Y: T.Tensor((room,), dtype)):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((rows, 64), dtype)
            y = T.alloc_ub((room,), dtype)
            T.copy(X, x)
            T.tile.fill(y, 7.0)
            if first:
                T.tile.reduce_max(y, x, dim=-1)
            else:
                T.reduce_max(x, y, dim=-1)
            T.copy(y, Y)

    x = torch.randn(rows, 64).to(getattr(torch, dtype))
    want = np.full(room, 7.0)
    want[:rows] = x.numpy().max(1)
    np.testing.assert_array_equal(run(k, x, out_idx=[-1]), want)


@pytest.mark.parametrize(("lists", "room"), [(3, 384), (4, 512), (4, 600)])
def test_working_memory_of_a_merge_behind_its_result(lists: int, room: int) -> None:
    @T.prim_func
    def k(X: T.Tensor((lists, 128), "float32"), Y: T.Tensor((lists * 128,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((lists, 128), "float32")
            tmp = T.alloc_ub((512,), "float32")
            y = T.alloc_ub((room,), "float32")
            T.copy(X, x)
            T.tile.merge_sort(y, tmp, *[x[i, :] for i in range(lists)])
            T.copy(y[: lists * 128], Y)

    values = torch.randn(lists, 64).sort(1, descending=True).values
    x = torch.stack([values, torch.zeros(lists, 64)], dim=2).reshape(lists, 128)
    with pytest.warns(KernelWarning, match="`tmp` is working memory"):
        got = run(k, x, out_idx=[-1])
    np.testing.assert_array_equal(got[::2], np.sort(values.numpy().reshape(-1))[::-1])


def test_columns_of_the_tensor_in_a_copy() -> None:
    @T.prim_func
    def k(X: T.Tensor((4, 64), "float32"), Y: T.Tensor((4, 32), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((4, 32), "float32")
            T.copy(X[0, T.Min(cid, 3)], x, 64, False)
            T.copy(x, Y, srcN=-1)

    x = torch.randn(4, 64)
    np.testing.assert_array_equal(run(k, x, out_idx=[-1]), x.numpy()[:, :32])


@pytest.mark.parametrize("blocks", [1, 3])
def test_buffers_of_one_name_in_branches(blocks: int) -> None:
    @T.prim_func
    def k(X: T.Tensor((blocks, 40), "float32"), Y: T.Tensor((blocks, 40), "float32")):
        with T.Kernel(blocks, threads=1) as cid:
            if cid % 2 == 0:
                x = T.alloc_ub((40,), "float32")
                T.copy(X[cid, :], x)
                T.tile.add(x, x, 1.0)
                T.copy(x, Y[cid, :])
            else:
                x = T.alloc_ub((64,), "float32")
                T.tile.fill(x, 2.0)
                T.copy(x[:40], Y[cid, :])

    x = torch.randn(blocks, 40)
    want = x.numpy() + 1
    want[1::2] = 2.0
    np.testing.assert_array_equal(run(k, x, out_idx=[-1]), want)


def test_another_distance_of_rows_is_not_taken_for_the_own_one() -> None:
    with pytest.raises(KernelError, match="the stride is no multiple of the elements of its rows"):

        @T.prim_func
        def k(X: T.Tensor((4, 64), "float32")):
            with T.Kernel(1, threads=1) as cid:
                x = T.alloc_ub((4, 32), "float32")
                T.copy(X[0, 0], x, 32)


def test_numbers_that_names_of_the_kernel_stand_for() -> None:
    @T.prim_func
    def k(X: T.Tensor((2, 128), "float32"), Y: T.Tensor((256,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            lists = 4 // 2
            size = T.floordiv(128, lists)
            x = T.alloc_ub((2, 128), "float32")
            y = T.alloc_ub((256,), "float32")
            T.copy(X, x)
            T.merge_sort(y, x, size, lists, 0)
            T.copy(y, Y)

    values = torch.randn(2, 64).sort(1, descending=True).values
    x = torch.stack([values, torch.zeros(2, 64)], dim=2).reshape(2, 128)
    got = run(k, x, out_idx=[-1])
    np.testing.assert_array_equal(got[::2], np.sort(values.numpy().reshape(-1))[::-1])


def test_the_scale_of_a_cast_beside_the_cast() -> None:
    @T.prim_func
    def k(X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "float16")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((64,), "int32")
            y = T.alloc_ub((64,), "float16")
            T.copy(X, x)
            T.tile.set_deq_scale(0.5)
            T.tile.cast(y, x, "CAST_NONE", 64)
            T.copy(y, Y)

    x = torch.randint(-99, 99, (64,), dtype=torch.int32)
    np.testing.assert_array_equal(run(k, x, out_idx=[-1]), x.numpy() * 0.5)
