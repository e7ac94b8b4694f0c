"""Whether every flag and barrier of a kernel is needed: each is left out, alone and with all others
of its flag, and the checkers have to object."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fuzz.verdict import is_sync
from tile_ir import Effect, Func, Op
from tile_ir.analysis.intervals import interval, launch_ranges, walk_with_ranges
from tile_ir.expr import Expr
from tile_ir.nodes import Stmt
from tile_ir.traversal import rewrite, walk


@dataclass(frozen=True)
class Removal:
    """What was left out, and the function without it."""

    stmts: tuple[Op, ...]
    func: Func

    @property
    def name(self) -> str:
        first = self.stmts[0]
        attrs = "_".join(str(a) for a in first.attrs)
        return f"{first.opdef.name} {attrs} at {first.loc}" + (
            f" and {len(self.stmts) - 1} more" if len(self.stmts) > 1 else ""
        )


@dataclass(frozen=True)
class Minimality:
    """Instructions left out and those that somebody noticed; the same for whole flags."""

    single: int = 0
    single_noticed: int = 0
    flags: int = 0
    flags_noticed: int = 0
    unnoticed: tuple[str, ...] = ()

    def __add__(self, other: Minimality) -> Minimality:
        return Minimality(
            self.single + other.single,
            self.single_noticed + other.single_noticed,
            self.flags + other.flags,
            self.flags_noticed + other.flags_noticed,
            (*self.unnoticed, *other.unnoticed)[:20],
        )


def minimality(func: Func, noticed: Callable[[Func], bool]) -> Minimality:
    """How many removals from a SYNCED function are noticed."""
    singles = [(r, noticed(r.func)) for r in single_removals(func)]
    flags = [(r, noticed(r.func)) for r in flag_removals(func)]
    return Minimality(
        len(singles),
        sum(n for _, n in singles),
        len(flags),
        sum(n for _, n in flags),
        tuple(f"{func.name}: {r.name}" for r, n in (*singles, *flags) if not n)[:20],
    )


def single_removals(func: Func) -> Iterator[Removal]:
    for stmt in walk(func.launch.body):
        if is_sync(stmt):
            assert isinstance(stmt, Op)
            yield without(func, (stmt,))


def flag_removals(func: Func) -> Iterator[Removal]:
    """All sets and waits of a flag at once: those of one pair whose ids may be equal."""
    ranges = launch_ranges(func)
    groups: list[tuple[tuple[object, ...], set[int], list[Op]]] = []
    for section in func.launch.body:
        for stmt, known in walk_with_ranges((section,), ranges):
            if not isinstance(stmt, Op) or stmt.opdef.effect not in (
                Effect.SET_FLAG,
                Effect.WAIT_FLAG,
            ):
                continue
            event = stmt.operand("event_id")
            assert isinstance(event, Expr), "an id is a scalar"
            found = interval(event, known)
            ids = set(range(max(int(found.low), 0), int(min(found.high, 7)) + 1))
            key = (section, *stmt.attrs)
            same = [g for g in groups if g[0] == key and g[1] & ids]
            merged = (
                key,
                ids.union(*(g[1] for g in same)),
                [o for g in same for o in g[2]] + [stmt],
            )
            groups = [g for g in groups if g not in same] + [merged]
    for _, _, ops in groups:
        yield without(func, tuple(ops))


def without(func: Func, stmts: tuple[Op, ...]) -> Removal:
    gone = set(stmts)

    def keep(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        return () if stmt in gone else stmt

    return Removal(stmts, func.with_body(rewrite(func.launch.body, keep)))
