"""Represent access sites: places of the text that touch memory, their touches and conflicts.

A site has a bit for every relation an earlier execution of it can stand in to the present point:
NEAR (the same iteration of all loops around both), or the depth of the outermost loop of which it
belongs to an earlier iteration.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

from tile_checkers.context import Context
from tile_checkers.section.state import Moves
from tile_checkers.touched import PIPES, Hazard, S, first_conflict
from tile_ir import For, Let, Region, Stmt, Var, While, linear_form
from tile_ir.analysis import Touch, apart, is_iterations, widened
from tile_ir.analysis.branch_feasibility import at_least
from tile_ir.analysis.regions import defined_region
from tile_ir.quick_dataclasses import dataclass

NEAR = -1


@dataclass(slots=True, eq=False)
class ByteRange:
    """Bits of the sites that read and write a range of bytes, and the other ranges it overlaps."""

    place: Any
    low: float
    high: float
    readers: int = 0
    writers: int = 0
    unordered: int = 0
    overlapping: list[ByteRange] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class AccessSite:
    """A statement's accesses by one pipe, in one residue of the loops around it. `in_order` says
    whether the pipe orders them."""

    number: int
    stmt: Stmt
    pipe: int
    in_order: bool
    touches: tuple[Touch, ...]
    context: Context
    bits: dict[int, int] = field(default_factory=dict)
    regions: dict[tuple[int, bool], Region] = field(default_factory=dict)

    def region(self, i: int, in_residue: bool = False) -> Region:
        """The elements of a touch, with definitions put in; with `in_residue`, those of this
        residue, in terms of the iterations of loops."""
        if (i, in_residue) not in self.regions:
            region = self.touches[i].region
            values = self.context.values if in_residue else self.context.plain
            found = widened(defined_region(region, values), PIPES[self.pipe])
            self.regions[i, in_residue] = found
        return self.regions[i, in_residue]


class AccessSites:
    """All sites of one section, by bit."""

    def __init__(self) -> None:
        self.by_bit: list[tuple[AccessSite | None, int]] = []
        self.of_pipe = [0] * len(PIPES)
        self.byte_ranges: dict[tuple[Any, float, float], ByteRange] = {}
        self.of_place: dict[Any, list[ByteRange]] = {}
        self.inside: dict[Any, list[AccessSite]] = {}
        self.masks: dict[int, tuple[int, int]] = {}
        self.moves: dict[tuple[Any, int, bool], tuple[int, int, list[tuple[int, int]]]] = {}
        self.pairs: dict[tuple[int, int], Hazard | None] = {}
        self.waits: dict[Any, dict[int, int]] = {}
        self.count = 0

    def new(
        self, stmt: Stmt, pipe: int, in_order: bool, touched: tuple[Touch, ...], context: Context
    ) -> AccessSite:
        site = AccessSite(self.count, stmt, pipe, in_order, touched, context)
        self.count += 1
        for frame in context.frames:
            self.inside.setdefault(frame, []).append(site)
        return site

    def bit(self, site: AccessSite, relation: int) -> int:
        found = site.bits.get(relation)
        if found is None:
            found = self._allocate(site, relation, site.pipe)
            site.bits[relation] = found
            for t in site.touches:
                byte_range = self._byte_range(t)
                if t.unordered:
                    byte_range.unordered |= found
                elif t.writes:
                    byte_range.writers |= found
                else:
                    byte_range.readers |= found
        return found

    def wait_bit(self, flag: Any, wait: int, pipe: int) -> int:
        """The bit for: a statement has waited for the flag, but the wait may not have reached the
        pipe. Each statement has its own bit, so that a wait that is over stays so when a loop
        repeats another one."""
        of_flag = self.waits.setdefault(flag, {})
        if wait not in of_flag:
            of_flag[wait] = self._allocate(None, NEAR, pipe)
        return of_flag[wait]

    def all_waits(self, flag: Any) -> int:
        """The bits of all waits for a flag."""
        return sum(self.waits.get(flag, {}).values())

    def _allocate(self, site: AccessSite | None, relation: int, pipe: int) -> int:
        bit = 1 << len(self.by_bit)
        self.by_bit.append((site, relation))
        self.of_pipe[pipe] |= bit
        return bit

    def _byte_range(self, t: Touch) -> ByteRange:
        key = (t.place, t.low, t.high)
        byte_range = self.byte_ranges.get(key)
        if byte_range is None:
            byte_range = ByteRange(*key)
            others = self.of_place.setdefault(t.place, [])
            others.append(byte_range)
            for other in others:
                if other.low < t.high and t.low < other.high:
                    byte_range.overlapping.append(other)
                    if other is not byte_range:
                        other.overlapping.append(byte_range)
            self.byte_ranges[key] = byte_range
        return byte_range

    def may_conflict(self, site: AccessSite) -> int:
        """Bits of sites whose bytes overlap, one of both writing. Of its own pipe too, unless that
        orders it."""
        version = len(self.by_bit)
        cached = self.masks.get(site.number)
        if cached is not None and cached[0] == version:
            return cached[1]
        mask = 0
        for t in site.touches:
            for byte_range in self._byte_range(t).overlapping:
                mask |= byte_range.writers
                if t.writes:
                    mask |= byte_range.readers
                if not t.unordered:
                    mask |= byte_range.unordered
        if site.in_order or site.pipe == S:
            mask &= ~self.of_pipe[site.pipe]
        self.masks[site.number] = version, mask
        return mask

    def hazards(self, site: AccessSite, candidates: int) -> Iterator[tuple[AccessSite, Hazard]]:
        """The candidates that really conflict with a site that runs now."""
        while candidates:
            index = (candidates & -candidates).bit_length() - 1
            candidates &= candidates - 1
            key = (site.number, index)
            earlier, relation = self.by_bit[index]
            if earlier is None:
                continue
            if key not in self.pairs:
                self.pairs[key] = _hazard(earlier, relation, site)
            found = self.pairs[key]
            if found is not None:
                yield earlier, found

    def next_iteration(self, frame: Any, depth: int, leaving: bool) -> Moves:
        """How bits change when a loop begins another iteration, or when it is left."""
        key = (frame, depth, leaving)
        cached = self.moves.get(key)
        inside = self.inside.get(frame, [])
        version = sum(len(site.bits) for site in inside)
        if cached is None or cached[0] != version:
            moves, mask = [], 0
            target = NEAR if leaving else depth
            for site in inside:
                for relation, bit in list(site.bits.items()):
                    deeper = relation >= depth if leaving else relation == NEAR or relation > depth
                    if deeper and relation != target:
                        moves.append((bit, self.bit(site, target)))
                        mask |= bit
            version = sum(len(site.bits) for site in inside)
            cached = version, mask, moves
            self.moves[key] = cached
        return cached[1], cached[2]


def _iterations_between(earlier: AccessSite, later: AccessSite, var: Var) -> tuple[int, int]:
    """The number of residues, and the remainder of the distance of two iterations divided by it."""
    both = (earlier.context.values, later.context.values)
    forms = [linear_form(values[var]) for values in both if var in values]
    if len(forms) != 2 or any(len(terms) != 1 for terms, _ in forms):
        return 1, 0
    ((one, first), (two, second)) = ((next(iter(t.values())), c) for t, c in forms)
    if one != two or one <= 1:
        return 1, 0
    return one, (second - first) % one


def _most(site: AccessSite, var: Var, sign: int = 1) -> float:
    """The maximum of a loop variable, or of its negative, where a site runs."""
    context = site.context
    return -at_least(var * -sign, context.known, context.facts)


def _hazard(earlier: AccessSite, relation: int, later: AccessSite) -> Hazard | None:
    """Two touches that an earlier and a later execution may have in conflict."""
    common = 0
    paths = earlier.context.path, later.context.path
    for x, y in zip(*paths, strict=False):
        if x is not y and (isinstance(x, (For, While, Let)) or x != y):
            break
        common += 1
    around = paths[0][:common]
    loops = [i for i, s in enumerate(around) if isinstance(s, (For, While))]
    moving: Var | None = None
    if relation != NEAR and relation < len(loops):
        loop = around[loops[relation]]
        moving = loop.var if isinstance(loop, For) else None
        if moving is not None and _most(later, moving) <= -_most(earlier, moving, -1):
            return None  # what the branches around them say leaves no later iteration
        around = around[: loops[relation]]
    by = (1, 0) if moving is None else _iterations_between(earlier, later, moving)
    same = {s.var for s in around if isinstance(s, (For, Let))}
    local = {
        s.var for s in (*earlier.context.path, *later.context.path) if isinstance(s, (For, Let))
    }
    known = {**earlier.context.known, **later.context.known}
    everywhere = {v for v in known if v not in local}
    # The iterations of all residues are any two.
    fixed = {v for v in same | everywhere if not is_iterations(v)}

    def meet(i: int, j: int) -> bool:
        x, y = earlier.region(i), later.region(j)
        if apart(x, y, same | everywhere, known, moving, None, by):
            return False
        return not apart(earlier.region(i, True), later.region(j, True), fixed, known)

    found = first_conflict(earlier.touches, later.touches, meet)
    return None if found is None else Hazard(earlier.touches[found[0]], later.touches[found[1]])


__all__ = ["NEAR", "AccessSite", "AccessSites"]
