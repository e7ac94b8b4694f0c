"""Kernels as operators of torch: traced, exported, differentiated and mapped over batches."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch
from forked_python import run_python
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad

import tile_frontend as T
from tile_ir import CallError, KernelError, print_func
from tile_ir.switches import override
from tile_runtime import compile

N = 64
AUTO = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
M = T.symbolic("M")


@T.prim_func
def product(
    X: T.Tensor((M, N), "float32"), W: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")
):
    with T.Kernel(1, is_npu=True, threads=1) as (cid,):
        x = T.alloc_shared((N,), "float32")
        w = T.alloc_shared((N,), "float32")
        for i in T.serial(M):
            T.copy(X[i, 0], x)
            T.copy(W[i, 0], w)
            for j in T.Parallel(N):
                x[j] = x[j] * w[j]
            T.copy(x, Y[i, 0])


@T.prim_func
def product_backward(
    dY: T.Tensor((M, N), "float32"),
    X: T.Tensor((M, N), "float32"),
    W: T.Tensor((M, N), "float32"),
    dX: T.Tensor((M, N), "float32"),
    dW: T.Tensor((M, N), "float32"),
):
    with T.Kernel(1, is_npu=True, threads=1) as (cid,):
        x = T.alloc_shared((N,), "float32")
        w = T.alloc_shared((N,), "float32")
        g = T.alloc_shared((N,), "float32")
        for i in T.serial(M):
            T.copy(X[i, 0], x)
            T.copy(W[i, 0], w)
            T.copy(dY[i, 0], g)
            for j in T.Parallel(N):
                w[j] = w[j] * g[j]
                x[j] = x[j] * g[j]
            T.copy(w, dX[i, 0])
            T.copy(x, dW[i, 0])


@T.prim_func
def rms_norm(
    X: T.Tensor((M, N), "float32"), eps: T.float32, Y: T.Tensor((M, N), "float32"),
    scales: T.Tensor((M * 8,), "float32"),
):  # fmt: skip
    with T.Kernel(1, is_npu=True, threads=1) as (cid,):
        x = T.alloc_shared((1, N), "float32")
        square = T.alloc_shared((1, N), "float32")
        scale = T.alloc_shared((8,), "float32")
        for i in T.serial(M):
            T.copy(X[i, 0], x)
            for j in T.Parallel(N):
                square[0, j] = x[0, j] * x[0, j]
            T.reduce_sum(square, scale[0:1], dim=1)
            factor = 1 / T.sqrt(scale[0] / N + eps)
            T.tile.fill(scale, factor)
            for j in T.Parallel(N):
                x[0, j] = x[0, j] * scale[0]
            T.copy(x, Y[i, 0])
            T.copy(scale, scales[i * 8])


@T.prim_func
def add_to(Y: T.Tensor((M, N), "float32"), X: T.Tensor((M, N), "float32")):
    with T.Kernel(1, is_npu=True, threads=1) as (cid,):
        x = T.alloc_shared((N,), "float32")
        y = T.alloc_shared((N,), "float32")
        for i in T.serial(M):
            T.copy(X[i, 0], x)
            T.copy(Y[i, 0], y)
            for j in T.Parallel(N):
                y[j] = y[j] + x[j]
            T.copy(y, Y[i, 0])


NAMES = (f"tile_test::op{n}" for n in count())


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Kernels of this file, built once."""
    folder = str(tmp_path_factory.mktemp("kernels"))
    kernels: dict[str, Any] = {}

    def make(func: Any, *out_idx: int) -> Any:
        if func.name not in kernels:
            with override(cache_dir=folder, prove=True):
                kernels[func.name] = compile(func, list(out_idx) or None, pass_configs=AUTO)
        return kernels[func.name]

    return make


@pytest.fixture(scope="module")
def multiply(built: Callable[..., Any]) -> Any:
    """X * W with its gradient."""
    backward = built(product_backward, 3, 4)
    return built(product, 2).as_custom_op("tile_test::multiply", backward=backward)


@pytest.fixture(scope="module")
def normalise(built: Callable[..., Any]) -> Any:
    """Two outputs, a scalar, no gradient."""
    return built(rms_norm, 2, 3).as_custom_op("tile_test::normalise")


