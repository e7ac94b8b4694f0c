"""Working memory that scripts hand to an operation: accepted, and not needed.

Other versions of the language have it as a positional argument behind the buffers of an operation
(`T.reduce_max(x, out, tmp, dim=-1)`), as `tmp=`, or not at all
(docs/use/coming_from_tilelang.md#working-memory). Here the compiler finds it, for every operation
whose record says that it uses some. The operation keeps the buffer of the script, for kernels that
order their pipes or place their memory themselves (`adopt_scratch`).
"""

from __future__ import annotations

from typing import Any, TypeVar

from tile_frontend._arguments.build_op import whole_region
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import unexpected
from tile_frontend._tracing.trace import current
from tile_frontend._tracing.values import Pending
from tile_ir import Diagnostic, Memory, Op, OpDef, Region, check_op, possible

Described = TypeVar("Described")
KEYWORD = "tmp"


def takes_working_memory(opdef: OpDef) -> bool:
    """Whether scripts may hand over working memory: the operation uses some, here or elsewhere."""
    return opdef.scratch_elsewhere or "scratch" in opdef.hidden


def working_in(call: Described, memory: Region | None) -> Described:
    """The operation a call described, with the memory that was handed to it: left out where the
    operation needs none, or where it would work in its own operands."""
    if memory is None or not isinstance(call, Pending) or not isinstance(call.stmt, Op):
        return call
    op = call.stmt
    if not op.opdef.scratch(op):
        return call
    with_memory = op.with_scratch(memory)
    if check_op(with_memory, current(op.opdef.name).target) is None:
        call.stmt = with_memory
    return call


def lend_working_memory(name: str, value: Any) -> Region | None:
    """Report once for each buffer that it is not needed; used for nothing else it takes no room."""
    if value is None:
        return None
    what, hint = f"T.{name}: {KEYWORD}", "leave it out: the compiler finds the working memory"
    region = whole_region(value)
    if region is None:
        raise unexpected(what, value, "a buffer in ub", hint)
    buffer = region.buffer
    if Memory.UB not in possible(buffer.memory):
        message = f"{what} `{buffer.name}` is in {buffer.memory.value}, expected ub"
        raise Fault("operand-memory", message, hint, KEYWORD)
    trace = current(f"T.{name}")
    trace.lent.add(buffer)
    trace.remark(
        Diagnostic(
            "working-memory",
            f"`{buffer.name}` is working memory that T.{name} does not need: the compiler finds it",
            buffer.loc,
            "leave it out",
            "warning",
        )
    )
    return region
