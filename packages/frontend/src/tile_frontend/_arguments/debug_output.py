"""Build `T.print`, a value or a buffer with a message, and `T.printf`, with a format."""

from __future__ import annotations

import re
from typing import Any

from tile_frontend._arguments.build_op import build_op
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import Scalar, describe, python_number, unexpected
from tile_frontend._tracing.trace import current
from tile_frontend._tracing.values import Pending, Tile, View
from tile_ir import BOOL, INT32, OPS, DType, Region, cast, element_count
from tile_ir.ops.debug import DIRECTIVE


def printf(fmt: Any, *args: Any) -> Pending:
    """Print on the device, C style. Python strings become part of the format."""
    if not isinstance(fmt, str):
        hint = 'write the text first: T.printf("%d", x)'
        raise unexpected("printf: the format", fmt, argument="fmt", slug="printf-format", hint=hint)
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


def print_value(obj: Any, msg: str = "", *, end: str = "\n") -> Pending:
    """Print a scalar, text, or all elements of a buffer or slice, with `msg` in front."""
    if not isinstance(msg, str):
        hint = 'write the text second: T.print(x, "x")'
        raise unexpected("print: msg", msg, slug="printf-format", hint=hint)
    lead = f"{_literal(msg)}: " if msg else ""
    match obj:
        case Tile(whole=region):
            return _buffer(region, msg)
        case View(region=region):
            return _buffer(region, msg)
        case Scalar():
            value = Scalar(cast(obj.expr, INT32)) if obj.expr.dtype is BOOL else obj
            text = f"{lead}{_directive(value.expr.dtype)}{end}"
            return build_op(OPS["printf"], {"fmt": text, "args": (value,)}, "print")
    if not isinstance(obj, str) and python_number(obj) is None:
        hint = "print a tile, a slice, a scalar or a text"
        raise Fault("operand-kind", f"print: found {describe(obj)}", hint, argument="obj")
    return build_op(OPS["printf"], {"fmt": f"{lead}{_literal(str(obj))}{end}", "args": ()}, "print")


def _buffer(region: Region, msg: str) -> Pending:
    """The message, or the name of the buffer, then its elements under the number of the line."""
    trace = current("print")
    head = {"fmt": f"{_literal(msg or region.buffer.name)}:\n", "args": ()}
    trace.emit_pending(build_op(OPS["printf"], head, "print"))
    given = {"buffer": region, "desc": trace.here.line, "size": Scalar(element_count(region))}
    return build_op(OPS["dump_tensor"], given, "print")


def _literal(text: str) -> str:
    return text.replace("%", "%%")


def _directive(dtype: DType) -> str:
    if dtype.is_float:
        return "%f"
    return ("%ll" if dtype.bits == 64 else "%") + ("u" if dtype.name.startswith("u") else "d")
