"""Give runs of products tiles of their own where the tiles they use have two names. Such a tile
is copied from the bytes of both names, and back to them where products add to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from tile_ir import (
    CHOICES_OF_OPEN,
    Alloc,
    Body,
    Buffer,
    Func,
    Op,
    Stmt,
    bodies,
    buffers_of,
    replace_buffers,
    walk,
    walk_ops,
    with_bodies,
    with_statements,
    written_buffers,
)
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.free_names import FreeNames
from tile_passes.residency.handover import handover
from tile_passes.residency.value_uses import OPERAND, SUM, ValueUses, roles


def with_own_tiles(func: Func) -> Func:
    """The function whose products use no tile that has two names."""
    body, allocs = func.launch.body, list(func.launch.allocs)
    names = FreeNames.of(func)
    for root in dict.fromkeys(a.alias_of for a in allocs if a.alias_of is not None):
        group = {root, *(a.buffer for a in allocs if a.alias_of == root)}
        if not all(b.memory in CHOICES_OF_OPEN for b in group):
            continue
        if any(roles(s, b) & {OPERAND, SUM} for s in walk_ops(body) for b in group):
            writer = _NameWriter(frozenset(group), names)
            body = writer.body(body)
            allocs += writer.allocs
    if body is func.launch.body:
        return func
    return func.with_body(body, allocs=tuple(allocs))


@dataclass(slots=True)
class _Run:
    """Statements that use one name, in products. `behind` follows them and uses no name, as long as
    the run may go on."""

    name: Buffer
    stmts: list[Stmt]
    behind: list[Stmt] = field(default_factory=list)


@dataclass(slots=True)
class _NameWriter:
    group: frozenset[Buffer]
    names: FreeNames
    allocs: list[Alloc] = field(default_factory=list)

    def body(self, body: Body) -> Body:
        found: list[Stmt] = []
        run: _Run | None = None
        for stmt in body:
            touched = {b for s in walk((stmt,)) for b in self.group & buffers_of(s)}
            if not touched:
                (found if run is None else run.behind).append(stmt)
                continue
            name = _of_products(stmt, touched)
            if run is not None and run.name == name:
                run.stmts += [*run.behind, stmt]
                run.behind.clear()
                continue
            found += self.closed(run)
            run = None if name is None else _Run(name, [stmt])
            if name is None:
                found.append(with_bodies(stmt, tuple(map(self.body, bodies(stmt)))))
        found += self.closed(run)
        return with_statements(body, found)

    def closed(self, run: _Run | None) -> Iterable[Stmt]:
        """The statements of a run with a tile of their own."""
        if run is None:
            return ()
        name = run.name
        tile = replace(name, name=self.names.fresh(f"{name.name}_alone"))
        self.allocs.append(Alloc(tile, name.loc))
        stmts = tuple(run.stmts)
        inside = replace_buffers(stmts, {name: tile})
        written, use = name in written_buffers(stmts), ValueUses(name).of_body(stmts)
        # What is copied back is the value of before where no product ran.
        needed = bool(use.reads) or (written and not use.ends)
        before = [handover(name, tile, stmts[0].loc)] if needed else []
        after = [handover(tile, name, stmts[-1].loc)] if written else []
        return (*before, *inside, *after, *run.behind)


def _of_products(stmt: Stmt, touched: set[Buffer]) -> Buffer | None:
    """The one name that is used, if only products use it, in one way."""
    if len(touched) != 1:
        return None
    (name,) = touched
    uses = [s for s in walk((stmt,)) if name in buffers_of(s)]
    only = all(isinstance(s, Op) and roles(s, name) in ({OPERAND}, {SUM}) for s in uses)
    return name if only else None
