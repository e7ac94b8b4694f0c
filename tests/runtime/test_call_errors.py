"""Every way a call can be wrong, with the exact text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from test_call_protocol import binder, func
from tile_ir import CallError, KernelError
from tile_runtime.launcher.signature import resolve_indices

A = "tensor $A : float32[%M, %N]"
B = "tensor $B : float16[%N, 4]"
N = "scalar %n : int32"
X = "scalar %x : float32"
a = torch.zeros(2, 3)
b = torch.zeros(3, 4, dtype=torch.float16)


class Elsewhere(torch.Tensor):
    """Says that it is on another device, of which this machine has none."""

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return torch.device("cuda")


def message(error: pytest.ExceptionInfo[KernelError]) -> tuple[str, str, str | None]:
    return error.value.slug, error.value.message, error.value.hint


@pytest.mark.parametrize(
    ("arguments", "slug", "text", "hint"),
    [
        pytest.param(
            (a,), "call-arity", "kernel `k` takes 4 arguments (A, B, n, x), found 1",
            "the runtime allocates `C` itself", id="too few",
        ),
        pytest.param(
            (a, 3, 1, 1.0), "call-type",
            "argument 2 `B` is an int, expected a tensor of float16 with shape (N, 4)", None,
            id="number for tensor",
        ),
        pytest.param(
            (a, b.numpy(), 1, 1.0), "call-type",
            "argument 2 `B` is an ndarray, expected a tensor of float16 with shape (N, 4)",
            "pass `torch.from_numpy(B)`",
            id="array for tensor",
        ),
        pytest.param(
            (a, None, 1, 1.0), "call-type",
            "argument 2 `B` is None, expected a tensor of float16 with shape (N, 4)", None,
            id="None for tensor",
        ),
        pytest.param(
            (a, b.float(), 1, 1.0), "call-dtype", "argument 2 `B` is float32, expected float16",
            "pass `B.to(torch.float16)`", id="dtype",
        ),
        pytest.param(
            (a[0], b, 1, 1.0), "call-rank", "argument 1 `A` has shape (3,), expected 2 dimensions",
            "`A` is declared with shape (M, N): reshape the argument", id="rank",
        ),
        pytest.param(
            (torch.zeros(3, 2).T, b, 1, 1.0), "call-contiguous",
            "argument 1 `A` is not contiguous: shape (2, 3), strides (1, 2)",
            "pass `A.contiguous()`", id="contiguity",
        ),
        pytest.param(
            (a.as_subclass(Elsewhere), b, 1, 1.0), "call-device",
            "argument 1 `A` is on cuda, but kernels run on the simulator, which needs cpu tensors",
            'pass `A.to("cpu")`', id="device",
        ),
        pytest.param(
            (a, b.as_subclass(Elsewhere), 1, 1.0), "call-device",
            "argument 2 `B` is on cuda, but `A` is on cpu", 'pass `B.to("cpu")`',
            id="second device",
        ),
        pytest.param(
            (a, b[:2], 1, 1.0), "call-symbol",
            "symbol `N` is 3 by dimension 1 of `A`, but 2 by dimension 0 of `B`",
            "both dimensions must be equal: `B` is declared with shape (N, 4)", id="symbol",
        ),
        pytest.param(
            (a, b, 1.5, 1.0), "call-type", "argument 3 `n` is a float, expected an int",
            "pass `int(n)`", id="float for int",
        ),
        pytest.param(
            (a, b, np.float32(1), 1.0), "call-type", "argument 3 `n` is a float32, expected an int",
            "pass `int(n)`", id="float of NumPy for int",
        ),
        pytest.param(
            (a, b, torch.tensor(3), 1.0), "call-type",
            "argument 3 `n` is a Tensor, expected an int", "pass `n.item()`", id="tensor for int",
        ),
        pytest.param(
            (a, b, 1, "2"), "call-type", "argument 4 `x` is a str, expected a float",
            "pass a number for `x`", id="text for float",
        ),
        pytest.param(
            (a, b, 2**31, 1.0), "call-range",
            "argument 3 `n` is 2147483648, which int32 can not hold",
            "`n` takes -2147483648 to 2147483647: declare it with a wider type", id="range",
        ),
    ],
)  # fmt: skip
def test_wrong_arguments(
    arguments: tuple[Any, ...], slug: str, text: str, hint: str | None
) -> None:
    bind = binder(func(A, B, N, X, "tensor $C : float32[%M]"), out=4).bind
    with pytest.raises(CallError) as error:
        bind(arguments)
    assert message(error) == (slug, text, hint)
    # A wrong call after a right one takes the other path and says the same.
    bind((a, b, 1, 1.0))
    with pytest.raises(CallError) as error:
        bind(arguments)
    assert message(error) == (slug, text, hint)


def test_the_error_shows_the_declaration() -> None:
    with pytest.raises(CallError) as error:
        binder(func(A)).bind((a.double(),))
    assert str(error.value) == (
        "k.py:2:5: error[call-dtype]: argument 1 `A` is float64, expected float32\n"
        "    A, B):\n"
        "    ^\n"
        "hint: pass `A.to(torch.float32)`"
    )


def test_a_symbol_without_a_value() -> None:
    bind = binder(func("tensor $A : float32[%M * %N]", "tensor $C : float32[%M, %N]"), out=1).bind
    with pytest.raises(CallError) as error:
        bind((torch.zeros(8),))
    assert message(error) == (
        "call-symbol",
        "symbol `M` has no value: it stands only in dimension 0 of `A` (M * N) and "
        "dimension 0 of `C` (M)",
        "a symbol gets its value from a dimension of an input tensor that is the symbol alone, or "
        "linear in it such as `M + 1`; else pass it as a scalar parameter",
    )


@pytest.mark.parametrize(
    ("declared", "sizes", "text"),
    [
        (("%M * 2 + 1",), (4,), "dimension 0 of `A` is 4, which is (M * 2) + 1 for no size `M`"),
        (("%M + 1",), (0,), "dimension 0 of `A` is 0, which is M + 1 for no size `M`"),
        (("%N", "%N * %M"), (3, 7), "dimension 1 of `A` is 7, which is N * M for no size `M`"),
        (("%M // 2 * 2",), (3,), "dimension 0 of `A` is 3, which is (M // 2) * 2 for no size `M`"),
    ],
)
def test_sizes_that_no_symbol_gives(
    declared: tuple[str, ...], sizes: tuple[int, ...], text: str
) -> None:
    bind = binder(func(f"tensor $A : float32[{', '.join(declared)}]")).bind
    with pytest.raises(CallError) as error:
        bind((torch.zeros(sizes),))
    assert message(error)[:2] == ("call-symbol", text)


def test_a_size_that_divides_by_zero() -> None:
    text = "the size 64 // N of `B` divides by 0, where N is 0"
    for outputs in ({}, {"out": 1}):
        bind = binder(func("tensor $A : float32[%N]", "tensor $B : float32[64 // %N]"), **outputs)
        with pytest.raises(CallError) as error:
            bind.bind((torch.zeros(0), torch.zeros(1))[: 2 - len(outputs)])
        assert message(error)[:2] == ("call-shape", text)


def test_sizes_of_two_tensors_that_do_not_agree() -> None:
    bind = binder(func("tensor $A : float32[%M + 1]", "tensor $B : float32[%M - 1]")).bind
    bind((torch.zeros(5), torch.zeros(3)))
    with pytest.raises(CallError) as error:
        bind((torch.zeros(5), torch.zeros(4)))
    assert message(error) == (
        "call-shape", "dimension 0 of argument 2 `B` is 4, expected 3 (M - 1)",
        "`B` is declared with shape (M - 1,), where M is 4 by dimension 0 of `A`",
    )  # fmt: skip


def test_a_negative_size() -> None:
    bind = binder(func("tensor $A : float32[%M]", "tensor $C : float32[%M - 4]"), out=1).bind
    with pytest.raises(CallError) as error:
        bind((torch.zeros(2),))
    assert message(error) == (
        "call-shape", "`C` with shape (M - 4,) would have shape (-2,)", "a size can not be negative"
    )  # fmt: skip


def test_a_call_that_differs_from_the_declaration() -> None:
    bind = binder(func(A, "tensor $B : float32[%M * 2, 16]")).bind
    right = (a, torch.zeros(4, 16))
    bind(right)
    with pytest.raises(CallError) as error:
        bind((*right, 1))
    assert message(error) == (
        "call-arity", "kernel `k` takes 2 arguments (A, B), found 3", None
    )  # fmt: skip
    with pytest.raises(CallError) as error:
        bind((a, torch.zeros(4, 8)))
    assert message(error) == (
        "call-shape", "dimension 1 of argument 2 `B` is 8, expected 16",
        "`B` is declared with shape (M * 2, 16)",
    )  # fmt: skip
    with pytest.raises(CallError) as error:
        bind((a, torch.zeros(3, 16)))
    assert error.value.message == "dimension 0 of argument 2 `B` is 3, expected 4 (M * 2)"


@pytest.mark.parametrize(
    ("indices", "text"),
    [
        (3, "out_idx 3: kernel `k` has 3 parameters"),
        (-4, "out_idx -4: kernel `k` has 3 parameters"),
        ([0, -3], "out_idx names parameter 0 of `k` twice"),
        (1, "out_idx 1 is the scalar `n`, expected a tensor"),
    ],
)
def test_wrong_output_positions(indices: int | list[int], text: str) -> None:
    with pytest.raises(KernelError) as error:
        resolve_indices(indices, 3, "out_idx", func(A, N, B))
    assert (error.value.slug, error.value.message) == ("out-index", text)
