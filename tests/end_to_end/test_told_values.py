"""`T.print`, `T.device_assert` and `T.assume`: what a kernel tells while it runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
import tile_ir
from tile_ir import KernelError
from tile_ir.interpreter import InterpretError
from tile_runtime import PassConfigKey, compile
from tile_runtime.simulator.simulation_error import SimulationError

pytestmark = pytest.mark.usefixtures("strict")

AUTOMATIC = {PassConfigKey.TL_ASCEND_AUTO_SYNC: True}


def telling() -> Any:
    @T.prim_func
    def k(X: T.Tensor((2, 16), "float32"), n: T.int64):
        with T.Kernel(1, threads=1) as cid, T.Scope("V"):
            x = T.alloc_ub((2, 16), "float32")
            T.copy(X, x)
            T.print("100% here")
            T.print(7, msg="seven")
            T.print(n, "n")
            T.print(x[1, 2])
            T.print(x[1, 2] > 0.5, msg="above")
            T.print(x[1, 0:3], msg="some")
            T.print(x)
            T.assume(n > 0)
            T.device_assert(n == 5, "n is 5")
            T.device_assert(x[0, 1] == 1.0)

    return k


def test_values_and_buffers(capfd: pytest.CaptureFixture[str]) -> None:
    x = torch.arange(32.0).reshape(2, 16)
    compile(telling(), pass_configs=AUTOMATIC)(x, 5)
    printed = capfd.readouterr().out
    for line in ("100% here", "seven: 7", "n: 5", "18.000000", "above: 1", "some:", "x:"):
        assert f"{line}\n" in printed, printed
    assert "3 elements: [16.000000, 17.000000, 18.000000]" in printed
    assert "32 elements: [0.000000" in printed
    own = tile_ir.interpret(telling(), [x.numpy().copy(), 5])
    assert "seven: 7\nn: 5\n" in own and "[16.0, 17.0, 18.0]" in own


def checking(message: str = "") -> Any:
    @T.prim_func
    def k(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(2, threads=1) as cid:
            x = T.alloc_ub((32,), "float32")
            T.copy(X[cid * 32], x)
            T.device_assert(x[3] < 1.0, message)
            T.copy(x, Y[cid * 32])

    return k


@pytest.mark.parametrize("message", ["", "100% too large"])
def test_an_assertion_that_fails_is_an_error_at_its_line(message: str) -> None:
    x = torch.zeros(64)
    kernel = compile(checking(message), out_idx=[-1], pass_configs=AUTOMATIC)
    np.testing.assert_array_equal(kernel(x), x)
    x[35] = 2.0
    with pytest.raises(SimulationError) as caught:
        kernel(x)
    assert caught.value.loc is not None and "device_assert" in str(caught.value)
    assert message in str(caught.value)
    with pytest.raises(InterpretError) as own:
        tile_ir.interpret(checking(message), [x.numpy(), np.zeros(64, np.float32)])
    assert own.value.slug == "assertion" and message in own.value.message


@pytest.mark.parametrize(
    ("call", "slug"),
    [
        (lambda x, n: T.print(None), "operand-kind"),
        (lambda x, n: T.print(n, msg=3), "printf-format"),
        (lambda x, n: T.assume(x), "operand-kind"),
        (lambda x, n: T.assume(1 > 2), "operand-kind"),
        (lambda x, n: T.device_assert(x), "operand-kind"),
        (lambda x, n: T.device_assert(n > 1, n), "attribute-type"),
    ],
)
def test_what_cannot_be_told(call: Any, slug: str) -> None:
    def k(X: T.Tensor((64,), "float32"), n: T.int32):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((64,), "float32")
            call(x, n)

    with pytest.raises(KernelError) as caught:
        T.prim_func(k)
    assert caught.value.slug == slug and caught.value.loc is not None
