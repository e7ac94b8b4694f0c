"""Read single elements from the tensor that a tile was copied from, where both kinds of core decide
by them: each reads gm by itself, and nothing need be handed over."""

from __future__ import annotations

from collections.abc import Container, Mapping

from tile_ir import (
    OPS,
    ZERO,
    Body,
    Buffer,
    Expr,
    Func,
    Load,
    Memory,
    Op,
    Region,
    Stmt,
    bodies,
    constant_value,
    is_constant,
    map_own_expressions,
    reads_memory,
    rebuild,
    walk,
    with_bodies,
    with_statements,
    written_buffers,
)
from tile_passes.parallel.nest_form import is_parallel
from tile_passes.residency.forwarding import with_one_name


def read_tensors(func: Func) -> Func:
    """The function whose scalar code reads tensors without writes, instead of their copies."""
    body = func.launch.body
    copies = _copies(body, frozenset(with_one_name(func)))
    return func if not copies else func.with_body(_body(body, copies, {}))


def _copies(body: Body, tiles: Container[Buffer]) -> frozenset[Op]:
    """Copies that alone write all of a tile, which has one name, from inside of a tensor that is
    only read."""
    written = written_buffers(body)
    writers: dict[Buffer, list[Stmt]] = {}
    for stmt in walk(body):
        if not bodies(stmt):
            for buffer in written_buffers((stmt,)):
                writers.setdefault(buffer, []).append(stmt)
    single = [found[0] for b, found in writers.items() if len(found) == 1 and b in tiles]
    return frozenset(
        s for s in single
        if isinstance(s, Op) and s.opdef is OPS["copy"] and _is_plain(s)
        and s.region("src").buffer not in written
    )  # fmt: skip


def _is_plain(op: Op) -> bool:
    src, dst = op.region("src"), op.region("dst")
    return (
        src.memory is Memory.GM
        and dst.memory is not Memory.GM
        and src.dtype is dst.dtype
        and dst.is_whole()
        and op.attrs == (False, False, None)
        and all(_is_inside(src, n) for n in range(len(src.dims)))
    )


def _is_inside(region: Region, dim: int) -> bool:
    s, size = region.dims[dim], region.buffer.shape[dim]
    if s.stride != 1 or reads_memory(s.offset) or reads_memory(s.extent):
        return False
    if is_constant(s.extent, 1):
        return True  # a place that the copy reads as well
    extent, whole = constant_value(s.extent), constant_value(size)
    fits = extent is not None and whole is not None and extent <= whole
    return is_constant(s.offset, 0) and (s.extent == size or fits)


def _body(body: Body, copies: frozenset[Op], known: Mapping[Buffer, Op]) -> Body:
    result: list[Stmt] = []
    for stmt in body:
        result.append(_stmt(stmt, copies, known))
        if isinstance(stmt, Op) and stmt in copies:
            known = {**known, stmt.region("dst").buffer: stmt}
    return with_statements(body, result)


def _stmt(stmt: Stmt, copies: frozenset[Op], known: Mapping[Buffer, Op]) -> Stmt:
    if is_parallel(stmt):
        return stmt
    new = map_own_expressions(stmt, lambda e: _from_tensors(e, known)) if known else stmt
    return with_bodies(new, tuple(_body(b, copies, known) for b in bodies(new)))


def _from_tensors(expr: Expr, known: Mapping[Buffer, Op]) -> Expr:
    expr = rebuild(expr, lambda e: _from_tensors(e, known))
    if isinstance(expr, Load) and expr.buffer in known:
        return _element(known[expr.buffer], expr)
    return expr


def _element(copy: Op, load: Load) -> Load:
    """The element of the tensor that one of the tile is."""
    src, axes = copy.region("src"), copy.opdef.axes
    assert axes is not None, "a copy has dimensions that correspond"
    labels = dict(zip((d.name for d in copy.opdef.operands), axes(copy), strict=False))
    of_src, of_dst = labels["src"], labels["dst"]
    if of_src is None or of_dst is None:
        return load
    place = {label: load.indices[n] for n, label in enumerate(of_dst) if label is not None}
    indices = [
        s.offset + (place.get(label, ZERO) if label is not None else ZERO)
        for s, label in zip(src.dims, of_src, strict=True)
    ]
    return Load(src.buffer, tuple(indices))
