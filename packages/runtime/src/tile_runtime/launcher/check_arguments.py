"""Check the arguments of a call against the parameters of a kernel, and plan the call.

The messages are part of the interface; tests/runtime/test_call_errors.py has each of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from tile_ir import Buffer, CallError, Func, Loc, did_you_mean, written_tensors
from tile_ir.switches import switch
from tile_runtime.launcher import packed_bytes
from tile_runtime.launcher.bind_symbols import Size, Symbol, SymbolError, bind_symbols
from tile_runtime.launcher.call_plan import CallPlan, used_parameters, used_symbols
from tile_runtime.launcher.scalar_arguments import (
    NoScalar,
    Value,
    article,
    as_tensor,
    count,
    scalar_value,
)
from tile_runtime.launcher.signature import (
    Dim,
    ScalarParam,
    Signature,
    TensorParam,
    dim_text,
    evaluate,
    names_in,
    sized_text,
)  # fmt: skip
from tile_runtime.launcher.tensor_memory import REGISTER, same_size, seen_bytes, without_memory
from tile_runtime.launcher.torch_dtypes import dtype_name, torch_dtype


class ArgumentChecker:
    """Checks calls of one kernel; `outputs` and `workspaces` are positions the runtime fills."""

    def __init__(
        self,
        signature: Signature,
        outputs: Sequence[int],
        workspaces: Sequence[int],
        device_type: str,
        func: Func,
    ) -> None:
        params = signature.params
        self.signature = signature
        self.device_type = device_type
        self.func = func
        allocated = {*outputs, *workspaces, *range(signature.declared, len(params))}
        self.input_positions = tuple(i for i in range(len(params)) if i not in allocated)
        made = [(i, params[i]) for i in sorted(allocated)]
        self.allocated = tuple((i, p) for i, p in made if isinstance(p, TensorParam) and not p.kept)
        # (argument number, parameter position, dtype) of the tensors a caller passes.
        self.tensor_slots = tuple(
            (n, i, torch_dtype(p, func))
            for n, i in enumerate(self.input_positions)
            if isinstance(p := params[i], TensorParam)
        )
        self.scalar_slots = tuple(
            (n, i, p)
            for n, i in enumerate(self.input_positions)
            if isinstance(p := params[i], ScalarParam)
        )
        self.last_plan: CallPlan | None = None
        # Sizes that depend on the value of a scalar may differ at every call.
        scalars = {p.name for _, _, p in self.scalar_slots}
        tensors = (p for p in params if isinstance(p, TensorParam))
        self._by_shapes = not any(scalars & names_in(d) for p in tensors for d in p.dims)

    def examine(
        self, arguments: tuple[Any, ...], described: bool = False
    ) -> tuple[tuple[Any, ...], CallPlan]:
        """Check the arguments and plan the call; also drop surplus arguments. Shapes of the last
        call have its plan. Of tensors that are only `described` the shapes and types count, and
        their sizes and scalars may be symbolic."""
        if not described and self._repeats(arguments):
            assert self.last_plan is not None, "a call is like another one"
            return arguments, self.last_plan
        lax = bool(switch("lax_calls"))
        arguments = self._right_number(arguments, lax)
        slots = self.given(arguments)
        if not described:
            for n, i, _ in slots:
                self._check_memory(n, i, arguments[n])
        device = self._device(arguments, described)
        for n, i, dtype in slots:
            self._check_tensor(n, i, dtype, arguments[n], lax)
            if not described:
                self._check_contiguous(n, i, arguments[n])
        shapes = tuple(arguments[n].shape for n, _, _ in slots)
        scalars: dict[str, Any] = {
            p.name: v if isinstance(v := arguments[n], torch.SymInt) else int(self.scalar(n, p, v))
            for n, _, p in self.scalar_slots
            if p.dtype.is_integer
        }
        params, dimensions = self.signature.params, list(self._sizes(arguments, lax))
        bound = self._bind_symbols(dimensions, scalars, lax)
        values = {**scalars, **{name: symbol.value for name, symbol in bound.items()}}
        wrong = self._check_sizes(dimensions, values)
        # Bytes of elements of fewer bits are never taken for the elements themselves.
        narrow = [size for size in dimensions if size.param.dtype.bits < 8]
        refused = self._check_sizes(narrow, values) if lax else wrong
        if refused is not None:
            raise self._wrong_size(refused, values, bound)
        ranks = ((arguments[n], d, params[i]) for n, i, d in slots)
        conforms = (
            wrong is None
            and slots == self.tensor_slots
            and all(
                isinstance(p, TensorParam) and t.dim() == len(p.dims) and t.dtype is dtype
                for t, dtype, p in ranks
            )
        )
        sizes = [0] * len(params)
        for n, i, _ in slots:
            sizes[i] = packed_bytes.bytes_passed(params[i].dtype, arguments[n])
        allocations = []
        for i, tensor in self.allocated:
            shape = self._output_shape(i, tensor, values)
            allocations.append((i, shape, torch_dtype(tensor, self.func)))
            sizes[i] = seen_bytes(tensor.dtype, math.prod(shape))
        symbols = tuple(self._symbol(name, values) for name in self.signature.symbols)
        sizes += [0] * len(symbols)
        plan = CallPlan(shapes, device, tuple(sizes), symbols, tuple(allocations))
        if conforms and self._by_shapes and not described:
            self.last_plan = plan
        return arguments, plan

    def given(self, arguments: tuple[Any, ...]) -> tuple[tuple[int, int, torch.dtype], ...]:
        """The slots of tensors, but of those that are None and that the kernel does not touch."""
        if all(arguments[n] is not None for n, _, _ in self.tensor_slots):
            return self.tensor_slots
        used = used_parameters(self.func)
        return tuple(s for s in self.tensor_slots if arguments[s[0]] is not None or s[1] in used)

    def _repeats(self, arguments: tuple[Any, ...]) -> bool:
        """Return whether the call fits and has the shapes of the last plan; the checks that find
        out what is wrong with a call are many times slower."""
        plan = self.last_plan
        if plan is None or len(arguments) != len(self.input_positions):
            return False
        device = plan.device
        try:
            for (n, _, dtype), shape in zip(self.tensor_slots, plan.shapes, strict=True):
                t = arguments[n]
                if (
                    type(t) not in _PLAIN_TYPES
                    or t.dtype is not dtype
                    or t.shape != shape
                    or t.device != device
                    or not t.is_contiguous()
                    or t.is_neg()
                    or (t.data_ptr() == 0 and t.numel() > 0)
                ):
                    return False
        except RuntimeError:  # it has no shape or no memory
            return False
        return True

    def in_order(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """The arguments by position, of a call that gives some of them by name."""
        names = [self.signature.params[i].name for i in self.input_positions]
        made = [p.name for _, p in self.allocated]
        for name in named:
            what = f"`{name}` of kernel `{self.signature.name}`"
            if name in made:
                raise self._error(
                    "call-keyword", f"{what} is allocated by the runtime, and can not be given",
                    None, "leave it out of out_idx and workspace_idx to pass it in",
                )  # fmt: skip
            if name not in names:
                raise self._error(
                    "call-keyword", f"kernel `{self.signature.name}` has no parameter `{name}`",
                    None, did_you_mean(name, names) or f"its arguments are {', '.join(names)}",
                )  # fmt: skip
            if name in names[: len(arguments)]:
                raise self._error("call-keyword", f"{what} is given by position and by name", None)
        missing = [n for n in names[len(arguments) :] if n not in named]
        if missing:
            raise self._error(
                "call-arity",
                f"kernel `{self.signature.name}` takes {count(len(names), 'argument')} "
                f"({', '.join(names)}): {', '.join(f'`{n}`' for n in missing)} not given",
                None,
            )
        return (*arguments, *(named[n] for n in names[len(arguments) :]))

    def inside(self, mode: str) -> CallError:
        """Of a call that what torch makes meanwhile would not have."""
        return self._error(
            "call-inside",
            f"kernel `{self.signature.name}` is called inside {mode}, which sees operators only",
            None,
            f"a kernel computes values: {REGISTER}",
        )

    def _right_number(self, arguments: tuple[Any, ...], lax: bool) -> tuple[Any, ...]:
        wanted, found = len(self.input_positions), len(arguments)
        if found < wanted or (found > wanted and not lax):
            names = ", ".join(self.signature.params[i].name for i in self.input_positions)
            made = ", ".join(f"`{p.name}`" for _, p in self.allocated)
            raise self._error(
                "call-arity",
                f"kernel `{self.signature.name}` takes {count(wanted, 'argument')} ({names}), "
                f"found {found}",
                None,
                f"the runtime allocates {made} itself" if made else self._allocates(found),
            )
        return arguments[:wanted]

    def _allocates(self, found: int) -> str | None:
        """Return the hint for a caller that leaves out the kernel's outputs, to get them as
        results."""
        left_out = range(found, self.signature.declared)
        written = written_tensors(self.func)
        if not left_out or any(self.func.params[i] not in written for i in left_out):
            return None
        names = ", ".join(f"`{self.func.params[i].name}`" for i in left_out)
        return (
            f"pass {names} too, or say that the runtime allocates what is written: "
            f"out_idx={list(left_out)}"
        )

    def _device(self, arguments: tuple[Any, ...], described: bool) -> torch.device:
        """Where outputs go: with the first tensor, or on the current device without one."""
        first: torch.Tensor | None = None
        expected = f"kernels run on {_PLACES[self.device_type]}"
        for n, i, _ in self.tensor_slots:
            t, name = arguments[n], self.signature.params[i].name
            if not isinstance(t, torch.Tensor):
                continue
            if t.device.type != self.device_type and not (described and t.is_meta):
                what = f"{self._argument(n, i)} is on {t.device}, but {expected}"
                hint = f'pass `{name}.to("{self.device_type}")`'
                raise self._error("call-device", what, i, hint)
            if first is None:
                first, expected = t, f"`{name}` is on {t.device}"
        return torch.device(self.device_type) if first is None else first.device

    def _check_tensor(self, n: int, i: int, dtype: torch.dtype, value: Any, lax: bool) -> None:
        param = self.signature.params[i]
        assert isinstance(param, TensorParam)
        where = self._argument(n, i)
        if not isinstance(value, torch.Tensor):
            raise self._error(
                "call-type",
                f"{where} is {article(value)}, expected a tensor of {param.dtype} "
                f"with shape {param.shape_text}",
                i,
                as_tensor(param.name, value),
            )
        if value.dtype is not dtype and not packed_bytes.is_packed(param.dtype, value):
            raise self._error(
                "call-dtype",
                f"{where} is {dtype_name(value.dtype)}, expected {param.dtype}",
                i,
                packed_bytes.how_to_pass(param.name, param.dtype, dtype),
            )
        if value.dim() != len(param.dims) and not lax:
            raise self._error(
                "call-rank",
                f"{where} has shape {tuple(value.shape)}, expected {len(param.dims)} "
                f"dimension{'s' * (len(param.dims) != 1)}",
                i,
                f"`{param.name}` is declared with shape {param.shape_text}: reshape the argument",
            )

    def _check_memory(self, n: int, i: int, value: Any) -> None:
        unreal = without_memory(value) if isinstance(value, torch.Tensor) else None
        if unreal is not None:
            what, hint = unreal
            raise self._error("call-tensor", f"{self._argument(n, i)} is {what}", i, hint)

    def _check_contiguous(self, n: int, i: int, value: torch.Tensor) -> None:
        if not value.is_contiguous():
            shape, strides = tuple(value.shape), value.stride()
            raise self._error(
                "call-contiguous",
                f"{self._argument(n, i)} is not contiguous: shape {shape}, strides {strides}",
                i,
                f"pass `{self.signature.params[i].name}.contiguous()`",
            )

    def _sizes(self, arguments: tuple[Any, ...], lax: bool) -> Iterator[Size]:
        """The dimensions of the tensors of a call."""
        for n, i, _ in self.given(arguments):
            param = self.signature.params[i]
            assert isinstance(param, TensorParam)
            found = packed_bytes.sizes_in_elements(param.dtype, arguments[n])
            for d, (_, size) in enumerate(zip(param.dims, found, strict=not lax)):
                yield Size(i, param, d, size)

    def _bind_symbols(
        self, sizes: Sequence[Size], scalars: Mapping[str, int], lax: bool
    ) -> dict[str, Symbol]:
        """The symbols whose value follows from the sizes of a call."""
        try:
            return bind_symbols(sizes, self.signature.symbols, scalars, lax)
        except SymbolError as error:
            raise self._error("call-symbol", str(error), error.position, error.hint) from None

    def _check_sizes(self, sizes: Sequence[Size], values: Mapping[str, int]) -> Size | None:
        """The first dimension that has not its declared size."""
        for size in sizes:
            if not names_in(size.declared) <= values.keys():
                continue
            if not same_size(self._size(size.position, size.declared, values), size.found):
                return size
        return None

    def _size(self, i: int, dim: Dim, values: Mapping[str, int]) -> int:
        try:
            return evaluate(dim, values)
        except ZeroDivisionError:
            known = "".join(f", where {n} is {values[n]}" for n in sorted(names_in(dim)))
            name = self.signature.params[i].name
            what = f"the size {dim_text(dim)} of `{name}` divides by 0{known}"
            raise self._error("call-shape", what, i) from None

    def _wrong_size(
        self, size: Size, values: Mapping[str, int], symbols: Mapping[str, Symbol]
    ) -> CallError:
        number = self.input_positions.index(size.position)
        where = f"dimension {size.dimension} of {self._argument(number, size.position)}"
        expected = sized_text(size.declared, values)
        names = sorted(names_in(size.declared) & symbols.keys())
        known = [f", where {name} is {symbols[name]}" for name in names]
        return self._error(
            "call-shape",
            f"{where} is {size.found}, expected {expected}",
            size.position,
            f"`{size.param.name}` is declared with shape {size.param.shape_text}{''.join(known)}"
            + packed_bytes.two_in_a_byte(size.param.dtype),
        )

    def _output_shape(
        self, i: int, tensor: TensorParam, values: Mapping[str, int]
    ) -> tuple[int, ...]:
        for dim in tensor.dims:
            for name in sorted(names_in(dim)):
                self._symbol(name, values)
        shape = tuple(self._size(i, d, values) for d in tensor.dims)
        if any(size < 0 for size in shape):
            raise self._error(
                "call-shape",
                f"`{tensor.name}` with shape {tensor.shape_text} would have shape {shape}",
                i,
                "a size can not be negative",
            )
        return shape

    def _symbol(self, name: str, values: Mapping[str, int]) -> int:
        if name in values or name not in used_symbols(self.func):
            return values.get(name, 0)  # that of a tensor that is None does not matter
        places = [
            f"dimension {d} of `{p.name}` ({dim_text(dim)})"
            for p in self.signature.params
            if isinstance(p, TensorParam)
            for d, dim in enumerate(p.dims)
            if name in names_in(dim)
        ]
        raise self._error(
            "call-symbol",
            f"symbol `{name}` has no value: it stands only in {' and '.join(places)}",
            None,
            "a symbol gets its value from a dimension of an input tensor that is the symbol alone, "
            f"or linear in it such as `{name} + 1`; else pass it as a scalar parameter",
        )

    def scalar(self, n: int, param: ScalarParam, value: Any) -> Value:
        """The number of a scalar parameter, as the launcher takes it."""
        try:
            return scalar_value(value, param.dtype, param.name)
        except NoScalar as wrong:
            position = self.input_positions[n]
            what = f"{self._argument(n, position)} {wrong}"
            raise self._error(wrong.slug, what, position, wrong.hint) from None

    def _argument(self, n: int, i: int) -> str:
        return f"argument {n + 1} `{self.signature.params[i].name}`"

    def _error(self, slug: str, message: str, position: int | None, hint: str | None = None
               ) -> CallError:  # fmt: skip
        loc: Loc | None = self.func.loc
        if position is not None:
            param = self.func.params[position]
            loc = param.loc if isinstance(param, Buffer) else loc
        return CallError(slug, message, loc, hint, sources=self.func.sources)


# Tensors of other types may have no memory of their own.
_PLAIN_TYPES = (torch.Tensor, torch.nn.Parameter)
_PLACES = {"cpu": "the simulator, which needs cpu tensors", "npu": "the npu"}
