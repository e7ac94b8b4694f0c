"""Where the values of each tile lie that products and vector code both use, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tile_ir import (
    OPS,
    Buffer,
    Func,
    Loc,
    Memory,
    Op,
    Region,
    Stmt,
    Target,
    bodies,
    buffers_of,
    walk,
)
from tile_passes.explain.wording import page
from tile_passes.place_buffers import place_buffers


def explain_buffers(func: Func, target: Target) -> str:
    """The life of every tile that gets a place in several memories, line by line."""
    placed = place_buffers.run(func, target)
    parts: dict[Loc, list[Buffer]] = {}
    for alloc in placed.launch.allocs:
        parts.setdefault(alloc.buffer.loc, []).append(alloc.buffer)
    names = {a.buffer.loc: a.buffer.name for a in func.launch.allocs}
    split = {loc: found for loc, found in parts.items() if len(found) > 1 and loc in names}
    lines = [""]
    for loc, found in split.items():
        lines.append(f"`{names[loc]}` at line {loc.line}:")
        lines += _life(placed, {b: b.memory for b in found})
    if not split:
        lines.append("every tile is in one memory")
    return page(func, lines, "")


def _life(func: Func, parts: Mapping[Buffer, Memory]) -> Iterator[str]:
    """One line of text for each statement that uses a part, in the order of the program."""
    last = ""
    for stmt in walk(func.launch.body):
        if bodies(stmt) or not any(b in parts for b in buffers_of(stmt)):
            continue
        text = f"  line {stmt.loc.line}: {_said(stmt, parts)}"
        if text != last:
            yield text
        last = text


def _said(stmt: Stmt, parts: Mapping[Buffer, Memory]) -> str:
    memories = [parts[b].value for b in buffers_of(stmt) if b in parts]
    if isinstance(stmt, Op) and stmt.opdef is OPS["copy"]:
        src, dst = (o for o in stmt.operands if isinstance(o, Region))
        if src.buffer in parts and dst.buffer in parts:
            return f"handed over from {src.memory.value} to {dst.memory.value}"
        return f"copied from {src.memory.value} to {dst.memory.value}"
    what = stmt.opdef.called if isinstance(stmt, Op) else "elements"
    return f"{what} in {' and '.join(sorted(set(memories)))}"
