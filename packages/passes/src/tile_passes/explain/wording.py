"""Statements, loops and bytes of a section in a few words, for `explain` and pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tile_ir import Expr, For, Func, If, Let, Memory, Op, Region, Store, While, print_expr
from tile_ir.analysis import Touch
from tile_passes.order.tree import Branch, Order, Repeat, Work

# Scalar expressions longer than this are cut in labels.
LONGEST_VALUE = 40


def page(func: Func, lines: Iterable[str], nothing: str) -> str:
    """The lines on a function under its name and place; `nothing` if there are none."""
    head = f"{func.name} ({func.loc.file}:{func.loc.line})"
    return "\n".join([head, *(list(lines) or ["", nothing])]) + "\n"


def statement(work: Work) -> str:
    """A statement in few words: its operation and the names of its operands."""
    stmt = work.stmt
    match stmt:
        case Op(opdef=opdef, operands=operands):
            words = [
                o.buffer.name if isinstance(o, Region) else value_text(o)
                for o in operands
                if isinstance(o, (Region, Expr))
            ]
            return f"{opdef.name}({', '.join(words)})"
        case Let(var=var, value=value):
            return f"{var.name} = {value_text(value)}"
        case Store(buffer=buffer, indices=indices, value=value):
            places = ", ".join(value_text(i) for i in indices)
            return f"{buffer.name}[{places}] = {value_text(value)}"
    return type(stmt).__name__.lower()


def existing(order: Order) -> str:
    """A flag or barrier of the source, or of a composite operation."""
    stmt = order.stmt
    assert isinstance(stmt, Op), "flags and barriers are operations"
    words = [str(a) for a in stmt.attrs] + [
        value_text(o) for o in stmt.operands if isinstance(o, Expr)
    ]
    return " ".join([stmt.opdef.name, *words])


def value_text(expr: Expr) -> str:
    text = re.sub(r"[%$](?=\w)", "", print_expr(expr))
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def header(item: Branch | Repeat) -> str:
    """The first line of a loop or branch."""
    match item.stmt:
        case For(var=var, start=start, stop=stop):
            return f"for {var.name} in {value_text(start)} .. {value_text(stop)}"
        case While(condition=condition):
            return f"while {value_text(condition)}"
        case If(condition=condition):
            return f"if {value_text(condition)}"
    raise AssertionError("nothing else has a body")


def loop_name(loop: Repeat) -> str:
    """`loop over i (line 12)`."""
    stmt = loop.stmt
    name = f"loop over {stmt.var.name}" if isinstance(stmt, For) else "while loop"
    return f"{name} (line {loop.loc.line})"


def bytes_touched(touch: Touch, other: Touch) -> str:
    """The bytes that two touches share, in words."""
    name, second = touch.region.buffer.name, other.region.buffer.name
    names = name if name == second else f"{name} and {second}"
    low, high = max(touch.low, other.low), min(touch.high, other.high)
    place = touch.place.value if isinstance(touch.place, Memory) else "gm"
    if high == float("inf"):
        return f"{names} ({place})" if low <= 0 else f"{names} ({place} from byte {low:g})"
    return f"{names} ({place} bytes {int(low)} to {int(high) - 1})"
