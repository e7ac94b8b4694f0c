"""Leave a loop, and accept what other compilers are told: neither operations nor values."""

from __future__ import annotations

from typing import Any

from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import Scalar, python_number, unexpected
from tile_frontend._tracing.trace import current
from tile_frontend._tracing.values import Pending
from tile_ir import Break


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
        raise unexpected("assume: the condition", condition)
    if python_number(condition) == 0:
        raise Fault("operand-kind", "assume: the condition is false", argument="condition")
