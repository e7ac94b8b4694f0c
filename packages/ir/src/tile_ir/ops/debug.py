"""Printing from a kernel (docs/hardware/units.md#scalar-unit)."""

from __future__ import annotations

import re

from tile_ir.expr import Expr, Load, walk_expr
from tile_ir.machine import CORE_OF_MEMORY, Core, Memory, Pipe, possible
from tile_ir.nodes import Op, Region
from tile_ir.opdef import Access, ArgumentDef, AttrDef, Effect, OpDef, OperandDef, Problem
from tile_ir.ops.axes import whole
from tile_ir.ops.rules import GM, L0C, L1, UB, on, regions, scalar
from tile_ir.target import Target

PRINTABLE = frozenset(Memory) - {Memory.VAR}
DIRECTIVE = re.compile(r"%(%|[-+ 0#]*\d*(?:\.\d+)?(?:l{0,2})[a-zA-Z])")
CONVERSIONS = "diuxXfFsp"
ADDRESSES = "pxX"


def _format(op: Op, target: Target) -> Problem | None:
    """One argument for each directive, of its kind; a buffer stands for its address."""
    directives = [d for d in DIRECTIVE.findall(op.attr("fmt")) if d != "%"]
    for d in directives:
        if d[-1] not in CONVERSIONS:
            hint = f"write one of %{', %'.join(CONVERSIONS)}"
            return Problem("printf-format", f"printf: %{d} is not supported", "fmt", hint)
    for d, operand in zip(directives, op.operands, strict=False):
        if isinstance(operand, Region) and d[-1] not in ADDRESSES:
            message = f"printf: %{d} stands for the buffer `{operand.buffer.name}`"
            hint = "%p prints its address; print elements with %d or %f"
            return Problem("printf-format", message, "args", hint)
        if (
            isinstance(operand, Expr)
            and (operand.dtype.is_float != (d[-1] in "fF"))
            and d[-1] != "p"
        ):
            kind = "a float" if operand.dtype.is_float else "an integer"
            hint = "use %f for floats, %d for integers, or T.cast the argument"
            return Problem("printf-format", f"printf: %{d} stands for {kind}", "args", hint)
    if len(directives) != len(op.operands):
        hint = "write one directive for each argument"
        return Problem(
            "printf-format",
            f"printf: the format has {len(directives)} directives, "
            f"found {len(op.operands)} arguments",
            "fmt",
            hint,
        )
    return None


def printed_format(op: Op) -> str:
    """The format as the device takes it: addresses of scalars are hexadecimal numbers, those of
    buffers pointers."""
    operands = iter(op.operands)

    def directive(match: re.Match[str]) -> str:
        if match[1] == "%":
            return match[0]
        if isinstance(next(operands, None), Expr):
            return "0x%x" if match[1] == "p" else match[0]
        return "%p" if match[1][-1] in ADDRESSES else match[0]

    return DIRECTIVE.sub(directive, op.attr("fmt"))


def _dump_placement(op: Op) -> tuple[Core, Pipe]:
    dumped = regions(op)[0][1]
    return CORE_OF_MEMORY.get(dumped.memory, Core.EITHER), Pipe.S


def _dumpable(op: Op, target: Target) -> Problem | None:
    """The chip has a path out of the memory."""
    buffer = op.region("buffer")
    if not possible(buffer.memory).isdisjoint(target.dumpable):
        return None
    message = f"dump_tensor: buffer `{buffer.buffer.name}` is in {buffer.memory.value}, of which "
    message += f"{target.name} can print nothing"
    hint = "dump the tile that was copied there, or what is copied out of it"
    return Problem("operand-memory", message, "buffer", hint)


def _core_of_condition(op: Op) -> tuple[Core, Pipe]:
    """The core and pipe that can read the operands of the condition."""
    condition = op.operand("condition")
    assert isinstance(condition, Expr), "the verifier demands a scalar"
    read = (e.buffer.memory for e in walk_expr(condition) if isinstance(e, Load))
    return next((CORE_OF_MEMORY[m] for m in read if m in CORE_OF_MEMORY), Core.EITHER), Pipe.S


OPS = (
    OpDef(
        name="printf",
        family="debug",
        doc="print scalars, C style, and addresses of buffers (%p); every core with work prints",
        ascend_c="printf",
        namespace="",
        operands=(OperandDef("args", Access.READ, PRINTABLE, scalar=True, variadic=True),),
        attrs=(AttrDef("fmt", str),),
        parameters=("fmt", "args"),
        placement=on(Core.EITHER, Pipe.S),
        axes=whole,
        effect=Effect.PRINT,
        shape_rule=_format,
    ),
    OpDef(
        name="dump_tensor",
        family="debug",
        doc="print the first size elements of a buffer, under the number desc",
        ascend_c="DumpTensor",
        namespace="",
        operands=(OperandDef("buffer", Access.READ, UB | L1 | L0C | GM), scalar("size")),
        attrs=(AttrDef("desc", int),),
        parameters=("buffer", "desc", "size", ArgumentDef("shape", default=())),
        placement=_dump_placement,
        shape_rule=_dumpable,
        axes=whole,
        effect=Effect.DUMP,
    ),
    OpDef(
        name="device_assert",
        family="debug",
        doc="the kernel ends with an error where the condition does not hold",
        ascend_c="ascendc_assert",
        namespace="",
        operands=(scalar("condition"),),
        attrs=(AttrDef("msg", str, ""), AttrDef("slug", str, "assertion")),
        parameters=("condition", "msg"),
        placement=_core_of_condition,
        axes=whole,
        effect=Effect.ASSERT,
    ),
)
