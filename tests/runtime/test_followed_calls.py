"""Kernel objects called where torch follows what is computed, to differentiate it or to record it:
right or an error, the first time and as a call that is remembered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode

import tile_frontend as T
from doubling import N, doubled
from tile_ir import CallError, KernelWarning
from tile_ir.switches import override
from tile_runtime import compile

pytestmark = pytest.mark.usefixtures("quick_kernels")


@T.prim_func
def added(X: T.Tensor((N,), "float32"), Y: T.Tensor((N,), "float32")):
    with T.Kernel(1, is_npu=True, threads=1) as (cid,):
        a = T.alloc_ub((N,), "float32")
        b = T.alloc_ub((N,), "float32")
        with T.Scope("V"):
            T.copy(X, a)
            T.copy(Y, b)
            T.barrier_all()
            T.tile.add(b, a, b)
            T.barrier_all()
            T.copy(b, Y)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Kernels that have called already `times` times."""
    folder = str(tmp_path_factory.mktemp("kernels"))

    def made(func: Any, times: int, **options: Any) -> Any:
        with override(cache_dir=folder):
            kernel = compile(func, **options)
        for _ in range(times):
            kernel(*(torch.ones(N) for _ in range(2 - len(kernel.out_idx))))
        return kernel

    return made


@pytest.fixture(params=[0, 3], ids=["first", "remembered"])
def add(request: pytest.FixtureRequest, built: Callable[..., Any]) -> Any:
    """Adds its first argument to the second, in place."""
    return built(added, request.param)


@pytest.fixture(params=[0, 3], ids=["first", "remembered"])
def double(request: pytest.FixtureRequest, built: Callable[..., Any]) -> Any:
    return built(doubled, request.param, out_idx=[1])


def refusal(call: Any) -> CallError:
    with pytest.raises(CallError) as caught:
        call()
    assert caught.value.hint
    return caught.value


def wanting(*shape: int) -> torch.Tensor:
    return torch.ones(*shape, requires_grad=True)


def untracked_view() -> torch.Tensor:
    with torch.no_grad():
        return wanting(2, N)[0]


@pytest.mark.parametrize(
    "made",
    [
        lambda: (torch.ones(N), wanting(N)),
        lambda: (torch.ones(N), torch.nn.Parameter(torch.ones(N))),
        lambda: (torch.ones(N), wanting(N) * 1),
        lambda: (torch.ones(N), wanting(2, N)[0]),
        lambda: (torch.ones(N), untracked_view()),
        lambda: (wanting(N), torch.ones(N)),
    ],
    ids=["leaf", "parameter", "inner", "view", "view without grad", "read"],
)
def test_no_write_where_a_gradient_is_wanted(add: Any, made: Callable[[], Any]) -> None:
    x, y = made()
    error = refusal(lambda: add(x, y))
    assert error.slug == "no-gradient"
    name = "X" if x.requires_grad else "Y"
    assert error.message == (
        f"kernel `added` writes in place and has no gradient, but `{name}` requires one"
    )
    assert (y == 1).all(), "nothing was written"
    with torch.no_grad():
        assert add(x, y) == []
    add(x.detach(), y.detach())
    assert (y == 3).all()


def test_writes_without_a_gradient_are_made(add: Any) -> None:
    whole = torch.ones(2, N)
    for n in range(3):
        add(torch.ones(N), whole[0])
        assert (whole[0] == 2 + n).all() and (whole[1] == 1).all()
    with torch.inference_mode():
        inside = torch.ones(N)
        add(inside, inside)
    add(inside, inside)
    assert (inside == 4).all()


def test_a_write_is_seen_by_autograd(add: Any) -> None:
    """What was saved for a gradient and then written in place is noticed."""
    x = torch.ones(N)
    y = (wanting(N) * x).sum()
    version = x._version
    add(torch.ones(N), x)
    assert x._version > version
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_no_write_to_what_has_a_tangent(add: Any) -> None:
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(torch.ones(N), torch.ones(N))
        assert refusal(lambda: add(torch.ones(N), dual)).slug == "no-gradient"
        assert (dual == 1).all()


