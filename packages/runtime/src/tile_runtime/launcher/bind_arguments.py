"""Bind the arguments of a call to pointers, sizes and symbol values.

A kernel has one binder, which checks every call that `remember_call` does not repeat. Rules:
docs/language/index.md#arguments.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import torch

from tile_ir import Automatic, DType, Func, written_tensors
from tile_runtime.launcher.call_plan import CallPlan
from tile_runtime.launcher.check_arguments import ArgumentChecker
from tile_runtime.launcher.recording_modes import recording_mode
from tile_runtime.launcher.scalar_arguments import Value
from tile_runtime.launcher.signature import Signature
from tile_runtime.launcher.stand_in_arguments import StandIns, stand_ins
from tile_runtime.launcher.tensor_memory import is_real


class Bound(NamedTuple):
    """One call, ready to launch. `values` are the arguments of the kernel's `call`: a data pointer
    or number per parameter, then the symbols; `sizes` the bytes behind each pointer. `keep` owns
    the memory the call allocated, for the parameters at `allocated`; `outputs` are the tensors to
    return, for those at `returned`. `repeated` is the plan of an earlier call that this is like."""

    values: tuple[Value, ...]
    sizes: tuple[int, ...]
    device: torch.device
    keep: list[torch.Tensor]
    outputs: list[torch.Tensor]
    allocated: tuple[int, ...]
    returned: tuple[int, ...]
    repeated: CallPlan | None = None


class ArgumentBinder:
    """Binds the positional arguments of one kernel."""

    def __init__(
        self,
        signature: Signature,
        outputs: Sequence[int],
        workspaces: Sequence[int],
        device_type: str,
        func: Func,
    ) -> None:
        self._checker = ArgumentChecker(signature, outputs, workspaces, device_type, func)
        allocated = tuple(i for i, _ in self._checker.allocated)
        self._allocated, self._returned = allocated, tuple(outputs)
        self._func = func
        # Where the outputs are among the tensors a call allocates, in the order of out_idx.
        self._outputs = tuple(allocated.index(i) for i in outputs)
        self.names = tuple(signature.params[i].name for i in self._checker.input_positions)

    @cached_property
    def written(self) -> tuple[int, ...]:
        """Which arguments are tensors that the kernel writes."""
        names = {b.name for b in written_tensors(self._checker.func)}
        return tuple(n for n, _, _ in self._checker.tensor_slots if self.names[n] in names)

    def in_order(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """All arguments by position. Raises CallError for names that are none, or given twice."""
        left = self.names[len(arguments) :]
        if named.keys() == set(left):
            return (*arguments, *(named[name] for name in left))
        return self._checker.in_order(arguments, named)

    def stand_ins(self, arguments: tuple[Any, ...]) -> StandIns | None:
        """Return stand-ins for arguments that the kernel can not take as they are, if there are
        any."""
        return stand_ins(self._func, self._checker.tensor_slots, arguments)

    def bind(self, arguments: tuple[Any, ...]) -> Bound:
        """Pointers, sizes and symbols for these arguments.

        Raises CallError when they do not fit the kernel's parameters.
        """
        checker = self._checker
        last = checker.last_plan
        arguments, plan = checker.examine(arguments)
        repeated = plan if plan is last else None
        values: list[Value] = [0] * len(checker.signature.params)
        for n, i, _ in checker.given(arguments):
            values[i] = arguments[n].data_ptr()
        for n, i, scalar in checker.scalar_slots:
            values[i] = checker.scalar(n, scalar, arguments[n])
        mode = recording_mode()
        if mode is not None:
            raise checker.inside(mode)
        keep: list[torch.Tensor] = []
        for i, shape, dtype in plan.allocations:
            tensor = fresh_tensor(shape, _dense(shape), dtype=dtype, device=plan.device)
            if not is_real(tensor):
                raise checker.inside("a transform of torch.func")
            values[i] = tensor.data_ptr()
            keep.append(tensor)
        values += plan.symbols
        return self.bound(tuple(values), plan, keep, repeated)

    def bound(
        self,
        values: tuple[Value, ...],
        plan: CallPlan,
        keep: list[torch.Tensor],
        repeated: CallPlan | None = None,
    ) -> Bound:
        """Return a call by this plan, with the tensors it allocated."""
        outputs = [keep[k] for k in self._outputs]
        where = self._allocated, self._returned
        return Bound(values, plan.sizes, plan.device, keep, outputs, *where, repeated)

    def slots(self, plan: CallPlan) -> dict[str, Any]:
        """Return the arguments and allocations of a call by this plan, for `remember_call`."""
        checker = self._checker
        watched = watched_memory(checker.func, self._allocated, self._returned)
        return {
            "tensors": list(checker.tensor_slots),
            "scalars": [(n, i, *_range(scalar.dtype)) for n, i, scalar in checker.scalar_slots],
            "allocated": [
                (i, shape, _dense(shape), dtype, dtype.itemsize, i in watched)
                for i, shape, dtype in plan.allocations
            ],
            "returned": list(self._outputs),
            "device": plan.device,
            "written": list(self.written),
            "sizes": list(plan.sizes),
            "constants": list(plan.symbols),
        }

    def described(self, arguments: tuple[Any, ...]) -> list[torch.Tensor]:
        """Return the results of a call without values: tensors of shapes and types only, whose
        sizes and scalars may be symbolic.

        Raises CallError when they do not fit the kernel's parameters.
        """
        _, plan = self._checker.examine(arguments, described=True)
        made = {i: (shape, dtype) for i, shape, dtype in plan.allocations}
        return [
            torch.empty(shape, dtype=dtype, device=plan.device)
            for shape, dtype in (made[i] for i in self._returned)
        ]


def watched_memory(
    func: Func, allocated: tuple[int, ...], returned: tuple[int, ...]
) -> tuple[int, ...]:
    """Positions of allocated tensors that must not be read before every element is written. In text
    for GPUs guards drop stores to outputs, and callers do not read those elements."""
    if Automatic.BOUNDS in func.automatic:
        return tuple(i for i in allocated if i not in returned)
    return allocated


def fresh_tensor(
    shape: tuple[int, ...], strides: tuple[int, ...], dtype: torch.dtype, device: torch.device
) -> torch.Tensor:
    """Memory for an output. That of the host is zero, so that elements which a kernel leaves out
    are the same in every run, as those that a script compares nearly always are on a device."""
    tensor = torch.empty_strided(shape, strides, dtype=dtype, device=device)
    return tensor.zero_() if device.type == "cpu" else tensor


def _dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a contiguous tensor."""
    return tuple(math.prod(shape[d + 1 :]) for d in range(len(shape)))


def _range(dtype: DType) -> tuple[int, int]:
    """Integers of a scalar that cross into the launcher as they are."""
    if not dtype.is_integer:
        return 0, 0
    low, high = dtype.limits()
    return max(low, -(2**63)), min(high, 2**63 - 1)
