"""Integer divisions that have no value: an error at their line, and the process lives."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import Automatic, KernelError, interpret
from tile_ir.interpreter.run import InterpretError
from tile_runtime.simulator.simulation_error import SimulationError

from .kernel_batch import lower

CONFIGS = {"tl.ascend_auto_sync": True}
LEAST = -(2**31)
FORMULAS = {"quotient": lambda a, b: a // b, "rest": lambda a, b: a % b, "up": T.ceildiv}


def elements(formula: Any, loop: Any = T.serial, dtype: str = "int32") -> Any:
    @T.prim_func
    def k(
        X: T.Tensor((8,), dtype), Y: T.Tensor((8,), dtype), Z: T.Tensor((8,), dtype), n: T.int32
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(8, n), threads=1):
            x = T.alloc_shared((8,), dtype)
            y = T.alloc_shared((8,), dtype)
            z = T.alloc_shared((8,), dtype)
            T.copy(X, x)
            T.copy(Y, y)
            for i in loop(8):
                z[i] = formula(x[i], y[i])
            T.copy(z, Z)

    return k


def run(kernel: Any, x: list[int], y: list[int], dtype: str = "int32", n: int = 8) -> list[int]:
    f = T.jit(out_idx=[2], pass_configs=CONFIGS)(lambda: kernel)()
    kind = getattr(torch, dtype)
    return list(f(torch.tensor(x, dtype=kind), torch.tensor(y, dtype=kind), n).tolist())


@pytest.mark.parametrize("loop", [T.serial, T.Parallel], ids=["serial", "parallel"])
@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
def test_a_divisor_of_zero_is_told_at_its_line(name: str, loop: Any, dtype: str) -> None:
    kernel = elements(FORMULAS[name], loop, dtype)
    with pytest.raises(SimulationError) as caught:
        run(kernel, [9] * 8, [1, 2, 3, 0, 5, 6, 7, 8], dtype)
    assert caught.value.fault.kind == "division-by-zero"
    assert caught.value.loc is not None and "z[i] = formula" in str(caught.value)
    assert caught.value.hint is not None and "T.if_then_else(b == 0, 1, b)" in caught.value.hint
    assert run(kernel, [9] * 8, [1, 2, 3, 4, 5, 6, 7, 8], dtype)[:3] == [
        int(FORMULAS[name](9, d)) for d in (1, 2, 3)
    ]


def test_the_smallest_integer_by_minus_one() -> None:
    with pytest.raises(SimulationError, match="divided by -1"):
        run(elements(FORMULAS["quotient"]), [LEAST] * 8, [-1] * 8)
    assert run(elements(FORMULAS["rest"]), [LEAST] * 8, [-1] * 8) == [0] * 8
    assert (
        run(elements(FORMULAS["quotient"], dtype="int8"), [-128] * 8, [-1] * 8, "int8")
        == [-128] * 8
    )


def test_a_grid_that_divides_by_an_argument() -> None:
    kernel = elements(FORMULAS["quotient"])
    with pytest.raises(SimulationError, match="division") as caught:
        run(kernel, [9] * 8, [3] * 8, n=0)
    assert "T.Kernel" in str(caught.value)
    assert run(kernel, [9] * 8, [3] * 8) == [3] * 8


@pytest.mark.parametrize("name", ["quotient", "rest", "up"])
def test_a_constant_divisor_of_zero_is_refused(name: str) -> None:
    with pytest.raises(KernelError) as caught:
        elements(lambda a, b: FORMULAS[name](a, 0))
    assert caught.value.slug == "division-by-zero"


def test_a_division_that_does_not_run_is_none() -> None:
    def guarded(a: Any, b: Any) -> Any:
        return T.if_then_else(b == 0, -1, a // T.if_then_else(b == 0, 1, b))

    assert run(elements(guarded), [9] * 8, [0, 1, 2, 3, 4, 5, 6, 7]) == [-1, 9, 4, 3, 2, 1, 1, 1]


def test_the_interpreter_tells_it() -> None:
    func = lower(elements(FORMULAS["quotient"]), False, (Automatic.SYNC, Automatic.MEMORY))
    arrays = [torch.zeros(8, dtype=torch.int32).numpy() for _ in range(3)]
    with pytest.raises(InterpretError) as caught:
        interpret(func, [*arrays, 8])
    assert caught.value.slug == "division-by-zero"
