"""Tensors that are no numbers in memory, and transforms of torch: each right, or one clear error."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch._subclasses.functional_tensor import FunctionalTensor, FunctionalTensorMode
from torch.testing._internal.two_tensor import TwoTensor

import tile_frontend as T
from doubling import N, doubled
from tile_ir import CallError, KernelError
from tile_runtime import compile, jit

pytestmark = pytest.mark.usefixtures("quick_kernels")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("kernels"))


@pytest.fixture
def kernel(cache: str) -> Any:
    from tile_ir.switches import override

    with override(cache_dir=cache):
        made = compile(doubled, out_idx=[1])
    for _ in range(3):  # what follows is compared with a call that is remembered
        made(torch.ones(N))
    return made


def refusal(call: Any) -> str:
    with pytest.raises(CallError) as caught:
        call()
    return caught.value.message


def test_fake_tensors_have_no_values(kernel: Any) -> None:
    real = torch.ones(N)
    kernel(real)  # the next call is compared with this one
    with FakeTensorMode() as mode:
        assert "is a fake tensor" in refusal(lambda: kernel(torch.ones(N)))
        assert "inside FakeTensorMode" in refusal(lambda: kernel(real))
        fake = mode.from_tensor(real)
    assert "is a fake tensor" in refusal(lambda: kernel(fake))
    assert (kernel(real) == 2).all()


def test_transforms_of_torch_func(kernel: Any) -> None:
    assert "transform of torch.func" in refusal(lambda: torch.vmap(kernel)(torch.ones(3, N)))
    assert "transform of torch.func" in refusal(
        lambda: torch.func.grad(lambda x: kernel(x).sum())(torch.ones(N))
    )


def test_a_gradient_through_a_kernel_is_an_error_and_values_are_right(kernel: Any) -> None:
    x = torch.ones(N, requires_grad=True)
    y = kernel(x)
    assert (y == 2).all()
    assert "has no gradient" in refusal(lambda: y.sum().backward())
    with torch.no_grad():
        assert not kernel(x).requires_grad


def test_a_function_of_its_own_gives_it_one(kernel: Any) -> None:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> Any:
            return kernel(x)

        @staticmethod
        def backward(ctx: Any, *gradient: torch.Tensor) -> Any:
            return gradient[0] * 2

    x = torch.ones(N, requires_grad=True)
    Doubled.apply(x).sum().backward()
    assert x.grad is not None and (x.grad == 2).all()


def test_views_with_another_sign_and_other_layouts(kernel: Any) -> None:
    kernel(torch.ones(N))
    assert "negated view" in refusal(lambda: kernel(torch._neg_view(torch.ones(N))))
    assert "layout sparse_coo" in refusal(lambda: kernel(torch.ones(N).to_sparse()))


def functional(plain: torch.Tensor) -> torch.Tensor:
    with FunctionalTensorMode():  # type: ignore[no-untyped-call]
        return FunctionalTensor.to_functional(plain)  # type: ignore[no-untyped-call]


def freed(plain: torch.Tensor) -> torch.Tensor:
    plain.untyped_storage().resize_(0)
    return plain


@pytest.mark.parametrize(
    "made, message",
    [
        (lambda t: t.to("meta"), "is a meta tensor"),
        (torch._to_functional_tensor, "without memory of its own"),
        (functional, "without memory of its own"),
        (lambda t: TwoTensor(t, t), "without memory of its own"),
        (freed, "without memory of its own"),
        (lambda t: torch.quantize_per_tensor(t, 0.1, 0, torch.qint8), "is a quantised tensor"),
        (lambda t: torch.nested.nested_tensor([t]), "is a nested tensor"),
        (lambda t: t.to_mkldnn(), "layout _mkldnn"),
        (lambda t: t.to(torch.complex64).conj(), "is a conjugate view"),
        (lambda t: t.to(torch.complex64).conj().imag, "is a negated view"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*quantize_per_tensor:UserWarning")
@pytest.mark.filterwarnings("ignore:.*nested tensors:UserWarning")
def test_tensors_without_values_of_their_own(kernel: Any, made: Any, message: str) -> None:
    """Each as the first call and as one that repeats another: an error at its argument."""
    for _ in range(2):
        with pytest.raises(CallError, match=message) as caught:
            kernel(made(torch.ones(N)))
        assert caught.value.slug == "call-tensor" and caught.value.hint
        assert caught.value.message.startswith("argument 1 `X` is ")
        assert (kernel(torch.ones(N)) == 2).all()


def test_arguments_by_name(kernel: Any) -> None:
    assert (kernel(X=torch.ones(N)) == 2).all()
    both = compile(doubled)
    y = torch.zeros(N)
    both(Y=y, X=torch.ones(N))
    assert (y == 2).all()
    assert refusal(lambda: kernel(Z=y)) == "kernel `doubled` has no parameter `Z`"
    assert "`Y` of kernel `doubled` is allocated" in refusal(lambda: kernel(y, Y=y))
    assert "given by position and by name" in refusal(lambda: kernel(y, X=y))
    assert "`X` not given" in refusal(lambda: both(Y=y))


def test_empty_tensors() -> None:
    rows = T.symbolic("rows")

    @T.prim_func
    def by_rows(X: T.Tensor((rows, N), "float32"), Y: T.Tensor((rows, N), "float32")):
        with T.Kernel(1, is_npu=True, threads=1) as (cid,):
            a = T.alloc_ub((N,), "float32")
            with T.Scope("V"):
                for i in range(rows):
                    T.copy(X[i, 0], a)
                    T.barrier_all()
                    T.copy(a, Y[i, 0])
                    T.barrier_all()

    kernel = compile(by_rows, out_idx=[1])
    assert kernel(torch.ones(0, N)).shape == (0, N)
    assert (kernel(torch.ones(3, N)) == 1).all()


def test_a_prim_func_that_is_missing_is_named() -> None:
    @jit(out_idx=[1])
    def bare(n: int) -> Any:
        def copied(X, Y):
            pass

        return copied

    @jit(out_idx=[1])
    def nothing(n: int) -> Any:
        pass

    with pytest.raises(KernelError) as caught:
        bare(N)
    assert caught.value.message == "expected a prim_func, found the function `copied`"
    assert caught.value.hint == "write @T.prim_func above `def copied`"
    with pytest.raises(KernelError, match="found NoneType") as caught:
        nothing(N)
    assert caught.value.hint is not None and "returns nothing" in caught.value.hint
    with pytest.raises(KernelError, match="`direct` has the parameters of a kernel"):

        @jit
        def direct(X: T.Tensor((N,), "float32")) -> None:
            pass


def test_float64_is_refused_where_it_is_declared() -> None:
    with pytest.raises(KernelError) as caught:

        @T.prim_func
        def wide(X: T.Tensor((N,), "float64")):
            pass

    assert caught.value.slug == "element-type"
    assert caught.value.message.startswith("float64 is no type of tensors and tiles")
