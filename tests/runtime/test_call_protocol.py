"""How arguments become a launch (docs/language/index.md#arguments), without compiling anything."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
import pytest
import torch

from hand_written import func_of
from tile_ir import CallError, Func
from tile_ir.switches import override
from tile_runtime.launcher.bind_arguments import ArgumentBinder
from tile_runtime.launcher.signature import Signature, evaluate, resolve_indices, signature_of

TEXT = """file 0 "k.py"
func "k" phase built @0:1:1 {{
{params}
  launch blocks(1) %cid %vid threads any @0:8:5 {{
  }}
}}
"""


def func(*params: str) -> Func:
    lines = "\n".join(f"  {p}" + (" @0:2:5" if p.startswith("tensor") else "") for p in params)
    return func_of(TEXT.format(params=lines), k="def k(\n    A, B):\n    pass\n")


def binder(f: Func, out: int | list[int] | None = None, work: int | list[int] | None = None,
           declared: int | None = None) -> ArgumentBinder:  # fmt: skip
    count = len(f.params) if declared is None else declared
    return ArgumentBinder(
        signature_of(f, count),
        resolve_indices(out, count, "out_idx", f),
        resolve_indices(work, count, "workspace_idx", f),
        "cpu",
        f,
    )


A = "tensor $A : float32[%M, %N]"
B = "tensor $B : float16[%N]"


def test_values_are_pointers_scalars_then_symbols() -> None:
    a, b = torch.zeros(4, 8), torch.zeros(8, dtype=torch.float16)
    call = binder(func(A, "scalar %n : int32", B, "scalar %x : float32")).bind((a, 3, b, 2))
    assert call.values == (a.data_ptr(), 3, b.data_ptr(), 2.0, 4, 8)
    assert isinstance(call.values[3], float)
    assert call.sizes == (128, 0, 16, 0, 0, 0)
    assert call.outputs == []


def test_inputs_fill_what_is_neither_output_nor_workspace() -> None:
    f = func("tensor $C : float32[%M]", A, "tensor $W : int8[%N * 2]", B)
    a, b = torch.zeros(4, 8), torch.zeros(8, dtype=torch.float16)
    call = binder(f, out=0, work=2).bind((a, b))
    (c,) = call.outputs
    assert c.shape == (4,) and c.dtype is torch.float32
    assert call.values[0] == c.data_ptr() and call.values[1] == a.data_ptr()
    assert call.sizes[:4] == (16, 128, 16, 16)
    assert [t.dtype for t in call.keep] == [torch.float32, torch.int8]


def test_workspaces_the_compiler_adds_are_allocated() -> None:
    f = func("tensor $A : float32[%M]", "tensor $C : float32[%M]", "tensor $w : float16[3, %M]")
    call = binder(f, out=-1, declared=2).bind((torch.zeros(5),))
    assert call.outputs[0].shape == (5,)
    assert [tuple(t.shape) for t in call.keep] == [(5,), (3, 5)]


def test_outputs_come_in_the_order_of_out_idx() -> None:
    f = func("tensor $X : int32[2]", "tensor $Y : int32[3]", "tensor $Z : int32[4]")
    call = binder(f, out=[2, 0]).bind((torch.zeros(3, dtype=torch.int32),))
    assert [tuple(t.shape) for t in call.outputs] == [(4,), (2,)]
    assert call.values[2] == call.outputs[0].data_ptr()


def test_negative_positions_count_from_the_end() -> None:
    f = func("tensor $X : int32[2]", "tensor $Y : int32[3]", "tensor $Z : int32[4]")
    assert resolve_indices(-1, 3, "out_idx", f) == (2,)
    assert resolve_indices([-3, 1], 3, "out_idx", f) == (0, 1)
    assert resolve_indices(None, 3, "out_idx", f) == () == resolve_indices([], 3, "out_idx", f)


def test_lax_calls_ignore_surplus_arguments() -> None:
    bind = binder(func("tensor $A : float32[%M]")).bind
    a = torch.zeros(4)
    with override(lax_calls=True):
        assert bind((a, torch.zeros(9), "x")).values == bind((a,)).values
    with pytest.raises(CallError):
        bind((a, torch.zeros(9), "x"))


def test_shapes_of_outputs_are_expressions_of_symbols_and_scalars() -> None:
    f = func("tensor $A : float32[%M]", "scalar %k : int32",
             "tensor $C : float32[(%M + 15) // 16, min(%M, %k)]")  # fmt: skip
    bind = binder(f, out=2).bind
    assert bind((torch.zeros(33), 7)).outputs[0].shape == (3, 7)
    assert bind((torch.zeros(33), 40)).outputs[0].shape == (3, 33)  # same shapes, other scalar
    assert bind((torch.zeros(5), 40)).outputs[0].shape == (1, 5)


def test_repeated_calls_give_what_first_calls_give() -> None:
    f = func(A, "tensor $C : float32[%N, %M]", "scalar %x : float32")
    bind = binder(f, out=1).bind
    for m, n in ((4, 8), (4, 8), (2, 16), (4, 8)):
        a = torch.zeros(m, n)
        call, again = bind((a, 1)), bind((a, 2.5))
        assert call.outputs[0].shape == again.outputs[0].shape == (n, m)
        assert call.values[3:] == (m, n) or call.values[2:] == (1.0, m, n)
        assert again.values[2] == 2.5
        assert call.sizes == again.sizes
        assert call.outputs[0].data_ptr() != again.outputs[0].data_ptr()


def test_empty_tensors_and_no_tensors() -> None:
    call = binder(func("tensor $A : float32[%M]")).bind((torch.zeros(0),))
    assert call.values[-1] == 0 and call.sizes[0] == 0
    call = binder(func("tensor $C : float32[4]"), out=0).bind(())
    assert call.outputs[0].device.type == "cpu"


def test_lax_calls_accept_any_size() -> None:
    bind = binder(func("tensor $A : float32[16]")).bind
    larger = torch.zeros(32)
    with override(lax_calls=True):
        assert bind((larger,)).sizes == (128,)
        assert bind((torch.zeros(16),)).sizes == (64,)
    with pytest.raises(CallError):
        bind((larger,))
    with override(lax_calls=True):
        assert bind((larger,)).sizes == (128,)


def test_lax_calls_accept_any_rank_and_the_first_size_of_a_symbol_counts() -> None:
    bind = binder(func("tensor $A : float32[%M, 4]", "tensor $B : float32[%M]")).bind
    with override(lax_calls=True):
        flat = bind((torch.zeros(12), torch.zeros(3)))
        assert flat.values[2:] == (12,) and flat.sizes == (48, 12, 0)
        assert bind((torch.zeros(2, 4, 4), torch.zeros(3, 5))).values[2:] == (2,)
        with pytest.raises(CallError, match="symbol `M` has no value"):
            bind((torch.tensor(1.0), torch.tensor(1.0)))
    with pytest.raises(CallError):
        bind((torch.zeros(12), torch.zeros(3)))


def test_views_parameters_and_numpy_scalars_are_accepted() -> None:
    bind = binder(func("tensor $A : float32[%M]", "scalar %n : int64", "scalar %b : bool")).bind
    whole = torch.zeros(10)
    assert bind((whole[2:6], np.int64(5), True)).values == (whole.data_ptr() + 8, 5, 1, 4)
    parameter = torch.nn.Parameter(torch.zeros(3))
    assert bind((parameter, 1, False)).values[0] == parameter.data_ptr()


@pytest.mark.parametrize(
    ("dim", "size", "value"),
    [
        ("%M + 1", 4, 3), ("%M * 2 + 1", 7, 3), ("5 - %M", 2, 3), ("(%M - 2) * 4", 4, 3),
        ("%M + %M", 6, 3), ("%M * %k", 12, 3), ("%M + 1", 1, 0), ("%M * 4", 0, 0),
        ("%M // 2", 3, 6), ("(%M + 15) // 16", 3, 48), ("%M * 3 // 2", 6, 4), ("%M // 2 + 1", 4, 6),
    ],
)  # fmt: skip
def test_a_size_with_one_unknown_symbol_decides_it(dim: str, size: int, value: int) -> None:
    f = func(f"tensor $A : float32[{dim}]", "scalar %k : int32", "tensor $C : float32[%M]")
    bind = binder(f, out=2).bind
    for _ in range(2):
        assert bind((torch.zeros(size), 4)).outputs[0].shape == (value,)


def test_symbols_are_decided_one_after_the_other() -> None:
    f = func("tensor $A : float32[%M * %N]", "tensor $B : float32[%M + 1, %K * %N]",
             "tensor $C : float32[%K // 2]", "tensor $D : float32[%M, %N, %K]")  # fmt: skip
    bind = binder(f, out=3).bind
    call = bind((torch.zeros(12), torch.zeros(4, 20), torch.zeros(2)))
    assert call.outputs[0].shape == (3, 4, 5)  # K is 5 by B, though C alone would make it 4


def test_a_symbol_alone_comes_before_what_is_made_of_it() -> None:
    bind = binder(func("tensor $A : float32[%M // 2]", "tensor $B : float32[%M]")).bind
    assert bind((torch.zeros(2), torch.zeros(5))).values[2:] == (5,)


class Flag(IntEnum):
    ON = 1


@pytest.mark.parametrize("one", [1, True, np.bool_(True), np.int8(1), np.uint64(1), Flag.ON])
@pytest.mark.parametrize("dtype", ["int8", "int32", "uint64", "bool", "float16", "float64"])
def test_whole_numbers_and_truth_values_for_scalars(one: Any, dtype: str) -> None:
    (value,) = binder(func(f"scalar %s : {dtype}")).bind((one,)).values
    assert value == 1 and type(value) is (float if "float" in dtype else int)


@pytest.mark.parametrize("half", [0.5, np.float16(0.5), np.float32(0.5), np.float64(0.5)])
def test_floats_for_float_scalars(half: Any) -> None:
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        assert binder(func(f"scalar %s : {dtype}")).bind((half,)).values == (0.5,)
    for dtype in ("int32", "bool"):
        with pytest.raises(CallError, match="expected a"):
            binder(func(f"scalar %s : {dtype}")).bind((half,))


def test_no_other_number_is_a_truth_value() -> None:
    with pytest.raises(CallError, match="call-range.*`s` is 2, which bool can not hold"):
        binder(func("scalar %s : bool")).bind((2,))


def test_every_dtype_torch_has() -> None:
    for name in ("float16", "bfloat16", "float32", "int8", "int16", "int32", "int64", "uint8",
                 "uint16", "uint32", "bool"):  # fmt: skip
        tensor = torch.zeros(3, dtype=getattr(torch, name))
        call = binder(func(f"tensor $A : {name}[3]")).bind((tensor,))
        assert call.sizes == (3 * tensor.element_size(),)


def test_signature_survives_json() -> None:
    f = func(A, "scalar %x : float32", "tensor $C : float16[max(%M, 4) // 2 + %N % 3]")
    signature = signature_of(f, 2)
    assert Signature.from_json(signature.to_json()) == signature
    (size,) = signature.params[2].dims  # type: ignore[union-attr]
    assert evaluate(size, {"M": 9, "N": 5}) == 6


def test_a_shape_reads_as_it_was_declared() -> None:
    f = func("tensor $A : float32[(%M + 1) // 2, 3, min(%M, %N * 2)]", "tensor $B : int8[%M]")
    signature = signature_of(f, 2)
    assert signature.params[0].shape_text == "((M + 1) // 2, 3, min(M, N * 2))"  # type: ignore[union-attr]
    assert signature.params[1].shape_text == "(M,)"  # type: ignore[union-attr]
    assert signature.params[0].shape == ("(M + 1) // 2", 3, "min(M, N * 2)")  # type: ignore[union-attr]
