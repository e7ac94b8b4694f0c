"""Represent the facts at a program point as bits, one per access site.

The data and the rules of each synchronisation are here; `access_sites` assigns the bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import field

from tile_checkers.touched import PIPES, Flag, S
from tile_ir import Expr, Loc, Var, walk_expr
from tile_ir.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Raised:
    """A flag that is set: the sites that may still be under way after a wait for it."""

    open: int
    loc: Loc


@dataclass(slots=True)
class PipeState:
    """`open[p]`: sites with an execution that may not be complete before the next operation of pipe
    p. `flags`: those that are surely set; all others are surely clear. `conditions`: decisions on
    the path here. `remainders`: remainders of expressions divided by a number, where flags depend
    on them."""

    open: list[int] = field(default_factory=lambda: [0] * len(PIPES))
    flags: dict[Flag, Raised] = field(default_factory=dict)
    conditions: dict[Expr, bool] = field(default_factory=dict)
    remainders: dict[tuple[Expr, int], int] = field(default_factory=dict)

    def copy(self) -> PipeState:
        return PipeState(
            list(self.open),
            dict(self.flags),
            dict(self.conditions),
            dict(self.remainders),
        )

    def configuration(self) -> frozenset[Flag]:
        return frozenset(self.flags)

    def execute(self, pipe: int, bit: int) -> None:
        """A site runs: its end is open for every pipe and for every flag that is already set. The
        scalar unit alone completes its own statements one after the other."""
        for p in range(len(PIPES)):
            if p != pipe or p != S:
                self.open[p] |= bit
        for flag, raised in self.flags.items():
            if not raised.open & bit:
                self.flags[flag] = Raised(raised.open | bit, raised.loc)

    def raise_flag(self, flag: Flag, own: int, loc: Loc) -> None:
        """Set once all earlier work of the source pipe (`own`) is complete."""
        self.flags[flag] = Raised(self.open[flag[0]] & ~own, loc)

    def lower_flag(self, flag: Flag, waited: int) -> None:
        """The target waits and learns the order that the flag carries. For all other pipes and
        flags the end of the wait, `waited`, is open. A wait of the scalar unit holds back all
        pipes."""
        raised = self.flags.pop(flag)
        target = flag[1]
        for p in range(len(PIPES)):
            if p == target or target == S:
                self.open[p] &= raised.open
            else:
                self.open[p] |= waited
        for other, r in self.flags.items():
            if not r.open & waited and target != S:
                self.flags[other] = Raised(r.open | waited, r.loc)

    def barrier(self, pipe: int, own: int) -> None:
        self.open[pipe] &= ~own

    def barrier_all(self) -> None:
        self.open = [0] * len(PIPES)

    def move(self, moves: Moves, local: frozenset[Var]) -> None:
        """Begin another iteration, or leave a loop: bits change, and variables get other values."""
        self.open = [moved(bits, moves) for bits in self.open]
        for flag, raised in self.flags.items():
            bits = moved(raised.open, moves)
            if bits != raised.open:
                self.flags[flag] = Raised(bits, raised.loc)

        def stays(expr: Expr) -> bool:
            return not any(e in local for e in walk_expr(expr))

        self.remainders = {k: r for k, r in self.remainders.items() if stays(k[0])}
        self.conditions = {c: v for c, v in self.conditions.items() if stays(c)}

    def join(self, other: PipeState) -> bool:
        """Join the state of another path with the same flags set; return whether this changed."""
        changed = False
        for p, bits in enumerate(other.open):
            if bits & ~self.open[p]:
                self.open[p] |= bits
                changed = True
        for flag, raised in other.flags.items():
            mine = self.flags[flag]
            if raised.open & ~mine.open:
                self.flags[flag] = Raised(mine.open | raised.open, mine.loc)
                changed = True
        common = {c: v for c, v in self.conditions.items() if other.conditions.get(c) is v}
        if len(common) != len(self.conditions):
            self.conditions = common
            changed = True
        agreed = dict(_in_common(self.remainders, other.remainders))
        if agreed != self.remainders:
            self.remainders = agreed
            changed = True
        return changed


Moves = tuple[int, list[tuple[int, int]]]


def moved(bits: int, moves: Moves) -> int:
    mask, pairs = moves
    if not bits & mask:
        return bits
    result = bits & ~mask
    for old, new in pairs:
        if bits & old:
            result |= new
    return result


Remainders = dict[tuple[Expr, int], int]


def _in_common(one: Remainders, two: Remainders) -> Iterator[tuple[tuple[Expr, int], int]]:
    """The remainders that both imply: 1 and 4 of 6 are 1 of 3."""
    for (expr, modulus), r in one.items():
        for (same, m), other in two.items():
            common = math.gcd(modulus, m, r - other)
            if same == expr and common > 1:
                yield (expr, common), r % common


def merged(states: Iterable[PipeState]) -> list[PipeState]:
    """The states, one for every set of flags that are set."""
    result: dict[frozenset[Flag], PipeState] = {}
    for state in states:
        key = state.configuration()
        if key in result:
            result[key].join(state)
        else:
            result[key] = state
    return list(result.values())


__all__ = ["Moves", "PipeState", "Raised", "merged"]
