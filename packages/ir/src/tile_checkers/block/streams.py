"""Reduce a block to its instruction streams and the statements that matter between them.

These are signals to other cores, accesses to gm that may meet those of another stream, and
statements that order these inside the core.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from tile_checkers.context import Context, launch_context
from tile_checkers.loop_facts import CROSS, SYNC, effects_in
from tile_checkers.touched import touched_by_pipes
from tile_ir import (
    Body,
    Break,
    Buffer,
    Const,
    Core,
    Effect,
    Expr,
    For,
    Func,
    If,
    Let,
    Load,
    Memory,
    Op,
    Region,
    Section,
    Stmt,
    Store,
    Var,
    While,
    bodies,
    expressions,
    loads,
    walk_expr,
    with_bodies,
)
from tile_ir import walk as walk_statements
from tile_ir.analysis import (
    Interval,
    Ranges,
    Touch,
    apart,
)
from tile_ir.analysis.regions import defined_region
from tile_ir.quick_dataclasses import dataclass, replace
from tile_ir.ranks import is_far

NAMES = ("the cube core", "vector core 0", "vector core 1")


@dataclass(eq=False, slots=True)
class StreamSite:
    """The accesses of a statement to gm by one pipe in one stream. `partners` are the sites of
    other streams that may meet it in some iteration. `regions` are in terms of loop variables and
    of values that are equal on all cores; `loops` are the variables around it, outermost first."""

    core: int
    stmt: Stmt
    pipe: int
    touches: tuple[Touch, ...]
    regions: tuple[Region, ...]
    context: Context
    partners: list[StreamSite] = field(default_factory=list)
    loops: tuple[Var, ...] = ()

    def __post_init__(self) -> None:
        self.loops = tuple(s.var for s in self.context.path if isinstance(s, For))

    @property
    def known(self) -> Ranges:
        return self.context.known

    def writes(self, buffer: Buffer) -> bool:
        return any(t.writes and t.region.buffer is buffer for t in self.touches)


@dataclass(frozen=True, slots=True)
class Stream:
    """One core of the block: its statements, and its number as the launch gives it."""

    core: int
    body: Body
    given: Mapping[Var, Expr]
    sites: Mapping[int, tuple[StreamSite, ...]]


def streams_of(func: Func) -> tuple[Stream, ...]:
    """The streams of a block that have something to do with each other; none if none have."""
    lanes = (1,) if func.launch.threads == 1 else (1, 2)
    found = []
    for section in func.launch.body:
        if isinstance(section, Section):
            found += [(c, section.body) for c in ((0,) if section.core is Core.CUBE else lanes)]
    if len(found) == 1 and not _signals(found[0][1]):
        return ()
    whole = {core: tuple(s for c, b in found if c == core for s in b) for core, _ in found}
    launch, lane = launch_context(func), func.launch.lane
    given: dict[int, dict[Var, Expr]] = {c: {lane: Const(max(0, c - 1), lane.dtype)} for c in whole}
    sites: dict[int, list[StreamSite]] = {}
    for core, body in sorted(whole.items()):
        known = {**launch.known, lane: Interval.exactly(max(0, core - 1))}
        sites[core] = list(_sites(core, body, replace(launch, known=known, values=given[core])))
    _pair(sites, frozenset(launch.known))
    asked = _elements_asked(whole.values())
    result = []
    for core, body in sorted(whole.items()):
        of_stmt: dict[int, tuple[StreamSite, ...]] = {}
        for site in sites[core]:
            if site.partners or any(map(site.writes, asked)):
                of_stmt[id(site.stmt)] = (*of_stmt.get(id(site.stmt), ()), site)
        result.append(Stream(core, pruned(body, frozenset(of_stmt)), given[core], of_stmt))
    pairs = any(site.partners for found in sites.values() for site in found)
    return tuple(result) if pairs or any(map(_signals, whole.values())) else ()


def _elements_asked(whole: Iterable[Body]) -> frozenset[Buffer]:
    """The tensors of which scalar units read elements: their contents may decide the path of a
    core."""
    return frozenset(
        x.buffer
        for body in whole
        for stmt in walk_statements(body)
        for x in loads(stmt)
        if x.buffer.memory is Memory.GM
    )


def _signals(body: Body) -> bool:
    return any(not CROSS.isdisjoint(effects_in(s)) for s in body)


# Sites -------------------------------------------------------------------------------------------


def _sites(core: int, body: Body, context: Context) -> Iterator[StreamSite]:
    for stmt in body:
        # A store writes its line back itself; dropping clean lines changes nothing.
        cache = isinstance(stmt, Op) and stmt.opdef.effect is Effect.CACHE
        parts = touched_by_pipes(stmt, _Anywhere(), context.known, context.values)
        for pipe, _, touched in () if cache else parts:
            of_gm = tuple(t for t in touched if t.region.memory is Memory.GM)
            if of_gm:
                regions = tuple(defined_region(t.region, context.values) for t in of_gm)
                yield StreamSite(core, stmt, pipe, of_gm, regions, context)
        for block in bodies(stmt):
            yield from _sites(core, block, context.inside(stmt))
        if isinstance(stmt, Let):
            context = context.let(stmt)


class _Anywhere(dict[Buffer, int]):
    """Addresses of buffers, where these do not matter."""

    def __missing__(self, buffer: Buffer) -> int:
        return 0


def _pair(sites: dict[int, list[StreamSite]], everywhere: frozenset[Var]) -> None:
    """Sites of different streams that may have a byte in common, one of them writing it."""
    of_buffer: dict[tuple[int, Buffer], list[StreamSite]] = {}
    for core, mine in sites.items():
        for site in mine:
            for t in site.touches:
                at = of_buffer.setdefault((core, t.region.buffer), [])
                if site not in at:
                    at.append(site)
    for (core, buffer), mine in of_buffer.items():
        for other in sites:
            if other <= core:
                continue
            for a in mine:
                for b in of_buffer.get((other, buffer), ()):
                    if b not in a.partners and _may_meet(a, b, everywhere):
                        a.partners.append(b)
                        b.partners.append(a)


def _may_meet(a: StreamSite, b: StreamSite, everywhere: frozenset[Var]) -> bool:
    known = {**a.known, **b.known}
    for x, one in zip(a.touches, a.regions, strict=True):
        for y, two in zip(b.touches, b.regions, strict=True):
            if is_far(x.region) != is_far(y.region):
                continue  # words of ranks are in order with the own instance, not flags of cores
            if x.conflicts(y) and not apart(one, two, everywhere, known):
                return True
    return False


# What is left out --------------------------------------------------------------------------------


def pruned(body: Body, essential: frozenset[int]) -> Body:
    """Keep the statements that matter: the `essential` ones, by identity, synchronisation, and
    definitions of names in them."""
    needed: frozenset[Var | Buffer] = frozenset()
    while True:
        kept = _kept(body, essential, needed)
        named = frozenset(_named(kept))
        if named <= needed:
            return kept
        needed |= named


def _kept(body: Body, essential: frozenset[int], needed: frozenset[Var | Buffer]) -> Body:
    result: list[Stmt] = []
    for stmt in body:
        parts = tuple(_kept(b, essential, needed) for b in bodies(stmt))
        match stmt:
            case _ if id(stmt) in essential:
                result.append(stmt)  # its accesses are looked up by its identity
                continue
            case Let(var=name) | Store(buffer=name):
                keep = name in needed
            case Op():
                effect = stmt.opdef.effect
                keep = effect in SYNC | CROSS or effect is Effect.CACHE
            case For() | While():
                keep = any(not isinstance(s, (Break, If)) for s in walk_statements(parts[0]))
            case _:
                keep = isinstance(stmt, Break) or any(parts)
        if keep:
            result.append(with_bodies(stmt, parts) if parts else stmt)
    return tuple(result)


def _named(body: Body) -> Iterator[Var | Buffer]:
    for stmt in walk_statements(body):
        for expr in _asked(stmt):
            for e in walk_expr(expr):
                if isinstance(e, Var):
                    yield e
                if isinstance(e, Load) and e.buffer.memory is Memory.VAR:
                    yield e.buffer


def _asked(stmt: Stmt) -> Iterator[Expr]:
    """The expressions of a statement whose values matter: not those of places on the chip."""
    if not isinstance(stmt, Op):
        yield from expressions(stmt)
        return
    for operand in stmt.operands:
        if isinstance(operand, Expr):
            yield operand
        elif operand is not None and operand.memory is Memory.GM:
            for s in operand.dims:
                yield from (s.offset, s.extent)


__all__ = ["NAMES", "Stream", "StreamSite", "pruned", "streams_of"]
