"""Define `T.annotate_safe_value`: the value of reads outside a tensor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import describe, python_number
from tile_frontend._tracing.trace import current
from tile_frontend._tracing.values import Tile
from tile_ir import Const, Memory


def annotate_safe_value(values: Mapping[Any, Any]) -> None:
    """The value of elements outside each of these tensors, where copies and expressions read them.
    Of tensors without one they are 0 to a copy."""
    trace = current("T.annotate_safe_value")
    if not isinstance(values, Mapping):
        message = f"annotate_safe_value takes a dict of tensors, found {describe(values)}"
        raise Fault("annotation", message, "write {tensor: value}", 0)
    for tensor, value in values.items():
        number = python_number(value)
        if not isinstance(tensor, Tile) or tensor.memory is not Memory.GM:
            message = f"annotate_safe_value: {describe(tensor)} is no tensor in gm"
            raise Fault("annotation", message, "a tile on chip is read as it is", 0)
        if number is None:
            message = f"annotate_safe_value: the value of `{tensor.name}` is {describe(value)}"
            raise Fault("annotation", message, "give a number that is known now", 0)
        dtype = tensor.element
        trace.safe_values[tensor.buffer] = Const(
            float(number) if dtype.is_float else int(number), dtype
        )
