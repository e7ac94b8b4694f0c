"""What a condition says in the first turn of the loops around it, and what in all later ones.

`init and kt == 0` holds in the first turn of the loop over `kt` that starts at 0, and in no other.
The variable is put in as what it is: the start in the first turn, and the start and one and
something that is at least zero in a later one. Not here: what follows for buffers (`liveness`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tile_ir import Expr, For, Let, Stmt, Var, reads_memory, substitute, walk_expr
from tile_ir.analysis import INF, Interval, Ranges, decided, loop_range

Key = frozenset[tuple[Var, bool]]
_ALWAYS: Key = frozenset()


@dataclass(frozen=True, slots=True)
class Names:
    """What stands for a value that never changes: lets by their values, and loops by their starts.
    What reads memory is not among them, for another statement may have written it since. `ranges`
    are those of the loops' variables."""

    lets: Mapping[Var, Expr] = field(default_factory=dict)
    starts: Mapping[Var, Expr] = field(default_factory=dict)
    ranges: Ranges = field(default_factory=dict)

    def behind(self, stmt: Stmt) -> Names:
        """What is known behind a statement of a block."""
        if isinstance(stmt, Let) and not reads_memory(stmt.value):
            lets = {**self.lets, stmt.var: self.spelled(stmt.value)}
            return Names(lets, self.starts, self.ranges)
        return self

    def inside(self, stmt: Stmt) -> Names:
        """What is known in the body of a statement."""
        if not isinstance(stmt, For):
            return self
        ranges, starts = {**self.ranges, stmt.var: loop_range(stmt, self.ranges)}, self.starts
        if not reads_memory(stmt.start):
            starts = {**starts, stmt.var: self.spelled(stmt.start)}
        return Names(self.lets, starts, ranges)

    def spelled(self, expr: Expr) -> Expr:
        """The expression in terms of variables of loops, as far as they are known."""
        return substitute(expr, self.lets)

    def asked(self, condition: Expr) -> frozenset[Var]:
        """The loops whose first turn has something to say about a condition: none if it stays open
        in the first turn of all of them."""
        found: set[Var] = set()
        waiting: list[Expr] = [condition]
        while waiting:
            for part in walk_expr(waiting.pop()):
                if isinstance(part, Var) and part in self.starts and part not in found:
                    found.add(part)
                    waiting.append(self.starts[part])
        turns = Turns()
        for var in self.starts:
            if var in found:
                turns = turns.of(var, self.starts[var], first=True)
        return frozenset(found) if turns.decides(condition) is not None else frozenset()


@dataclass(frozen=True, slots=True)
class Turns:
    """Which turn of the loops around a statement this is: the first or a later one, of each loop
    for which it matters."""

    key: Key = _ALWAYS
    values: Mapping[Var, Expr] = field(default_factory=dict, compare=False)
    more: Ranges = field(default_factory=dict, compare=False)

    def of(self, var: Var, start: Expr, *, first: bool) -> Turns:
        """Inside a loop, in its first turn or in a later one."""
        value, more = substitute(start, self.values), self.more
        if not first:
            passed = Var(f"{var.name} passed", var.dtype)
            value, more = value + 1 + passed, {**more, passed: Interval(0, INF)}
        return Turns(self.key | {(var, first)}, {**self.values, var: value}, more)

    def among(self, asked: frozenset[Var]) -> Key:
        """What of this matters to who asks for some loops only."""
        return frozenset(k for k in self.key if k[0] in asked) if asked else _ALWAYS

    def decides(self, condition: Expr) -> bool | None:
        """Whether a condition is certain in these turns, one way or the other."""
        return decided(substitute(condition, self.values), self.more)
