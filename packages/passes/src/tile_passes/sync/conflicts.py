"""Which sites of a section conflict: common bytes, at least one of them writing.

On chip by physical address, found by an index of intervals; in gm by regions of one tensor.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import replace

from tile_ir import Buffer, Memory
from tile_ir.nodes import Stmt
from tile_ir.regions_apart import ever_meet
from tile_ir.touched_bytes import Touch
from tile_passes.sync.earlier_runs import look_back_only
from tile_passes.sync.tree import Site, Tree, is_rounds


def conflicts(tree: Tree) -> list[int]:
    """For every site the bits of the sites it must come after, itself included if it must in
    another iteration. A signal to other cores comes after all that touches what they may use."""
    result = [0] * len(tree.sites)
    on_chip: dict[Memory, list[tuple[Site, Touch]]] = defaultdict(list)
    tensors: dict[Buffer, list[tuple[Site, Touch]]] = defaultdict(list)
    for site in tree.sites:
        for touch in site.touches:
            if isinstance(touch.place, Memory):
                on_chip[touch.place].append((site, touch))
            else:
                tensors[touch.place].append((site, touch))
    shared = 0
    for tensor, found in tensors.items():
        if tensor in tree.written:
            shared |= sum(1 << bit for bit in {site.bit for site, _ in found})
    for site in tree.sites:
        if not site.touches:
            result[site.bit] = shared
    for found in on_chip.values():
        _by_address(found, result)
    for found in tensors.values():
        if any(touch.writes for _, touch in found):
            _by_region(tree, found, result)
    look_back_only(tree, result)
    return result


def _by_address(found: list[tuple[Site, Touch]], result: list[int]) -> None:
    """Cuts the memory at every first and last byte, so that an access covers whole pieces."""
    cuts = sorted({end for _, t in found for end in (t.low, t.high)})
    readers, writers = [0] * len(cuts), [0] * len(cuts)
    spans = []
    for site, t in found:
        span = range(bisect_left(cuts, t.low), bisect_left(cuts, t.high))
        spans.append(span)
        pieces = writers if t.writes else readers
        bit = 1 << site.bit
        for piece in span:
            pieces[piece] |= bit
    for (site, t), span in zip(found, spans, strict=True):
        bits = 0
        for piece in span:
            bits |= writers[piece] | readers[piece] if t.writes else writers[piece]
        result[site.bit] |= bits


def _by_region(tree: Tree, found: list[tuple[Site, Touch]], result: list[int]) -> None:
    """Every pair of accesses to a tensor whose hulls overlap, unless their regions never meet."""
    ordered = sorted(found, key=lambda entry: entry[1].low)
    active: list[tuple[Site, Touch]] = []
    decided: dict[tuple[object, ...], bool] = {}
    for site, touch in ordered:
        active = [(s, t) for s, t in active if t.high > touch.low]
        active.append((site, touch))
        for other, t in active:
            if not (touch.writes or t.writes) or (touch.atomic and t.atomic):
                continue
            a, b = site.item, other.item
            one, two = site.region(touch), other.region(t)
            key = (a, one, b, two, site is other)
            if key not in decided:
                path = _path_beside(site, other)
                decided[key] = ever_meet(one, a.path, two, path, tree.ranges, site is other)
            if decided[key]:
                result[site.bit] |= 1 << other.bit
                result[other.bit] |= 1 << site.bit


def _path_beside(site: Site, other: Site) -> tuple[Stmt, ...]:
    """What stands around and before `other`. In another phase of a loop it sees other values than
    `site` does: what the loop defines is not the same then."""
    path: list[Stmt] = []
    phases = list(zip(site.phases, other.phases, strict=False))
    same = True
    for stmt in other.item.path:
        path.append(stmt if same else replace(stmt))
        if is_rounds(stmt) and phases:
            one, two = phases.pop(0)
            same = same and one == two
    return tuple(path)
