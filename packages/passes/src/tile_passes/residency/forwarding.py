"""Remove tiles that only pass a value on: what reads them reads the tile that they are copied
from."""

from __future__ import annotations

from tile_ir import (
    CHOICES_OF_OPEN,
    OPS,
    Body,
    Buffer,
    Func,
    Memory,
    Op,
    Stmt,
    bodies,
    buffers_of,
    replace_buffers,
    rewrite,
    walk,
    written_buffers,
)
from tile_passes.residency.value_uses import OPERAND, roles, touches


def forward_copies(func: Func) -> Func:
    """The function without open tiles that are written by one copy of a whole tile and read before
    that changes, by products or by copies to gm."""
    launch = func.launch
    body = launch.body
    single = with_one_name(func)
    gone = set[Buffer]()
    for tile in open_tiles(func):
        copy = _only_writer(body, tile)
        if copy is None:
            continue
        source = copy.region("src").buffer
        if source in gone or source not in single:  # another name may change it
            continue
        if not _all_readers_follow(body, copy, tile, source):
            continue
        body = rewrite(body, lambda s, copy=copy: () if s is copy else s)  # type: ignore[misc]
        body = replace_buffers(body, {tile: source})
        gone.add(tile)
    if not gone:
        return func
    return func.with_body(body, allocs=tuple(a for a in launch.allocs if a.buffer not in gone))


def open_tiles(func: Func) -> list[Buffer]:
    """The buffers whose memories are open, but for those whose bytes have two names."""
    return [b for b in with_one_name(func) if b.memory in CHOICES_OF_OPEN]


def with_one_name(func: Func) -> list[Buffer]:
    """The buffers whose bytes have no other name."""
    allocs = func.launch.allocs
    renamed = {a.alias_of for a in allocs}
    return [a.buffer for a in allocs if a.alias_of is None and a.buffer not in renamed]


def _only_writer(body: Body, tile: Buffer) -> Op | None:
    """The copy between whole tiles of one shape that alone writes the tile, if that is so."""
    writers = [s for s in walk(body) if tile in written_buffers((s,)) and not bodies(s)]
    match writers:
        case [Op() as copy] if copy.opdef is OPS["copy"]:
            src, dst = copy.region("src"), copy.region("dst")
            tiles = src.memory in CHOICES_OF_OPEN and src.buffer.shape == tile.shape
            plain = copy.attrs == (False, False, None)
            if tiles and plain and src.is_whole() and dst.is_whole():
                return copy
    return None


def _all_readers_follow(body: Body, copy: Op, tile: Buffer, source: Buffer) -> bool:
    """Whether all reads stand behind the copy in its own block, where nothing changes the source in
    between, and may read the source instead."""
    found = _block_of(body, copy)
    if found is None:
        return False
    place = next(i for i, s in enumerate(found) if s is copy)
    behind = found[place + 1 :]
    inside = {id(s) for s in walk(behind)}
    readers = [s for s in walk(body) if s is not copy and tile in buffers_of(s)]
    if not readers or any(id(s) not in inside for s in readers):
        return False
    last = max(i for i, s in enumerate(behind) if touches(s, tile))
    if source in written_buffers(behind[: last + 1]):
        return False
    return all(_may_read(s, tile, source) for s in readers)


def _may_read(stmt: Stmt, tile: Buffer, source: Buffer) -> bool:
    """Whether a reader is a product of the same type, or a copy to gm that rounds once."""
    if not isinstance(stmt, Op):
        return False
    if roles(stmt, tile) == {OPERAND}:
        return source.dtype == tile.dtype
    if stmt.opdef is not OPS["copy"]:
        return False
    dst = stmt.region("dst")
    return dst.memory is Memory.GM and dst.dtype == tile.dtype


def _block_of(body: Body, stmt: Stmt) -> Body | None:
    """The statement list that a statement stands in."""
    for s in body:
        if s is stmt:
            return body
        for inner in bodies(s):
            found = _block_of(inner, stmt)
            if found is not None:
                return found
    return None
