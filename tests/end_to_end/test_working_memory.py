"""Working memory that scripts hand over, as older and newer versions of the language have it: every
operation that uses some takes it, the result is the same, and a remark says that it is not needed.
All kernels run at `strict`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
from tile_frontend._arguments.working_memory import takes_working_memory
from tile_ir import OPS, KernelError
from tile_ir.diagnostics.errors import KernelWarning
from tile_runtime import PassConfigKey, compile

pytestmark = pytest.mark.usefixtures("strict")

AUTOMATIC = {PassConfigKey.TL_ASCEND_AUTO_SYNC: True}


def unary(call: Callable[..., Any], out: tuple[int, ...] = (2, 32), dtype: str = "float32") -> Any:
    """A kernel that applies `call(dst, src, tmp)` to two rows."""

    @T.prim_func
    def k(X: T.Tensor((2, 32), dtype), Y: T.Tensor(out, dtype)):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((2, 32), dtype)
            y = T.alloc_ub(out, dtype)
            tmp = T.alloc_ub((4096,), "uint8")
            with T.Scope("V"):
                T.copy(X, x)
                call(y, x, tmp)
                T.copy(y, Y)

    return k


def run(kernel: Any, x: Any) -> Any:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        got = compile(kernel, out_idx=[-1], pass_configs=AUTOMATIC)(x)
    texts = [str(w.message) for w in told if issubclass(w.category, KernelWarning)]
    assert len(texts) == 1 and "`tmp` is working memory that T." in texts[0], texts
    assert "[working-memory]" in texts[0]
    return got


# Each call with the memory where older versions of the language have it, then by keyword.
REDUCTIONS = {
    "behind out, dim by keyword": lambda f: lambda y, x, tmp: f(x, y, tmp, dim=-1),
    "behind out, dim by position": lambda f: lambda y, x, tmp: f(x, y, tmp, -1),
    "behind out, real_shape": lambda f: lambda y, x, tmp: f(x, y, tmp, -1, [2, 32]),
    "behind dim": lambda f: lambda y, x, tmp: f(x, y, -1, tmp),
    "behind out alone": lambda f: lambda y, x, tmp: f(x, y, tmp),
    "by keyword": lambda f: lambda y, x, tmp: f(x, y, dim=-1, tmp=tmp),
    "a part": lambda f: lambda y, x, tmp: f(x, y, tmp[32:544], dim=-1),
}


@pytest.mark.parametrize("form", REDUCTIONS)
@pytest.mark.parametrize("name", ["max", "min", "sum"])
def test_reductions(name: str, form: str) -> None:
    x = torch.randn(2, 32)
    call = REDUCTIONS[form](getattr(T, f"reduce_{name}"))
    want = getattr(np, name)(x.numpy(), axis=1)
    np.testing.assert_allclose(run(unary(call, out=(2,)), x).numpy(), want, rtol=1e-5, atol=1e-5)


def test_the_generic_reduction() -> None:
    x = torch.randn(2, 32)
    by_place = unary(lambda y, x, tmp: T.reduce(x, y, "reduce_max", -1, tmp=tmp), out=(2,))
    np.testing.assert_array_equal(run(by_place, x).numpy(), x.numpy().max(1))


ELEMENTS: dict[str, tuple[Callable[..., Any], Callable[[Any], Any]]] = {
    "sin": (lambda y, x, tmp: T.tile.sin(y, x, tmp), np.sin),
    "cos by keyword": (lambda y, x, tmp: T.tile.cos(y, x, tmp=tmp), np.cos),
    "sigmoid": (lambda y, x, tmp: T.tile.sigmoid(y, x, tmp), lambda x: 1 / (1 + np.exp(-x))),
    "tanh": (lambda y, x, tmp: T.tile.tanh(y, x, tmp=tmp), np.tanh),
    "clamp": (
        lambda y, x, tmp: T.tile.clamp(y, x, tmp, -0.5, 0.5, 64),
        lambda x: np.clip(x, -0.5, 0.5),
    ),
    "clamp by keyword": (
        lambda y, x, tmp: T.tile.clamp(y, x, -0.5, 0.5, 64, tmp=tmp),
        lambda x: np.clip(x, -0.5, 0.5),
    ),
    "round": (lambda y, x, tmp: T.tile.round(y, x, tmp, 64), np.rint),
    "pow": (lambda y, x, tmp: T.tile.pow(y, x, x, tmp), lambda x: x**x),
    "gather_mask": (lambda y, x, tmp: T.tile.gather_mask(y, x, "P1111", tmp), lambda x: x),
    "gather_mask by keyword": (
        lambda y, x, tmp: T.tile.gather_mask(y, x, "P1111", tmp=tmp),
        lambda x: x,
    ),
    "broadcast": (
        lambda y, x, tmp: T.tile.broadcast(y, x[0, :], tmp),
        lambda x: np.stack([x[0], x[0]]),
    ),
    "broadcast, axis behind": (
        lambda y, x, tmp: T.tile.broadcast(y, x[1, :], tmp, 0),
        lambda x: np.stack([x[1], x[1]]),
    ),
    "cumsum": (lambda y, x, tmp: T.cumsum(x, y, tmp, dim=1), lambda x: x.cumsum(1)),
}


@pytest.mark.parametrize("form", ELEMENTS)
def test_elementwise(form: str) -> None:
    call, meaning = ELEMENTS[form]
    x = torch.rand(2, 32) + 0.25
    got = run(unary(call), x).numpy()
    np.testing.assert_allclose(got, meaning(x.numpy()), rtol=1e-3, atol=1e-4)


def pairs(x: Any, count: int) -> Any:
    order = np.argsort(-x.reshape(-1), kind="stable")[:count]
    return np.stack([x.reshape(-1)[order], order.astype(np.float32)], 1).reshape(-1)


SORTS: dict[str, Callable[..., Any]] = {
    "sort behind src": lambda y, x, tmp: T.tile.sort(y, x, tmp, 64),
    "sort by keyword": lambda y, x, tmp: T.tile.sort(y, x, 64, tmp=tmp),
    "topk behind src": lambda y, x, tmp: T.tile.topk(y, x, tmp, 64, 64),
    "topk by keyword": lambda y, x, tmp: T.tile.topk(y, x, 64, actual_num=64, tmp=tmp),
}


@pytest.mark.parametrize("form", SORTS)
def test_sorts(form: str) -> None:
    x = torch.randn(2, 32)
    got = run(unary(SORTS[form], out=(128,)), x).numpy()
    np.testing.assert_array_equal(got, pairs(x.numpy(), 64))


def test_merging_takes_it_by_keyword() -> None:
    @T.prim_func
    def k(X: T.Tensor((2, 64), "float32"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((2, 64), "float32")
            p = T.alloc_ub((2, 128), "float32")
            y = T.alloc_ub((256,), "float32")
            tmp = T.alloc_ub((544,), "uint8")
            with T.Scope("V"):
                T.copy(X, x)
                T.tile.sort(p[0, :], x[0, :], 64)
                T.tile.sort(p[1, :], x[1, :], 64)
                T.tile.merge_sort(y, p[0, :], p[1, :], tmp=tmp[32:544])
                T.copy(y[0:128], Y)

    x = torch.randn(2, 64)
    got = run(k, x).numpy()[0::2]
    np.testing.assert_array_equal(got, np.sort(x.numpy().reshape(-1))[::-1][:64])


def test_exclusive_or_and_a_selection() -> None:
    @T.prim_func
    def k(X: T.Tensor((64,), "int16"), F: T.Tensor((64,), "float32"),
          Z: T.Tensor((64,), "int16"), Y: T.Tensor((64,), "float32")):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((64,), "int16")
            z = T.alloc_ub((64,), "int16")
            f = T.alloc_ub((64,), "float32")
            y = T.alloc_ub((64,), "float32")
            mask = T.alloc_ub((8,), "uint8")
            tmp = T.alloc_ub((64,), "int16")
            with T.Scope("V"):
                T.copy(X, x)
                T.copy(F, f)
                T.tile.fill(z, 21)
                T.tile.bitwise_xor(z, x, z, tmp)
                T.tile.compare(mask, f, 0.25, "GT", tmp=tmp)
                T.tile.select(y, mask, f, 1.0, "VSEL_TENSOR_SCALAR_MODE", tmp=tmp)
                T.copy(z, Z)
                T.copy(y, Y)

    x, f = torch.randint(-99, 99, (64,), dtype=torch.int16), torch.randn(64)
    with pytest.warns(KernelWarning, match="`tmp` is working memory"):
        z, y = compile(k, out_idx=[2, 3], pass_configs=AUTOMATIC)(x, f)
    np.testing.assert_array_equal(z.numpy(), x.numpy() ^ 21)
    np.testing.assert_array_equal(y.numpy(), np.where(f.numpy() > 0.25, f.numpy(), 1.0))


def test_what_is_only_working_memory_takes_no_room() -> None:
    """192 KiB of UB hold nothing beside it."""

    @T.prim_func
    def k(X: T.Tensor((64, 512), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_shared((64, 512), "float32")
            y = T.alloc_shared((64,), "float32")
            tmp = T.alloc_shared([3 * 4 * 64 * 512], "uint8")
            T.copy(X, x)
            T.reduce_max(x, y, tmp, dim=-1)
            T.copy(y, Y)

    x = torch.randn(64, 512)
    np.testing.assert_array_equal(run(k, x).numpy(), x.numpy().max(1))


def test_a_buffer_of_one_element_is_a_number() -> None:
    @T.prim_func
    def k(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((64,), "float32")
            low = T.alloc_ub((1,), "float32")
            with T.Scope("V"):
                T.copy(X, x)
                low[0] = -0.5
                T.tile.clamp(x, x, low, 0.5, 64)
                T.copy(x, Y)

    x = torch.randn(64)
    got = compile(k, out_idx=[-1], pass_configs=AUTOMATIC)(x)
    np.testing.assert_array_equal(got.numpy(), np.clip(x.numpy(), -0.5, 0.5))


def test_one_element_is_working_memory_where_no_number_is_meant() -> None:
    @T.prim_func
    def k(X: T.Tensor((2, 32), "float32"), Y: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((2, 32), "float32")
            y = T.alloc_ub((2,), "float32")
            tmp = T.alloc_ub((1,), "uint8")
            with T.Scope("V"):
                T.copy(X, x)
                T.reduce_max(x, y, tmp, dim=-1)
                T.tile.sin(y, y, tmp)
                T.copy(y, Y)

    x = torch.randn(2, 32)
    np.testing.assert_allclose(run(k, x).numpy(), np.sin(x.numpy().max(1)), rtol=1e-3, atol=1e-5)


def test_every_operation_that_uses_some_takes_it() -> None:
    """By the record: no operation is named anywhere."""
    takers = [d for d in OPS.values() if takes_working_memory(d) and d.namespace is not None]
    assert len(takers) > 30
    for opdef in takers:
        function = getattr(T.tile if opdef.namespace else T, opdef.name)
        accepts = hasattr(function, "opdef") or hasattr(function, "__wrapped__")
        assert accepts, opdef.name


@pytest.mark.parametrize(
    ("call", "slug"),
    [
        (lambda y, x, g: T.tile.sin(y, x, tmp=3), "operand-kind"),
        (lambda y, x, g: T.tile.sin(y, x, tmp=g), "operand-memory"),
        (lambda y, x, g: T.tile.exp(y, x, x), "arity"),
        (lambda y, x, g: T.tile.exp(y, x, tmp=x), "unknown-argument"),
        (lambda y, x, g: T.tile.sort(y, x, x, x), "arity"),
    ],
)
def test_what_is_no_working_memory(call: Any, slug: str) -> None:
    def k(X: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((64,), "float32")
            y = T.alloc_ub((128,), "float32")
            call(y, x, X)

    with pytest.raises(KernelError) as caught:
        T.prim_func(k)
    assert caught.value.slug == slug


def by_hand(
    rows: int,
    memory: int,
    then: Callable[..., Any] = lambda y, x, tmp: None,
    placed: bool = False,
) -> Any:
    """A kernel that orders its core itself and uses `tmp` for more than working memory. Beside x, y
    and `tmp` there is no room for what a sigmoid of all rows works in."""
    size = rows * 128 * 4

    @T.prim_func
    def k(X: T.Tensor((rows, 128), "float32"), Y: T.Tensor((rows, 128), "float32")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((rows, 128), "float32")
            y = T.alloc_ub((rows, 128), "float32")
            tmp = T.alloc_ub((memory,), "float32")
            with T.Scope("V"):
                if placed:
                    T.annotate_address({x: 0, y: size, tmp: 2 * size})
                if vid == 0:
                    T.tile.fill(tmp, 2.0)
                    T.copy(X, x)
                    T.set_flag("mte2", "v", 0)
                    T.wait_flag("mte2", "v", 0)
                    T.pipe_barrier("v")
                    T.tile.mul(x[0, :], x[0, :], tmp[0:128])
                    T.pipe_barrier("v")
                    T.tile.sigmoid(y, x, tmp)
                    then(y, x, tmp)
                    T.set_flag("v", "mte3", 0)
                    T.wait_flag("v", "mte3", 0)
                    T.copy(y, Y)

    return k


BY_HAND = {
    "order": {},
    "order, not addresses": {PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True},
    "no order": AUTOMATIC,
}


@pytest.mark.parametrize("left", BY_HAND)
@pytest.mark.parametrize("placed", [False, True])
def test_kernels_that_keep_order_or_memory_work_in_their_own(left: str, placed: bool) -> None:
    x = torch.randn(80, 128)
    kernel = by_hand(80, 2 * 80 * 128, placed=placed)
    with pytest.warns(KernelWarning, match="`tmp` is working memory"):
        got = compile(kernel, out_idx=[-1], pass_configs=BY_HAND[left])(x)
    x[0] *= 2
    np.testing.assert_allclose(got.numpy(), torch.sigmoid(x).numpy(), rtol=1e-5, atol=1e-6)


def test_the_author_orders_what_is_worked_in() -> None:
    """The second product reads what the sigmoid left behind, without waiting for it."""

    def product(y: Any, x: Any, tmp: Any) -> None:
        T.tile.fill(tmp[0:128], 1.0)
        T.tile.mul(y[0, :], x[0, :], tmp[0:128])

    kernel = by_hand(16, 2 * 16 * 128, product)
    with pytest.warns(KernelWarning), pytest.raises(Exception, match="tmp"):
        compile(kernel, out_idx=[-1])(torch.randn(16, 128))


@pytest.mark.parametrize("rows", [1, 3, 16])
def test_too_little_is_told_and_not_used(rows: int) -> None:
    x = torch.randn(rows, 128)
    kernel = by_hand(rows, 128)
    with pytest.warns(KernelWarning, match="does not work in `tmp`, which has 512 bytes, and"):
        got = compile(kernel, out_idx=[-1])(x)
    x[0] *= 2
    np.testing.assert_allclose(got.numpy(), torch.sigmoid(x).numpy(), rtol=1e-5, atol=1e-6)
