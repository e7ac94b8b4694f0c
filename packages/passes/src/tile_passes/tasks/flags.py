"""Bound the cross-core flags of a task: between two waits a core must not set one more often than
its counter holds."""

from __future__ import annotations

from dataclasses import dataclass

from tile_ir import (
    Body,
    Effect,
    Expr,
    For,
    Func,
    KernelError,
    Op,
    Section,
    Stmt,
    Target,
    bodies,
    constant_value,
    walk_ops,
)

# Operations that hold a core until others act.
_WAITS = (Effect.WAIT_CROSS_FLAG, Effect.SYNC_ALL, Effect.AWAIT_SIGNAL)


@dataclass(frozen=True, slots=True)
class _Sets:
    """The number of sets of a flag: before the first wait, behind the last one, and at most between
    two waits; without a wait, three times the same number."""

    head: int = 0
    tail: int = 0
    most: int = 0
    waits: bool = False

    def then(self, other: _Sets) -> _Sets:
        return _Sets(
            self.head if self.waits else self.head + other.head,
            other.tail if other.waits else self.tail + other.tail,
            max(self.most, other.most, self.tail + other.head),
            self.waits or other.waits,
        )

    def times(self, iterations: int) -> _Sets:
        """The sets of a loop with so many iterations."""
        if iterations < 2:
            return self if iterations == 1 else _Sets()
        if self.waits:
            return self.then(self)
        return _Sets(iterations * self.head, iterations * self.tail, iterations * self.most)

    def or_else(self, other: _Sets) -> _Sets:
        head, tail = max(self.head, other.head), max(self.tail, other.tail)
        return _Sets(head, tail, max(self.most, other.most), self.waits and other.waits)


def refuse_counters(task: Func, target: Target) -> None:
    """Raises KernelError `task-flags` where a core of a task may set a counter, without a wait in
    between, more often than it counts."""
    for section in task.launch.body:
        if not isinstance(section, Section):
            continue
        for flag in {_flag(op) for op in walk_ops(section.body)} - {None}:
            found = _sets(section.body, flag)
            if found.most > target.cross_counter_limit:
                where = next(op for op in walk_ops(section.body) if _flag(op) == flag)
                message = (
                    f"task `{task.name}` sets cross-core flag {flag} up to {found.most} times "
                    f"before it waits, but its counter ends at {target.cross_counter_limit}"
                )
                hint = "let the other core signal back, and wait for that"
                raise KernelError("task-flags", message, where.loc, hint, sources=task.sources)


def _flag(stmt: Stmt) -> int | None:
    if isinstance(stmt, Op) and stmt.opdef.effect is Effect.SET_CROSS_FLAG:
        flag = stmt.operand("flag")
        return constant_value(flag) if isinstance(flag, Expr) else None
    return None


def _sets(body: Body, flag: int | None) -> _Sets:
    found = _Sets()
    for stmt in body:
        found = found.then(_of(stmt, flag))
    return found


def _of(stmt: Stmt, flag: int | None) -> _Sets:
    inside = [_sets(part, flag) for part in bodies(stmt)] or [_Sets()]
    match stmt:
        case Op():
            once = int(_flag(stmt) == flag)
            return _Sets(once, once, once, stmt.opdef.effect in _WAITS)
        case For(start=start, stop=stop):
            first, last = constant_value(start), constant_value(stop)
            if first is None or last is None:
                return inside[0].then(inside[0])
            return inside[0].times(max(0, last - first))
    # Of a `while` one iteration counts, of a branch the larger side.
    return inside[0].or_else(inside[-1])
