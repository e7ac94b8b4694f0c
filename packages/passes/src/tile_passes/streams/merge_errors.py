"""Write the errors for statements of both cores that have no common order."""

from __future__ import annotations

from collections.abc import Sequence

from tile_ir import Core, For, Func, KernelError, print_expr
from tile_ir.analysis import trip_count
from tile_passes.streams.handovers import Handover
from tile_passes.streams.items import GmAccess, Item
from tile_passes.streams.loops_in_step import LoopsInStep


def no_order(func: Func, found: Sequence[Handover]) -> KernelError:
    """The error where each core would wait for the other."""
    loc = found[0].pairs[0].reader.stmt.loc if found else func.loc
    names = ", ".join(f"`{h.buffer.name}`" for h in found)
    return KernelError(
        "handover-circular",
        f"each core would wait for the other: no order of the statements makes {names} before it "
        "is read",
        loc,
        "hand the value over before it is needed",
    )


def other_iterations(name: str, loops: LoopsInStep) -> KernelError:
    x, y = loops.writer, loops.reader
    verb = "may not" if loops.unknown else "do not"
    return KernelError(
        "handover-iterations",
        f"`{name}` is written in every iteration of this loop and read in every iteration of the "
        f"loop in line {y.loc.line}, but they {verb} run equally often "
        f"({_iterations(x)} and {_iterations(y)})",
        x.loc,
        "give both loops the same bounds, or the workspace a place for every iteration",
    )


def other_guards(name: str, loops: LoopsInStep) -> KernelError:
    return KernelError(
        "handover-guards",
        f"`{name}` is written in every iteration of this loop and read in every iteration of the "
        f"loop in line {loops.reader.loc.line}, but the branches around the loops may not be "
        "taken together",
        loops.writer.loc,
        "put both loops under the same conditions, of values that nothing changes, and what only "
        "one core does under a condition inside its loop",
    )


def later_iteration(first: GmAccess, then: GmAccess) -> KernelError:
    return KernelError(
        "handover-unclear",
        "the loops of both cores hand values over in every iteration, so they run together, but "
        f"in line {then.stmt.loc.line} `{then.buffer.name}` is used at places that line "
        f"{first.stmt.loc.line} comes to in later iterations",
        then.stmt.loc,
        f"use `{then.buffer.name}` in a loop of its own behind both",
    )


def _iterations(loop: For) -> str:
    return print_expr(trip_count(loop))


def several_loops(loop: Item, one: Item, other: Item) -> KernelError:
    its, others = "the cube core", "the vector cores"
    if Core.CUBE not in loop.cores():
        its, others = others, its
    return KernelError(
        "handover-unclear",
        f"this loop of {its} hands values to and from two loops of {others}, in "
        f"lines {one.stmt.loc.line} and {other.stmt.loc.line}",
        loop.stmt.loc,
        "hand everything over in one loop, or divide this one",
    )
