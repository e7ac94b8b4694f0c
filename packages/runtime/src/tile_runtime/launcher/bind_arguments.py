"""Arguments of a call to pointers, sizes and symbol values (docs/rules/calls.md#arguments).

A binder is made once per kernel. It remembers the shapes of the last call: a call with the same
shapes checks dtype, device and contiguity, allocates outputs, and is done. Any other call, and any
call with something wrong, goes through `check_arguments`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch

from tile_ir import Func
from tile_runtime.launcher.check_arguments import ArgumentChecker, Plan, Value
from tile_runtime.launcher.signature import Signature, TensorParam, names_in
from tile_runtime.launcher.tensor_memory import is_fake, is_wrapped


class Bound(NamedTuple):
    """One call, ready to launch. `values` are the arguments of the kernel's `call`: a data pointer
    or number per parameter, then the symbols; `sizes` the bytes behind each pointer. `keep` owns
    the memory the call allocated, for the parameters at `allocated`; `outputs` are the tensors to
    return, for those at `returned`."""

    values: tuple[Value, ...]
    sizes: tuple[int, ...]
    device: torch.device
    keep: list[torch.Tensor]
    outputs: list[torch.Tensor]
    allocated: tuple[int, ...]
    returned: tuple[int, ...]


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
        # Where the outputs are among the tensors a call allocates, in the order of out_idx.
        self._outputs = tuple(allocated.index(i) for i in outputs)
        self._blank: list[Value] = [0] * len(signature.params)
        self._plan: Plan | None = None
        scalars = {p.name for _, _, p in self._checker.scalar_slots}
        # Sizes that follow from the value of a scalar may differ at every call.
        self._plans_repeat = not any(
            scalars & names_in(d)
            for p in signature.params
            if isinstance(p, TensorParam)
            for d in p.dims
        )

    def in_order(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """All arguments by position. Raises CallError for names that are none, or given twice."""
        return self._checker.in_order(arguments, named)

    def bind(self, arguments: tuple[Any, ...]) -> Bound:
        """Pointers, sizes and symbols for these arguments.

        Raises CallError when they do not fit the kernel's parameters.
        """
        plan = self._plan
        values = self._blank.copy()
        if plan is None or not self._repeats(arguments, plan, values):
            checker = self._checker
            arguments, plan = checker.examine(arguments)
            for n, i, _ in checker.tensor_slots:
                values[i] = arguments[n].data_ptr()
            for n, i, scalar in checker.scalar_slots:
                values[i] = checker.scalar(n, scalar, arguments[n])
            if self._plans_repeat and plan.conforms:
                self._plan = plan
        keep: list[torch.Tensor] = []
        for i, shape, dtype in plan.allocations:
            tensor = torch.empty(shape, dtype=dtype, device=plan.device)
            if type(tensor) is not torch.Tensor or is_wrapped(tensor):
                self._checker.values_are_real(tensor)
            values[i] = tensor.data_ptr()
            keep.append(tensor)
        values += plan.symbols
        outputs = [keep[k] for k in self._outputs]
        return Bound(
            tuple(values),
            plan.sizes,
            plan.device,
            keep,
            outputs,
            self._allocated,
            self._returned,
        )

    def described(self, arguments: tuple[Any, ...]) -> list[torch.Tensor]:
        """What a call returns, without its values: of tensors that have only shapes and types,
        whose sizes, and scalars, may be symbolic.

        Raises CallError when they do not fit the kernel's parameters.
        """
        _, plan = self._checker.examine(arguments, described=True)
        made = {i: (shape, dtype) for i, shape, dtype in plan.allocations}
        return [
            torch.empty(shape, dtype=dtype, device=plan.device)
            for shape, dtype in (made[i] for i in self._returned)
        ]

    def _repeats(self, arguments: tuple[Any, ...], plan: Plan, values: list[Value]) -> bool:
        """Whether the call is like the last one; fills in pointers and numbers if it is."""
        checker = self._checker
        if len(arguments) != len(checker.input_positions):
            return False
        device = plan.device
        try:
            for (n, i, dtype), shape in zip(checker.tensor_slots, plan.shapes, strict=True):
                t = arguments[n]
                if (
                    not isinstance(t, torch.Tensor)
                    or (type(t) is not torch.Tensor and is_fake(t))
                    or t.shape != shape
                    or t.dtype is not dtype
                    or not t.is_contiguous()
                    or t.device != device
                    or t.is_neg()
                    or (not (pointer := t.data_ptr()) and t.numel())
                ):
                    return False
                values[i] = pointer
        except RuntimeError:
            return False  # it has no shape or no memory: told by whoever looks closer
        for n, i, scalar in checker.scalar_slots:
            values[i] = checker.scalar(n, scalar, arguments[n])
        return True
