"""Working memory that scripts hand to an operation: accepted, and not needed.

Other versions of the language have it as a positional argument behind the buffers of an operation
(`T.reduce_max(x, out, tmp, dim=-1)`), as `tmp=`, or not at all
(docs/rules/operations.md#working-memory). Here the compiler finds it, for every operation whose
record says that it uses some. What the script handed over stays with the operation, for kernels
that keep order or memory in their own hands (`adopt_scratch`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from tile_frontend._arguments.build_op import only_element, whole_region
from tile_frontend._dialects.known import WORKING_MEMORY
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import unexpected
from tile_frontend._tracing.trace import current
from tile_frontend._tracing.values import Pending, Tile, View
from tile_ir import Diagnostic, Memory, Op, OpDef, Region, check_op, possible

Described = TypeVar("Described")
KEYWORD = "tmp"


@dataclass(frozen=True, slots=True)
class Arguments:
    """A call without its working memory. `dropped` is where that stood among the positional
    arguments, if it did; `memory` is what was handed over."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    dropped: int | None = None
    memory: Region | None = None

    @contextmanager
    def placing_faults(
        self, parameters: Sequence[str], argument_of: Mapping[Any, str] | None = None
    ) -> Iterator[None]:
        """Faults inside that blame an operand blame its argument. Those that blame a parameter
        behind the working memory blame its place in the text, which is one further."""
        try:
            yield
        except Fault as fault:
            blamed = fault.argument = (argument_of or {}).get(fault.argument, fault.argument)
            if isinstance(blamed, str) and blamed in parameters and blamed not in self.kwargs:
                blamed = parameters.index(blamed)
            if self.dropped is not None and isinstance(blamed, int):
                fault.argument = blamed + (blamed >= self.dropped)
            raise


def takes_working_memory(opdef: OpDef) -> bool:
    """Whether scripts may hand over working memory: the operation uses some, here or elsewhere."""
    return opdef.scratch_elsewhere or "scratch" in opdef.hidden


def without_working_memory(
    opdef: OpDef,
    name: str,
    buffers: int,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    numbers: Collection[int] = (),
) -> Arguments:
    """The arguments that mean something; `buffers` is how many parameters at the front may be
    buffers. Behind them a buffer is working memory, but one of a single element at one of the
    `numbers`: it may be meant as the value.

    Raises Fault for a `tmp` that is no buffer of UB.
    """
    if not takes_working_memory(opdef) or KEYWORD in opdef.call_order():
        return Arguments(tuple(args), kwargs)
    keyword = next((key for key in WORKING_MEMORY if key in kwargs), None)
    if keyword is not None:
        memory = lend_working_memory(name, kwargs[keyword])
        rest = {key: value for key, value in kwargs.items() if key != keyword}
        return Arguments(tuple(args), rest, memory=memory)
    found = [
        i
        for i, value in enumerate(args)
        if i >= buffers
        and isinstance(value, (Tile, View))
        and (i not in numbers or only_element(value) is None)
    ]
    if len(found) != 1:
        return Arguments(tuple(args), kwargs)
    place = found[0]
    memory = lend_working_memory(name, args[place])
    return Arguments((*args[:place], *args[place + 1 :]), kwargs, place, memory)


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
        raise Fault(
            "operand-memory",
            f"{what} `{buffer.name}` is in {buffer.memory.value}, expected ub",
            hint,
            KEYWORD,
        )
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
