"""Which instances of a section conflict: common bytes, at least one of them writing.

On chip by physical address, found by an index of intervals, but by regions where a number known at
run time chooses a slot of one buffer; in gm by regions of one tensor.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from itertools import product
from operator import eq

from tile_ir import Buffer, For, Memory, Region, Stmt
from tile_ir.analysis import Touch, ever_meet_in, is_iterations, meet_in_run
from tile_passes.order.tree import Instance, Repeat, Residues, Tree

_Access = tuple[Instance, Touch]


def conflicts(tree: Tree, among: Sequence[int] | None = None) -> list[int]:
    """For every instance the bits of those that it must come after, itself included if it must in
    another iteration; where not all are checked, of those `among`. A signal to other cores comes
    after all accesses of their memory."""
    if among is not None and not any(among):
        return [0] * len(tree.instances)
    everyone = among or [-1] * len(tree.instances)
    result = [0] * len(tree.instances)
    places: dict[Memory | Buffer, list[_Access]] = defaultdict(list)
    for instance in tree.instances:
        for touch in instance.touches:
            places[touch.place].append((instance, touch))
    shared = 0
    for place, found in places.items():
        if place in tree.written:
            told = {instance.bit for instance, _ in found if instance.item.pipe in tree.told}
            shared |= sum(1 << bit for bit in told)
        if not any(touch.writes for _, touch in found):
            continue
        moving = [isinstance(place, Buffer) or i.moves(touch) for i, touch in found]
        _by_address([a for a, moves in zip(found, moving, strict=True) if not moves], result)
        if any(moving):
            _by_region(tree, found, moving, result, everyone)
    for instance in tree.instances:
        if not instance.touches:
            result[instance.bit] = shared
    result = [bits & asked for bits, asked in zip(result, everyone, strict=True)]
    _look_back_only(tree, result)
    return result


def with_generated(tree: Tree) -> list[int]:
    """For every instance the bits of those with which it is a pair with a generated statement."""
    generated = [instance.item.stmt.loc.generated for instance in tree.instances]
    bits = sum(1 << bit for bit, own in enumerate(generated) if own)
    return [-1 if own else bits for own in generated]


def meet(tree: Tree, one: _Access, two: _Access) -> bool:
    """Whether two accesses, one of which writes, may have a byte in common in some execution of
    the one and some of the other. Those of one instance are of two executions."""
    if not one[1].conflicts(two[1]):
        return False
    if not one[0].moves(one[1]) and not two[0].moves(two[1]) and isinstance(one[1].place, Memory):
        return True
    return _regions_meet(tree, one, two)


def _regions_meet(tree: Tree, one: _Access, two: _Access) -> bool:
    (instance, touch), (other, t) = one, two
    path = _path_beside(instance, other)
    a, b = instance.reach(touch), other.reach(t)
    # What the paths define has been put into the regions.
    known, more = instance.item.sight, other.item.sight
    ranges = {**known.known, **more.known}
    return ever_meet_in(a, known.path, b, path, tree.ranges, (ranges, {}), instance is other)


def _by_address(found: list[_Access], result: list[int]) -> None:
    """Cuts the memory at every first and last byte, so that an access covers whole elementary
    intervals."""
    cuts = sorted({end for _, t in found for end in (t.low, t.high)})
    readers, writers, unordered = ([0] * len(cuts) for _ in range(3))
    spans = [range(bisect_left(cuts, t.low), bisect_left(cuts, t.high)) for _, t in found]
    for (instance, t), span in zip(found, spans, strict=True):
        users = unordered if t.unordered else writers if t.writes else readers
        for i in span:
            users[i] |= 1 << instance.bit
    for (instance, t), span in zip(found, spans, strict=True):
        bits = 0
        for i in span:
            bits |= writers[i] | readers[i] if t.writes else writers[i]
            bits |= 0 if t.unordered else unordered[i]
        result[instance.bit] |= bits


def _by_region(
    tree: Tree, found: list[_Access], moving: list[bool], result: list[int], among: Sequence[int]
) -> None:
    """Every pair among `among`, one of it moving, whose hulls overlap unless regions never meet."""
    # Variables have one definition each: which statements of a block it is makes no difference.
    decided: dict[tuple[object, ...], bool] = {}
    numbers: dict[Region, int] = {}
    regions = [numbers.setdefault(i.reach(touch), len(numbers)) for i, touch in found]
    ordered = sorted(zip(found, moving, regions, strict=True), key=lambda entry: entry[0][1].low)
    active: list[tuple[_Access, bool, int]] = []
    for access, moves, region in ordered:
        instance, touch = access
        active = [entry for entry in active if entry[0][1].high > touch.low]
        active.append((access, moves, region))
        for beside, also_moves, another in active:
            other, t = beside
            known = result[instance.bit] >> other.bit & result[other.bit] >> instance.bit & 1
            asked = (moves or also_moves) and among[instance.bit] >> other.bit & 1
            if known or not asked or not touch.conflicts(t):
                continue
            same = map(eq, instance.residues, other.residues)
            blocks = instance.item.block, other.item.block
            question = (region, another, *blocks, instance is other, *same)
            if question not in decided:
                decided[question] = _regions_meet(tree, access, beside)
            if decided[question]:
                result[instance.bit] |= 1 << other.bit
                result[other.bit] |= 1 << instance.bit


def _path_beside(instance: Instance, other: Instance) -> tuple[Stmt, ...]:
    """The statements around and before `other`, but for those in a loop in whose residue it differs
    from `instance`: names that the loop defines have other values there."""
    path = other.item.sight.path
    ends = (n + 1 for n, s in enumerate(path) if isinstance(s, For) and is_iterations(s.var))
    loops = zip(instance.residues, other.residues, ends, strict=False)
    return path[: next((end for one, two, end in loops if one != two), None)]


def _look_back_only(tree: Tree, conflicts: list[int]) -> None:
    """Replace an instance that another never meets in one run of their loop, by its accesses before
    that run; by nothing where the loop is run only once. A loop over rows need not order its
    iterations if each uses a row of its own; residues distinguish slots already."""
    groups: dict[tuple[Repeat, Residues], list[Instance]] = defaultdict(list)
    for instance in tree.instances:
        if (loop := instance.varies_in) is not None:
            groups[loop, instance.residues].append(instance)
    before = {instance: 1 << bit for bit, instance, _ in tree.runs}
    for (loop, _), instances in groups.items():
        for earlier, later in product(instances, repeat=2):
            bit = 1 << earlier.bit
            if conflicts[later.bit] & bit and not _meet_in_run(tree, earlier, later, loop):
                conflicts[later.bit] ^= bit
                conflicts[later.bit] |= before.get(earlier, 0)


def _meet_in_run(tree: Tree, earlier: Instance, later: Instance, loop: Repeat) -> bool:
    """Whether two instances touch the same bytes in one run of the loop, one before the other."""
    assert isinstance(loop.stmt, For)
    same_iteration = earlier.bit < later.bit
    return any(
        meet_in_run(
            earlier.reach(one), earlier.item.sight.path, later.reach(two), later.item.sight.path,
            tree.ranges, loop.stmt, same_iteration,
        )
        for one in earlier.touches
        for two in later.touches
        if one.conflicts(two)
    )  # fmt: skip