@pytest.fixture(scope="module")
def accumulate(built: Callable[..., Any]) -> Any:
    """Y += X."""
    return built(add_to).as_custom_op("tile_test::accumulate", mutates=["Y"])


@pytest.fixture(autouse=True)
def _fresh_compiler() -> Iterator[None]:
    torch._dynamo.reset()
    yield


def compile_counter() -> Any:
    """A backend of torch.compile that counts graphs."""
    from torch._dynamo.testing import CompileCounter  # a second, for who collects this

    return CompileCounter()


def rows(n: int, **options: Any) -> torch.Tensor:
    return torch.arange(n * N, dtype=torch.float32).reshape(n, N).sin().requires_grad_(**options)


def plain(n: int) -> torch.Tensor:
    return rows(n, requires_grad=False)


def refusal(call: Callable[[], Any]) -> KernelError:
    with pytest.raises(KernelError) as caught:
        call()
    return caught.value


def test_schemas_follow_the_signature(multiply: Any, normalise: Any, accumulate: Any) -> None:
    assert str(multiply._schema) == "tile_test::multiply(Tensor X, Tensor W) -> Tensor"
    assert str(normalise._schema) == (
        "tile_test::normalise(Tensor X, float eps) -> (Tensor, Tensor)"
    )
    assert str(accumulate._schema) == "tile_test::accumulate(Tensor(a0!) Y, Tensor X) -> ()"


def test_opcheck(multiply: Any, normalise: Any, accumulate: Any) -> None:
    for n in (1, 3):
        torch.library.opcheck(multiply, (plain(n), plain(n)))
        torch.library.opcheck(normalise, (plain(n), 1e-5))
        torch.library.opcheck(accumulate, (plain(n), plain(n)))
    torch.library.opcheck(multiply, (rows(2), rows(2)))


@pytest.mark.filterwarnings("ignore:Input #:UserWarning")
def test_gradcheck(multiply: Any) -> None:
    """Kernels have no float64; of a product the differences are exact but for rounding."""
    torch.autograd.gradcheck(
        multiply, (rows(1), rows(1)), eps=1e-2, atol=1e-3, rtol=1e-3, check_batched_grad=True
    )


def test_gradients_are_those_of_torch(multiply: Any) -> None:
    x, w = rows(3), rows(3)
    (multiply(x, w) * w).sum().backward()
    a, b = rows(3), rows(3)
    (a * b * b).sum().backward()
    torch.testing.assert_close((x.grad, w.grad), (a.grad, b.grad))
    found = torch.func.grad(lambda t: multiply(t, t).sum())(x.detach())
    torch.testing.assert_close(found, 2 * x.detach())
    batch = torch.stack([plain(2), plain(2).cos()])
    found = torch.vmap(torch.func.grad(lambda t: multiply(t, t).sum()))(batch)
    torch.testing.assert_close(found, 2 * batch)


