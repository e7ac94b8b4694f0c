"""Calls that are neither operations nor values: leaving a loop, attributes that are ignored, and
the debug dump with its extra argument."""

from __future__ import annotations

from typing import Any

from tile_frontend.calls import build_op
from tile_frontend.trace import current
from tile_frontend.values import Pending
from tile_ir import OPS, Break


def loop_break() -> Pending:
    """Leave the innermost loop."""
    trace = current("loop_break")
    pending = Pending(Break(trace.here), "loop_break", trace.here)
    trace.pending.append(pending)
    return pending


def func_attr(attributes: Any) -> None:
    """Attributes of other compilers; none has a meaning here."""


def dump_tensor(buffer: Any, desc: Any, size: Any, shape: Any = ()) -> Pending:
    """Print `size` elements under the number `desc`. `shape` arranges the output of other tools."""
    given = {"buffer": buffer, "desc": desc, "size": size}
    return build_op(OPS["dump_tensor"], given, "dump_tensor")
