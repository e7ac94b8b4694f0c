"""Which rows are split: classes of dimensions and loops that go together, and a choice among those
that nothing keeps whole, at most one for every statement."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import combinations

from tile_ir import For, LoopKind, Memory, constant_value
from tile_ir.quick_dataclasses import dataclass
from tile_passes.graphs import nx
from tile_passes.lanes.relations import Dim, Node, Reason, Relations, Site

BLOCK_BITS = 256


@dataclass(frozen=True, slots=True)
class Choice:
    """The dimensions and loops that are split, with their sizes; why others are whole, and the
    reason that costs most."""

    sizes: Mapping[Node, int]
    whole: Mapping[Node, Reason]
    worst: Reason | None

    def of(self, site: Site) -> Node | None:
        """The split node of a statement; at most one is."""
        return next((n for n in site.nodes if n in self.sizes), None)


@dataclass(slots=True)
class _Classes:
    """Connected nodes; `whole` has the reason of every class that cannot be split."""

    graph: nx.Graph[Node]
    found: Relations
    because: dict[Node, Reason]
    number: dict[Node, int] = field(default_factory=dict)
    members: list[list[Node]] = field(default_factory=list)
    whole: dict[int, Reason] = field(default_factory=dict)

    def update(self) -> None:
        order = {node: i for i, node in enumerate(self.found.sizes)}
        parts = [sorted(c, key=order.__getitem__) for c in nx.connected_components(self.graph)]
        self.members = sorted(parts, key=lambda c: order[c[0]])
        self.number = {node: i for i, c in enumerate(self.members) for node in c}
        self.whole = {}
        for number, members in enumerate(self.members):
            reasons = [self.because[n] for n in members if n in self.because]
            if reasons:
                self.whole[number] = min(reasons, key=lambda r: (r.loc.line, r.loc.column))
        for site in self.found.sites:
            numbers = [self.number[n] for n in site.nodes]
            for number in numbers:
                if numbers.count(number) > 1 and number not in self.whole:
                    text = "rows of a tile meet all its other rows here"
                    self._keep(number, Reason(site.stmt.loc, text))

    def _keep(self, number: int, reason: Reason) -> None:
        self.whole[number] = reason
        self.because.setdefault(self.members[number][0], reason)


def choose(found: Relations, more: Mapping[Node, Reason]) -> Choice:
    """The best choice when the nodes of `more` stay whole as well."""
    graph: nx.Graph[Node] = nx.Graph()
    graph.add_nodes_from(found.sizes)
    graph.add_edges_from(found.ties)
    classes = _Classes(graph, found, {**_unfit(found), **found.whole, **more})
    classes.update()
    _join_readers(classes, found)
    clashes = _clashes(classes, found)
    gains: dict[int, int] = {}
    for site in found.sites:
        for node in site.nodes:
            gains[classes.number[node]] = gains.get(classes.number[node], 0) + site.work
    chosen: list[int] = []
    ranked = _ranked(gains, classes, found)
    for number in ranked:
        size = found.sizes[classes.members[number][0]]
        if number in classes.whole or size < 2 or clashes.get(number, set()) & set(chosen):
            continue
        chosen.append(number)
    sizes = {node: found.sizes[node] for n in chosen for node in classes.members[n]}
    whole = {n: r for number, r in classes.whole.items() for n in classes.members[number]}
    large = (n for n in ranked if found.sizes[classes.members[n][0]] > 1)
    return Choice(sizes, whole, next((classes.whole[n] for n in large if n in classes.whole), None))


def _ranked(gains: Mapping[int, int], classes: _Classes, found: Relations) -> list[int]:
    """The classes in the order they are tried. Of those that are worth nearly as much as the best
    one, outer dimensions come first: rows lie together in gm, halves of rows do not."""

    def can_be(n: int) -> bool:
        return n not in classes.whole and found.sizes[classes.members[n][0]] > 1

    best = max((g for n, g in gains.items() if can_be(n)), default=0)
    return sorted(
        gains, key=lambda n: (2 * gains[n] < best, _depth(classes.members[n]), -gains[n], n)
    )


def _join_readers(classes: _Classes, found: Relations) -> None:
    """A loop that reads a row of a buffer in each iteration goes with its rows, or the buffer is
    whole: then it is no matter how many iterations a lane takes."""
    changed = True
    while changed:
        changed = False
        for loop, dim, _ in found.reads:
            a, b = classes.number[loop], classes.number[dim]
            if a in classes.whole and b not in classes.whole:
                classes.because[dim] = classes.whole[a]
                classes.update()
                changed = True
    joined = [
        (loop, dim)
        for loop, dim, _ in found.reads
        if classes.number[dim] not in classes.whole and classes.number[loop] not in classes.whole
    ]
    if joined:
        classes.graph.add_edges_from(joined)
        classes.update()
        rest = [(r, classes.number[r[0]], classes.number[r[1]]) for r in found.reads]
        for (_, dim, _), a, b in rest:
            if a in classes.whole and b not in classes.whole:
                classes.because[dim] = classes.whole[a]
        classes.update()


def _clashes(classes: _Classes, found: Relations) -> dict[int, set[int]]:
    """Classes that one statement is about: split twice, it would leave quarters undone."""
    result: dict[int, set[int]] = {}
    for site in found.sites:
        for a, b in combinations({classes.number[n] for n in site.nodes}, 2):
            result.setdefault(a, set()).add(b)
            result.setdefault(b, set()).add(a)
    return result


def _depth(members: list[Node]) -> int:
    """The outermost place of the class among the dimensions of buffers."""
    return min((n.number for n in members if isinstance(n, Dim)), default=0)


def _unfit(found: Relations) -> dict[Node, Reason]:
    """Dimensions that have no halves the hardware can work on, and loops with work of two kinds."""
    return {**dict(_unfit_dims(found)), **dict(_unfit_loops(found))}


def _unfit_dims(found: Relations) -> Iterator[tuple[Node, Reason]]:
    for node, size in found.sizes.items():
        if not isinstance(node, Dim) or size < 2:
            continue
        shape = [constant_value(d) or 1 for d in node.buffer.shape]
        row = math.prod(shape[node.number + 1 :]) * node.buffer.dtype.bits
        half = -(-size // 2) * row
        outer = math.prod(shape[: node.number])
        if half % 8 or (outer > 1 and (half % BLOCK_BITS or size % 2)):
            yield (
                node,
                Reason(
                    node.buffer.loc,
                    f"half of dimension {node.number} of `{node.buffer.name}` is not a multiple "
                    "of 32 bytes",
                ),
            )


def _unfit_loops(found: Relations) -> Iterator[tuple[Node, Reason]]:
    """An odd T.Parallel that stores to both memories would do so for different rows."""
    written: dict[For, set[Memory]] = {}
    for site in found.sites:
        for loop in site.loops:
            if loop.kind is LoopKind.PARALLEL and found.sizes.get(loop, 0) % 2:
                memories = {t.buffer.memory for t in site.touches if t.access.writes}
                written.setdefault(loop, set()).update(memories)
    for loop, memories in written.items():
        if Memory.GM in memories and len(memories) > 1:
            name = f"the loop over `{loop.var.name}`"
            text = f"{name} has an odd trip count and stores both to gm and to ub"
            yield loop, Reason(loop.loc, text)
