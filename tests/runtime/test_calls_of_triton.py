"""Calls and arguments in the form of Triton, outside kernels: what the error says."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime.jit_kernels.profiler import do_bench


def plain(N: int, size: int = 64) -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")) -> None:
        with T.Kernel(T.cdiv(N, size), threads=2) as cid:
            a = T.alloc_shared((size,), "float32")
            T.copy(A[cid * size], a)
            T.copy(a, B[cid * size])

    return kernel


factory = T.jit(plain, out_idx=[-1])


class Model:
    """Its method is a factory."""

    N = 64

    @T.jit
    def kernel(self) -> Any:
        return plain(self.N)


def tuned(*configs: Any, of: Any = factory, **more: Any) -> Any:
    return T.autotune(of, configs=list(configs), **more)


CALLS: dict[str, tuple[Callable[[], object], str]] = {
    "grid of a factory": (
        lambda: factory[(4,)](256),
        "`factory[...]`: a kernel is called without a grid",
    ),
    "grid of a tuned factory": (
        lambda: tuned({"size": 64})[(4,)](256),
        "a kernel is called without a grid",
    ),
    "key of autotune": (
        lambda: tuned({"size": 64}, key=["N"]),
        "T.autotune has no argument `key`\nhint: leave it out: each argument of the call",
    ),
    "warps of jit": (
        lambda: T.jit(num_warps=4)(plain),  # type: ignore[call-overload]
        "T.jit has no argument `num_warps`\nhint: leave it out",
    ),
    "a misspelt argument": (
        lambda: T.jit(out_id=[-1])(plain),  # type: ignore[call-overload]
        "T.jit has no argument `out_id`\nhint: did you mean `out_idx`?",
    ),
    "nothing to compile": (
        lambda: T.compile(),  # type: ignore[call-arg]
        "T.compile: missing a required argument: 'prim_func'",
    ),
    "a parameter that is none": (
        lambda: tuned({"rows": 64})(256),
        "a configuration names `rows`, which is no parameter of `plain`",
    ),
    "jit above autotune": (
        lambda: T.jit(tuned({"size": 64}, of=plain))(256),
        "write @T.autotune above @T.jit",
    ),
    "a factory to compile": (
        lambda: T.compile(factory),  # type: ignore[arg-type]
        "found the factory `plain`\nhint: it is under jit, which compiles: write plain(...)",
    ),
    "a tensor to time": (
        lambda: do_bench(torch.zeros(2)),  # type: ignore[arg-type]
        "do_bench times a function, found a Tensor",
    ),
    "a size in quotes": (lambda: factory("256"), "hint: write 256"),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    call, text = CALLS[name]
    with pytest.raises(KernelError) as error:
        call()
    assert text.replace("factory[", "plain[") in str(error.value)


@pytest.mark.parametrize(
    ("name", "text"), [("Config", "write a dict"), ("heuristics", "compute the value in the fac")]
)
def test_names(name: str, text: str) -> None:
    with pytest.raises(AttributeError, match=f"T.{name} does not exist: {text}"):
        getattr(T, name)


def test_factories_pickle_and_are_methods() -> None:
    assert pickle.loads(pickle.dumps(Model.kernel)) is Model.kernel
    assert Model().kernel.__self__.N == 64
    assert Model().kernel().prim_func.name == "kernel"


def test_members_that_a_factory_lacks() -> None:
    with pytest.raises(AttributeError, match="the factory `plain` has no `cache_size`"):
        print(factory.cache_size)  # type: ignore[attr-defined]
