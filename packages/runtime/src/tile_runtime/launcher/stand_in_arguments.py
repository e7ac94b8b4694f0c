"""Replace arguments that a kernel can not take as they are by tensors that stand for them.

They are copies of those with other strides, for parameters `T.StridedTensor`, and tensors without
values for None in place of one that the kernel leaves alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import torch

from tile_ir import Automatic, Func, Var, buffers_of, variables_of, walk, walk_expr
from tile_runtime.launcher.bind_symbols import Size, bind_symbols
from tile_runtime.launcher.signature import Signature, TensorParam, evaluate, names_in


class StandIns(NamedTuple):
    """The arguments to call with, and which of the caller's tensors stand-ins are of."""

    arguments: tuple[Any, ...]
    copies: Mapping[int, torch.Tensor]

    def copy_back(self, written: Sequence[int]) -> None:
        """Give the caller's tensors what the kernel has written."""
        for n in written:
            if n in self.copies:
                self.copies[n].copy_(self.arguments[n])


class StandInMaker:
    """Makes stand-ins for the arguments of one kernel; `slots` are the number, the parameter and
    the type of each tensor that a caller passes."""

    def __init__(
        self, func: Func, signature: Signature, slots: Sequence[tuple[int, int, torch.dtype]]
    ) -> None:
        self._func, self._signature, self._slots = func, signature, slots
        self._any_strides = Automatic.STRIDES in func.automatic

    @cached_property
    def _left_alone(self) -> frozenset[int]:
        """Arguments that no statement of the kernel touches, under any name."""
        if Automatic.BOUNDS not in self._func.automatic:
            return frozenset()
        launch = self._func.launch
        names = {a.buffer: a.alias_of for a in launch.allocs if a.alias_of is not None}
        used = {b for stmt in walk(launch.body) for b in buffers_of(stmt)}
        used |= {names[b] for b in used & names.keys()}
        return frozenset(n for n, i, _ in self._slots if self._func.params[i] not in used)

    @cached_property
    def _asked_for(self) -> frozenset[str]:
        """Symbols whose values the kernel asks for."""
        launch = self._func.launch
        used = {v for stmt in walk(launch.body) for v in variables_of(stmt)}
        used |= {v for v in walk_expr(launch.blocks) if isinstance(v, Var)}
        return frozenset(v.name for v in used)

    def make(self, arguments: tuple[Any, ...]) -> StandIns | None:
        """The arguments with stand-ins, None where none is needed."""
        given = list(arguments)
        copies: dict[int, torch.Tensor] = {}
        for n, i, dtype in self._slots:
            value = given[n] if n < len(given) else 0
            if value is None and n in self._left_alone:
                given[n] = self._empty(arguments, i, dtype)
            elif not self._any_strides or not isinstance(value, torch.Tensor):
                continue
            elif not value.is_contiguous():
                copies[n], given[n] = value, value.contiguous()
        changed = any(a is not b for a, b in zip(given, arguments, strict=True))
        return StandIns(tuple(given), copies) if changed else None

    def _empty(
        self, arguments: tuple[Any, ...], position: int, dtype: torch.dtype
    ) -> torch.Tensor | None:
        """A tensor of the declared shape, as far as the other arguments say it; None if the kernel
        asks for a size that only this one has."""
        given = [
            (arguments[n], i, self._signature.params[i])
            for n, i, _ in self._slots
            if n < len(arguments) and isinstance(arguments[n], torch.Tensor)
        ]
        sizes = [
            Size(i, param, d, size)
            for tensor, i, param in given
            if isinstance(param, TensorParam)
            for d, (_, size) in enumerate(zip(param.dims, tensor.shape, strict=False))
        ]
        known = bind_symbols(sizes, self._signature.symbols, {}, lax=True)
        param = self._signature.params[position]
        assert isinstance(param, TensorParam), "its slot is that of a tensor"
        unknown = {name for dim in param.dims for name in names_in(dim)} - known.keys()
        if unknown & self._asked_for:
            return None
        values = {**dict.fromkeys(unknown, 0), **{n: symbol.value for n, symbol in known.items()}}
        shape = [evaluate(dim, values) for dim in param.dims]
        device = next((tensor.device for tensor, _, _ in given), None)
        return torch.empty(shape, dtype=dtype, device=device)