def test_two_operators_in_one_graph_and_one_compilation_for_all_sizes(
    multiply: Any, normalise: Any
) -> None:
    counter = compile_counter()

    @torch.compile(fullgraph=True, dynamic=True, backend=counter)
    def layer(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        normal: torch.Tensor = normalise(x, 1e-5)[0]
        return multiply(normal, w) + 1

    for n in (2, 3, 5, 8):
        x, w = plain(n), plain(n).cos()
        expected = torch.nn.functional.rms_norm(x, (N,), eps=1e-5) * w + 1
        torch.testing.assert_close(layer(x, w), expected, rtol=1e-4, atol=1e-5)
    assert counter.frame_count == 1


def test_gradients_and_writes_through_the_compiler(multiply: Any, accumulate: Any) -> None:
    @torch.compile(fullgraph=True, dynamic=True, backend="aot_eager")
    def squared(x: torch.Tensor) -> torch.Tensor:
        return multiply(x, x) * 2  # type: ignore[no-any-return]

    @torch.compile(fullgraph=True, dynamic=True, backend="aot_eager")
    def added(y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        total = y * 1
        accumulate(total, x)
        accumulate(y, x)
        return total

    for n in (2, 3):
        x = rows(n)
        squared(x).sum().backward()
        torch.testing.assert_close(x.grad, 4 * x.detach())
        y = torch.ones(n, N)
        torch.testing.assert_close(added(y, plain(n)), 1 + plain(n))
        torch.testing.assert_close(y, 1 + plain(n))


def test_export(multiply: Any, normalise: Any) -> None:
    class Layer(torch.nn.Module):
        def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            return multiply(normalise(x, 1e-5)[0], w)  # type: ignore[no-any-return]

    size = torch.export.Dim("size", min=2)
    program = torch.export.export(
        Layer(), (plain(3), plain(3)), dynamic_shapes={"x": {0: size}, "w": {0: size}}
    )
    names = [str(node.target) for node in program.graph.nodes]
    assert "tile_test.multiply.default" in names and "tile_test.normalise.default" in names
    x, w = plain(7), plain(7).cos()
    torch.testing.assert_close(program.module()(x, w), Layer()(x, w))


def test_fake_and_meta_tensors_give_shapes(normalise: Any) -> None:
    with FakeTensorMode() as mode:
        found = normalise(mode.from_tensor(plain(3)), 1e-5)
    assert [tuple(t.shape) for t in found] == [(3, N), (24,)]
    assert [t.dtype for t in found] == [torch.float32] * 2
    meta = normalise(plain(5).to("meta"), 1e-5)
    assert [t.device.type for t in meta] == ["meta"] * 2 and meta[1].shape == (40,)
    wrong = mode.from_tensor(torch.ones(3, N + 1))
    assert refusal(lambda: normalise(wrong, 1e-5)).slug == "call-shape"
    wrong = mode.from_tensor(plain(3).half())
    assert refusal(lambda: normalise(wrong, 1e-5)).slug == "call-dtype"


def test_maps_over_batches(multiply: Any, normalise: Any, accumulate: Any) -> None:
    x, w = torch.randn(2, 3, N), torch.randn(3, N)
    torch.testing.assert_close(torch.vmap(multiply, (0, None))(x, w), x * w)
    torch.testing.assert_close(torch.vmap(multiply, (1, None))(x.movedim(0, 1), w), x * w)
    y, scales = torch.vmap(lambda t: normalise(t, 1e-5))(x)
    assert y.shape == (2, 3, N) and scales.shape == (2, 24)
    torch.testing.assert_close(y[1], normalise(x[1], 1e-5)[0])
    into = torch.zeros(2, N, 3).mT
    torch.vmap(lambda a, b: (accumulate(a, b), a)[1])(into, x)
    torch.testing.assert_close(into, x)
    error = refusal(lambda: torch.vmap(lambda b: (accumulate(w, b), b)[1])(x))
    assert error.slug == "operator-vmap" and error.hint
    error = refusal(lambda: torch.vmap(multiply, (0, None))(x[:0], w))
    assert error.slug == "operator-vmap" and "without members" in error.message


def test_other_strides_and_signs(multiply: Any, accumulate: Any) -> None:
    """Operators copy what a kernel would refuse: gradients are often expanded or transposed."""
    wide, x = torch.randn(N, 3), torch.randn(3, N)
    torch.testing.assert_close(multiply(wide.T, x.new_tensor(2.0).expand(3, N)), 2 * wide.T)
    torch.testing.assert_close(multiply(torch._neg_view(x), x), -x * x)
    before = wide.clone()
    accumulate(wide.T, x)
    torch.testing.assert_close(wide.T, before.T + x)
    negative = torch._neg_view(x.clone())
    accumulate(negative, x)
    assert not negative.any()
    assert "sparse_coo" in refusal(lambda: multiply(x.to_sparse(), x)).message


def test_a_write_is_seen_by_autograd(accumulate: Any) -> None:
    """What was saved for a gradient and then written in place is noticed."""
    x, w = plain(2), rows(2)
    y = (w * x).sum()
    accumulate(x, plain(2))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
def test_no_silent_tangent(built: Callable[..., Any], multiply: Any, accumulate: Any) -> None:
    """Forward mode and second derivatives, of which nobody told the operators."""
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(plain(2), plain(2))
        for call in (multiply, accumulate, built(product, 2)):
            assert refusal(lambda call=call: call(dual, plain(2))).slug == "no-gradient"
        assert multiply(plain(2), plain(2)).shape == (2, N)
    x = rows(2)
    (once,) = torch.autograd.grad(multiply(x, x).sum(), x, create_graph=True)
    assert refusal(lambda: once.sum().backward()).slug == "no-gradient"


def test_no_silent_gradient(normalise: Any, accumulate: Any) -> None:
    y, _ = normalise(rows(2), 1e-5)
    assert refusal(lambda: y.sum().backward()).slug == "no-gradient"
    for arguments in [(rows(2) * 1, plain(2)), (plain(2), rows(2))]:
        error = refusal(lambda given=arguments: accumulate(*given))
        assert error.slug == "no-gradient" and "requires one" in error.message
        with torch.no_grad():
            accumulate(*arguments)


def test_a_function_as_backward(built: Callable[..., Any], multiply: Any) -> None:
    op = built(product, 2).as_custom_op(
        next(NAMES), backward=lambda g, x, w: (multiply(g, w), None)
    )
    x, w = rows(2), rows(2)
    op(x, w).sum().backward()
    torch.testing.assert_close(x.grad, w.detach())
    assert w.grad is None
    short = built(product, 2).as_custom_op(next(NAMES), backward=lambda g, x, w: g)
    error = refusal(lambda: short(x, w).sum().backward())
    assert error.slug == "operator-backward" and "1 gradients for 2" in error.message


def test_registrations_that_are_wrong(built: Callable[..., Any], multiply: Any) -> None:
    kernel, writer = built(product, 2), built(add_to)
    again = refusal(lambda: kernel.as_custom_op("tile_test::multiply"))
    assert again.slug == "operator-name" and "registered already" in again.message
    assert refusal(lambda: kernel.as_custom_op("multiply")).slug == "operator-name"
    name = next(NAMES)
    error = refusal(lambda: writer.as_custom_op(name, mutates=[]))
    assert error.slug == "operator-mutates" and "the kernel writes `Y`" in error.message
    error = refusal(lambda: writer.as_custom_op(name, mutates=["Y", "Z"]))
    assert error.slug == "operator-mutates" and "names `Z`" in error.message
    error = refusal(lambda: writer.as_custom_op(name, backward=lambda *a: a))
    assert error.slug == "operator-backward" and "in place" in error.message
    error = refusal(lambda: kernel.as_custom_op(name, backward=kernel))
    assert "expected 3 (the gradient of Y, X, W)" in error.message
    assert not hasattr(torch.ops.tile_test, name.split("::")[1]), "nothing was registered"


def test_kernels_are_copied_and_pickled_by_what_they_are_made_of(
    built: Callable[..., Any],
) -> None:
    kernel = built(rms_norm, 2, 3)
    expected = kernel(plain(3), 1e-5)
    kernel.latency = 1.5
    saved = pickle.dumps(kernel)
    assert str(Path(kernel.libpath).parent).encode() not in saved
    with override(cache_dir=str(Path(kernel.libpath).parents[2])):
        for again in (copy.deepcopy(kernel), copy.copy(kernel), pickle.loads(saved)):
            assert again is not kernel and again.latency == 1.5
            assert print_func(again.prim_func) == print_func(kernel.prim_func) and again.cached
            assert (again.out_idx, again.target) == (kernel.out_idx, kernel.target)
            torch.testing.assert_close(again(plain(3), 1e-5), expected, rtol=0, atol=0)
            with pytest.raises(CallError, match=r"test_custom_op.py:\d+:\d+: .*\n +X: T.Tensor"):
                again(torch.ones(3, N + 1), 1e-5)
    done = run_python(["-c", f"import pickle; print(*pickle.loads({saved!r}).out_idx)"])
    assert done.stdout.split() == ["2", "3"], done.stderr
    module = torch.nn.Module()
    module.kernel = kernel
    assert copy.deepcopy(module).kernel.get_kernel_source() == kernel.get_kernel_source()


def test_a_kernel_that_is_no_operator_runs_between_graphs() -> None:
    kernel = compile(product, out_idx=[2], pass_configs=AUTO)
    x, w = torch.randn(3, N), torch.randn(3, N)
    counter = compile_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        between = torch.compile(lambda a, b: kernel(a * 2, b) + 1, backend=counter)
        assert torch.equal(between(x, w), kernel(x * 2, w) + 1)
    assert counter.frame_count == 2
    with pytest.raises(Exception, match="kernel.as_custom_op"):
        torch.compile(lambda a, b: kernel(a, b), backend=counter, fullgraph=True)(x, w)
