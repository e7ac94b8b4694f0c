"""The statements of one block of a kernel, each with the cores that run it, and what it touches
outside its core: tensors in gm, and scalar variables.

Not here: what order they come in (`merge`), and which tensors hand values over (`handovers`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from tile_ir import (
    CORE_OF_MEMORY,
    Body,
    Buffer,
    Core,
    Expr,
    For,
    If,
    Let,
    Memory,
    Op,
    Region,
    Section,
    Stmt,
    Store,
    Var,
    bodies,
    buffers_of,
    core_of,
    loads,
    reads_memory,
    rewrite,
    simplify,
    walk,
    walk_expr,
)
from tile_ir.analysis import regions_of
from tile_ir.quick_dataclasses import dataclass

BOTH = frozenset({Core.CUBE, Core.VECTOR})


@dataclass(frozen=True, slots=True, eq=False)
class GmAccess:
    """One access of a tensor in gm: by which core, and in which loops and branches, outermost
    first."""

    buffer: Buffer
    region: Region
    writes: bool
    core: Core
    stmt: Stmt
    path: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """A statement of a block. `core` is that of the section it stands in; `number` its place in the
    text."""

    stmt: Stmt
    core: Core
    number: int

    def cores(self) -> frozenset[Core]:
        """The cores that do work of their own here."""
        return works_on(self.stmt) if self.core is Core.EITHER else frozenset({self.core})


def works_on(stmt: Stmt) -> frozenset[Core]:
    """The cores that do work of their own in a statement outside of sections."""
    found = set[Core]()
    for s, core in with_cores((stmt,), Core.EITHER):
        if core is not Core.EITHER and _works(s):
            found.add(core)
            if found == BOTH:
                break
    return frozenset(found)


class Step(NamedTuple):
    """A statement of a loop with its core; None where the loop stands in one core, and for a
    definition that both cores keep."""

    stmt: Stmt
    core: Core | None


def steps_of(stmt: Stmt) -> list[Step] | None:
    """The steps of a statement in a loop over both cores; None if it has work for both. A loop or
    branch with the work of one core is one step."""
    match stmt:
        case Section(core=core, body=body):
            return [Step(s, core) for s in body]
        case Let(value=value) if not reads_memory(value):
            return [Step(stmt, None)]
        case For() | If():
            cores = {s.core for s in walk((stmt,)) if isinstance(s, Section)}
            if len(cores) == 1 and _all_in_sections((stmt,)):
                (inside,) = rewrite((stmt,), lambda s: s.body if isinstance(s, Section) else s)
                return [Step(inside, cores.pop())]
    return None


def _all_in_sections(body: Body) -> bool:
    """Whether all but definitions, loops and branches stands in sections."""
    return all(
        isinstance(s, Section)
        or (isinstance(s, Let) and not reads_memory(s.value))
        or (isinstance(s, (For, If)) and all(_all_in_sections(b) for b in bodies(s)))
        for s in body
    )


def items(body: Body, core: Core = Core.EITHER) -> list[Item]:
    """The statements of a block, sections opened."""
    return [Item(s, c, n) for n, (s, c) in enumerate(_opened(body, core))]


def _opened(body: Body, core: Core) -> Iterator[tuple[Stmt, Core]]:
    for stmt in body:
        if isinstance(stmt, Section):
            yield from _opened(stmt.body, stmt.core)
        else:
            yield stmt, core if core is not Core.EITHER else _own_core(stmt)


def closed(ordered: list[Item], within: Core = Core.EITHER) -> Body:
    """The items as a block, neighbours of one core in a section; `within` is the core of the
    section that the block stands in already."""
    result: list[Stmt] = []
    for core, run in groupby(ordered, lambda item: item.core):
        stmts = tuple(item.stmt for item in run)
        if core in (Core.EITHER, within):
            result += stmts
        else:
            result.append(Section(core, stmts, stmts[0].loc))
    return tuple(result)


def _own_core(stmt: Stmt) -> Core:
    """The core a statement outside of sections names by itself."""
    match stmt:
        case Op():
            return core_of(stmt)
        case Store(buffer=buffer):
            return CORE_OF_MEMORY.get(buffer.memory, Core.EITHER)
    return Core.EITHER


def _works(stmt: Stmt) -> bool:
    return isinstance(stmt, (Op, Store)) or bool(loads(stmt))


def with_cores(body: Body, core: Core) -> Iterator[tuple[Stmt, Core]]:
    """Every statement with the core that runs it."""
    for stmt in body:
        inner = stmt.core if isinstance(stmt, Section) else core
        own = inner if inner is not Core.EITHER else _own_core(stmt)
        yield stmt, own
        for b in bodies(stmt):
            yield from with_cores(b, inner)


def gm_accesses(
    body: Body, core: Core = Core.EITHER, path: tuple[Stmt, ...] = ()
) -> Iterator[GmAccess]:
    """Every access of a tensor in gm, in the order of the text; what both cores do comes twice."""
    for stmt in body:
        inner = stmt.core if isinstance(stmt, Section) else core
        own = inner if inner is not Core.EITHER else _own_core(stmt)
        for region, writes in _gm_regions(stmt):
            for c in sorted(BOTH, key=lambda c: c.value) if own is Core.EITHER else (own,):
                yield GmAccess(region.buffer, region, writes, c, stmt, path)
        around = path if isinstance(stmt, Section) else (*path, stmt)
        for b in bodies(stmt):
            yield from gm_accesses(b, inner, around)


def _gm_regions(stmt: Stmt) -> Iterator[tuple[Region, bool]]:
    if not any(buffer.memory is Memory.GM for buffer in buffers_of(stmt)):
        return  # nearly always
    for region, access, atomic, _ in regions_of(stmt):
        if region.memory is Memory.GM:
            if access.reads and not atomic:
                yield region, False
            if access.writes:
                yield region, True


def variables(stmt: Stmt) -> Iterator[tuple[Buffer, bool]]:
    """Scalar variables that a statement, or one inside it, loads or stores."""
    for s in walk((stmt,)):
        for load in loads(s):
            if load.buffer.memory is Memory.VAR:
                yield load.buffer, False
        if isinstance(s, Store) and s.buffer.memory is Memory.VAR:
            yield s.buffer, True


def mentions(expr: Expr, var: Var, values: Mapping[Var, Expr]) -> bool:
    """Whether an expression depends on a variable, definitions put in."""
    for part in walk_expr(expr):
        if part == var:
            return True
        if isinstance(part, Var) and part in values and mentions(values[part], var, values):
            return True
    return False


def definitions(body: Body) -> dict[Var, Expr]:
    """The values of lets anywhere in the text; a name that is used twice has none."""
    found: dict[Var, Expr] = {}
    twice = set()
    for stmt in walk(body):
        if isinstance(stmt, Let):
            twice |= {stmt.var} & found.keys()
            found[stmt.var] = stmt.value
    return {v: e for v, e in found.items() if v not in twice}


def same_run(a: For, b: For) -> bool:
    """Whether two loops surely take the same iterations."""
    return simplify(a.start) == simplify(b.start) and simplify(a.stop) == simplify(b.stop)
