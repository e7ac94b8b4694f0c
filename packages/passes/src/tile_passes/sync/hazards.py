"""Names what must be ordered: kind, bytes, and the loop that carries it. Orders nothing itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from tile_ir import Memory, Op, Region, Store
from tile_ir.expr import Expr
from tile_ir.nodes import For, If, Let, While
from tile_ir.printer import print_expr
from tile_ir.touched_bytes import Touch
from tile_passes.sync.conflicts import meet
from tile_passes.sync.tree import Branch, Order, Repeat, Site, Tree, Work, meeting

# Scalar expressions longer than this are cut in labels.
LONGEST_VALUE = 40


class Kind(Enum):
    """What goes wrong without the order. A signal tells other cores that work is complete."""

    RAW = "RAW"
    WAW = "WAW"
    WAR = "WAR"
    SIGNAL = "signal"


@dataclass(frozen=True, slots=True)
class Hazard:
    """`later` must wait for `earlier`: of the same round, or of an earlier one of the loop
    `carried`. `before` and `after` are what the two touch; None for a signal."""

    earlier: Work
    later: Work
    kind: Kind
    carried: Repeat | None
    before: Touch | None
    after: Touch | None


def hazards(tree: Tree, conflicts: list[int]) -> list[Hazard]:
    """Every hazard of the section, by the later statement, each once."""
    found: dict[Hazard, None] = {}
    for later in tree.sites:
        for _, earlier, run in reversed([*tree.facts_of(conflicts[later.bit])]):
            found.update(dict.fromkeys(hazards_between(tree, earlier, later, run)))
    return list(found)


def hazards_between(
    tree: Tree, earlier: Site, later: Site, run: Repeat | None = None
) -> list[Hazard]:
    """Why one site comes after another; nothing if the one never runs before the other. `run` is a
    loop around both, where it does so in an earlier run of that loop only."""
    happens, loop = carried_by(earlier, later)
    if run is not None:
        happens, loop = run.block.loop is not None, run.block.loop
    if not happens:
        return []
    a, b = earlier.item, later.item
    if not later.touches:
        return [Hazard(a, b, Kind.SIGNAL, loop, None, None)]
    found = []
    for before in earlier.touches:
        for after in later.touches:
            if meet(tree, (earlier, before), (later, after)):
                found.append(Hazard(a, b, _kind(before, after), loop, before, after))
    return found


def _kind(before: Touch, after: Touch) -> Kind:
    if not before.writes:
        return Kind.WAR
    return Kind.WAW if after.writes else Kind.RAW


def carried_by(earlier: Site, later: Site) -> tuple[bool, Repeat | None]:
    """Whether the one may run before the other, and the loop from whose earlier round it does so;
    no loop: from earlier in the same round."""
    block, i, j = meeting(earlier.item, later.item)
    phased = []
    around = block.loop
    while around is not None:
        if around.modulus > 1:
            phased.append(around)
        around = around.block.loop
    for depth, loop in enumerate(reversed(phased)):
        if earlier.phases[depth] != later.phases[depth]:
            return True, loop
    if i < j:
        return True, None
    return block.loop is not None, block.loop


def statement(work: Work) -> str:
    """A statement in few words: its operation and the names of what it works on."""
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
    """What two touches share, in words."""
    name, second = touch.region.buffer.name, other.region.buffer.name
    names = name if name == second else f"{name} and {second}"
    low, high = max(touch.low, other.low), min(touch.high, other.high)
    place = touch.place.value if isinstance(touch.place, Memory) else "gm"
    if high == float("inf"):
        return f"{names} ({place})" if low <= 0 else f"{names} ({place} from byte {low:g})"
    return f"{names} ({place} bytes {int(low)} to {int(high) - 1})"
