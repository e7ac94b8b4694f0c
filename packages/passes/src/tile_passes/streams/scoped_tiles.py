"""Merge loops in step around tiles on chip that one scope of a kernel leaves to another, where a
copy carries them from core to core. It happens before the scopes go, as with tensors that hand
values over."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from tile_ir import Body, Buffer, Core, Func, Op, Section, Stmt, bodies, buffers_of
from tile_ir.analysis import common_path, regions_of
from tile_passes.streams.handovers import Handover, Pair, written_in
from tile_passes.streams.items import GmAccess, definitions, gm_accesses
from tile_passes.streams.loops_in_step import Meanings, loops_in_step


def in_step(func: Func, copies: Sequence[Op]) -> Body:
    """The body, in which loops of different scopes that share the tile of such a copy in every
    iteration are one.

    Raises KernelError where the scopes do not fit each other.
    """
    body = func.launch.body
    meanings = Meanings(definitions(body), written_in(list(gm_accesses(body))))
    tiles = {r.buffer for op in copies for r in (op.region("src"), op.region("dst"))}
    pairs = _pairs(list(_accesses(body, tiles, Core.EITHER, ())), copies, meanings)
    if not pairs:
        return body
    # Only kernels with handovers pay for the import of networkx.
    from tile_passes.streams.merge import Circular, Streams, merged
    from tile_passes.streams.merge_errors import no_order

    by_tile = groupby(sorted(pairs, key=_name), key=_name)
    handed = tuple(Handover(p[0].writer.buffer, p, False) for p in (tuple(g) for _, g in by_tile))
    try:
        return merged(body, Streams(handed, meanings.values, meanings.written))
    except Circular:
        raise no_order(func, handed) from None


def _name(pair: Pair) -> str:
    return pair.writer.buffer.name


def _pairs(found: Sequence[GmAccess], copies: Sequence[Op], meanings: Meanings) -> list[Pair]:
    """Pair the accesses of a copy in one scope with the accesses of the tile in a scope of the
    other core, in loops in step."""
    pairs = []
    for own in (a for a in found if any(a.stmt is op for op in copies)):
        for other in found:
            if other.buffer is not own.buffer or other.core is own.core:
                continue
            if own.writes or other.writes:
                writer, reader = (own, other) if own.writes else (other, own)
                outside = len(common_path(writer.path, reader.path))
                if loops_in_step(writer, reader, outside, meanings) is not None:
                    pairs.append(Pair(writer, reader))
    return pairs


def _accesses(
    body: Body, tiles: Collection[Buffer], core: Core, path: tuple[Stmt, ...]
) -> Iterator[GmAccess]:
    """Every access of the tiles in a scope; a sum that goes on is written by its core."""
    for stmt in body:
        inner = stmt.core if isinstance(stmt, Section) else core
        if inner is not Core.EITHER and not bodies(stmt) and buffers_of(stmt) & set(tiles):
            for region, access, _, _ in regions_of(stmt):
                if region.buffer in tiles:
                    yield GmAccess(region.buffer, region, access.writes, inner, stmt, path)
        around = path if isinstance(stmt, Section) else (*path, stmt)
        for b in bodies(stmt):
            yield from _accesses(b, tiles, inner, around)
