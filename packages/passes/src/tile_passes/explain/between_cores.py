"""Explain the compiler's decisions between the cores of a block, as text: the core of each
statement, the workspaces that carry tiles from one to another, and the signals that order them."""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir import Body, Core, For, Func, If, Op, Stmt, Target, While, bodies, walk
from tile_ir.ops.movement import goes_through_workspace
from tile_passes.insert_cross_core_sync import find_signals
from tile_passes.merge_streams import merge_streams
from tile_passes.order.channels import Counter, Place
from tile_passes.order.unroll import core_tree
from tile_passes.plan_workspace import plan_workspace
from tile_passes.streams.items import items

_NAMES: dict[Place, str] = {
    Core.CUBE: "cube core",
    Core.VECTOR: "vector cores",
    Core.EITHER: "both",
}


def explain_workspaces(func: Func, target: Target) -> str:
    """A line for each workspace: how large it is, and the copy that it carries."""
    copies = {
        s.loc: s for s in walk(func.launch.body) if isinstance(s, Op) and goes_through_workspace(s)
    }
    if not copies:
        return "no copy goes from one core to another\n"
    planned = plan_workspace.run(func, target)
    lines = []
    for buffer in planned.tensors[len(func.tensors) :]:
        copy = copies[buffer.loc]
        src, dst = copy.region("src").buffer, copy.region("dst").buffer
        shape = " x ".join(str(d) for d in (buffer.static_shape() or ("blocks", "...")))
        ends = f"`{src.name}` ({src.memory.value}) to `{dst.name}` ({dst.memory.value})"
        lines.append(
            f"`{buffer.name}` [{shape}] {buffer.dtype} carries {ends}, line {copy.loc.line}\n"
        )
    return "".join(lines)


def explain_streams(func: Func, target: Target) -> str:
    """The statements of both cores in the order that the compiler takes for the program's."""
    merged = merge_streams.run(func, target)
    return "".join(f"{line}\n" for line in _stream_lines(merged.launch.body, Core.EITHER, 0))


def _stream_lines(body: Body, core: Core, depth: int) -> Iterator[str]:
    for item in items(body, core):
        owner = _NAMES[item.core] if not bodies(item.stmt) else ""
        yield f"{owner:13}line {item.stmt.loc.line:<5}{'  ' * depth}{_word(item.stmt)}"
        for inner in bodies(item.stmt):
            yield from _stream_lines(inner, item.core, depth + 1)


def _word(stmt: Stmt) -> str:
    match stmt:
        case Op():
            return stmt.opdef.name
        case For(var=var):
            return f"for {var.name}"
        case If():
            return "if"
        case While():
            return "while"
    return type(stmt).__name__.lower()


def explain_signals(func: Func, target: Target) -> str:
    """A line for each signal between cores: from where to where, and for what."""
    found = find_signals(func, core_tree(func), target).events
    if not found:
        return "no core waits for another by a flag of the compiler's\n"
    return "".join(
        f"{_signal_line(s, number)}\n" for s, number in found.items() if isinstance(s, Counter)
    )


def _signal_line(signal: Counter, number: int) -> str:
    source, sink = _NAMES[signal.source], _NAMES[signal.target]
    after = signal.block.items[signal.set_after].loc.line
    before = signal.block.items[signal.wait_before].loc.line
    names = sorted({d.before.region.buffer.name for d in signal.covers})
    what = ", ".join(f"`{n}`" for n in names)
    where = f"{source} behind line {after} ({signal.pipe.value}) to {sink} before line {before}"
    if not signal.carried:
        return f"flag {number}: {where}: {what} is ready"
    ahead = f"{signal.distance} iteration{'s' * (signal.distance > 1)} ahead"
    if not names:
        return f"flag {number}: {where}: the counter has room, {ahead}"
    return f"flag {number}: {where}: {what} may be written again, {ahead}"