@pytest.mark.parametrize("how", [{}, {"pre_dispatch": True}, {"tracing_mode": "fake"}], ids=str)
def test_not_left_out_of_a_graph(add: Any, double: Any, how: dict[str, Any]) -> None:
    x, y = torch.ones(N), torch.ones(N)

    def written(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        add(x, y)
        return y * 2

    def captured(t: torch.Tensor) -> torch.Tensor:
        add(x, y)
        return t * 2

    calls: list[Any] = [
        lambda: make_fx(lambda t: double(t) + 1, **how)(x),
        lambda: make_fx(written, **how)(x, y),
        lambda: make_fx(captured, **how)(x),
    ]
    for call in calls:
        assert refusal(call).slug in ("call-inside", "call-tensor")
    assert (y == 1).all()
    assert (double(x) == 2).all()


def test_make_fx_is_named(double: Any) -> None:
    error = refusal(lambda: make_fx(double)(torch.ones(N)))
    assert error.slug == "call-inside"
    assert error.message == "kernel `doubled` is called inside make_fx, which sees operators only"


@pytest.mark.filterwarnings("ignore:.*torch.jit.trace:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:Converting a tensor")
def test_not_left_out_of_a_trace(double: Any) -> None:
    error = refusal(lambda: torch.jit.trace(lambda t: double(t) + 1, torch.ones(N)))
    assert "torch.jit.trace" in error.message


def test_no_write_while_there_are_only_shapes(add: Any) -> None:
    x, y = torch.ones(N), torch.ones(N)
    with FakeTensorMode():
        assert "inside FakeTensorMode" in refusal(lambda: add(x, y)).message
    assert (y == 1).all()


def test_modes_that_look_on_do_not_hinder(add: Any, double: Any) -> None:
    class LooksOn(TorchDispatchMode):
        def __torch_dispatch__(
            self, op: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return op(*args, **(kwargs or {}))

    y = torch.ones(N)
    with LooksOn():
        add(torch.ones(N), y)
        assert (double(y) == 4).all()


def test_transforms_of_torch_func(add: Any, double: Any) -> None:
    """What they follow is refused; what they do not is computed once, as by operators."""
    batch, x, y = torch.ones(3, N), torch.ones(N), torch.ones(N)

    def adds(t: torch.Tensor) -> torch.Tensor:
        add(x, t)
        return t.sum()

    for transform in (torch.vmap, torch.func.grad, torch.func.jacrev, torch.func.jacfwd):
        assert refusal(lambda t=transform: t(adds)(batch if t is torch.vmap else x))
        assert refusal(
            lambda t=transform: t(lambda v: double(v).sum())(batch if t is torch.vmap else x)
        )
    assert refusal(lambda: torch.func.functionalize(adds)(y))
    assert refusal(lambda: torch.func.jvp(adds, (y,), (y,)))
    assert (x == 1).all() and (y == 1).all() and (batch == 1).all()
    assert (torch.vmap(lambda t: t + double(x))(batch) == 3).all()

    def aside(t: torch.Tensor) -> torch.Tensor:
        add(x, y)
        return (t * y).sum()

    assert (torch.vmap(aside)(batch) == 2 * N).all() and (y == 2).all()
    assert (torch.func.grad(aside)(x) == 3).all()


def test_lax_calls_write_beside_gradients(built: Callable[..., Any]) -> None:
    """As scripts for GPUs call kernels: what is written is no part of the graph."""
    x, y = wanting(N), torch.ones(N)
    with override(lax_calls=True), pytest.warns(KernelWarning, match="no-gradient"):
        built(added, 0)(x, y)
    assert (y == 2).all() and not y.requires_grad


@pytest.mark.filterwarnings("ignore:.*Dynamo:UserWarning")
def test_dynamo_runs_them_between_graphs(add: Any, double: Any) -> None:
    @torch.compile(backend="aot_eager")
    def both(t: torch.Tensor) -> torch.Tensor:
        y = t + 1
        add(double(y) * 2, y)
        return y + 1

    for n in range(3):
        assert (both(torch.full((N,), float(n))) == 5 * (n + 1) + 1).all()
    assert refusal(lambda: both(wanting(N))).slug == "no-gradient"
    x = wanting(N)
    compiled = torch.compile(lambda t: double(t + 1) * 2, backend="aot_eager")
    assert refusal(lambda: compiled(x).sum().backward()).slug == "no-gradient"
