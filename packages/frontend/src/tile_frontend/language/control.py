"""Calls that are neither operations nor values: leaving a loop, attributes that are ignored, and
the debug dump with its extra argument."""

from __future__ import annotations

import re
from typing import Any

from tile_frontend.arguments.call_signature import described
from tile_frontend.arguments.op_functions import build_op
from tile_frontend.tracing.faults import Fault
from tile_frontend.tracing.scalars import Scalar, describe, python_number
from tile_frontend.tracing.trace import current
from tile_frontend.tracing.values import Pending
from tile_ir import OPS, Break
from tile_ir.ops.debug import DIRECTIVE


def loop_break() -> Pending:
    """Leave the innermost loop."""
    trace = current("loop_break")
    pending = Pending(Break(trace.here), "loop_break", trace.here)
    trace.pending.append(pending)
    return pending


def func_attr(attributes: Any) -> None:
    """Attributes of other compilers; none has a meaning here."""


def assume(condition: Any) -> None:
    """What the author knows: nothing is made of it here. A Fault for what is surely wrong."""
    if python_number(condition) is None and not isinstance(condition, Scalar):
        raise Fault(
            "operand-kind",
            f"assume: the condition is {describe(condition)}",
            argument="condition",
        )
    if python_number(condition) == 0:
        raise Fault("operand-kind", "assume: the condition is false", argument="condition")


def printf(fmt: Any, *args: Any) -> Pending:
    """Print on the device, C style. Python strings become part of the format."""
    if not isinstance(fmt, str):
        raise Fault("printf-format", f"printf: the format is {describe(fmt)}", argument="fmt")
    left = iter(args)
    kept: list[Any] = []

    def directive(match: re.Match[str]) -> str:
        if match[1] == "%":
            return match[0]
        value = next(left, None)
        if isinstance(value, str) and match[1] == "s":
            return value.replace("%", "%%")
        if value is not None:
            kept.append(value)
        return match[0]

    text = DIRECTIVE.sub(directive, fmt)
    return build_op(OPS["printf"], {"fmt": text, "args": (*kept, *left)}, "printf")


@described(OPS["dump_tensor"])
def dump_tensor(buffer: Any, desc: Any, size: Any, shape: Any = ()) -> Pending:
    """Print `size` elements under the number `desc`. `shape` arranges the output of other tools."""
    given = {"buffer": buffer, "desc": desc, "size": size}
    return build_op(OPS["dump_tensor"], given, "dump_tensor")
