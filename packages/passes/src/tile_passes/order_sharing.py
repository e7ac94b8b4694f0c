"""Insert the order that sharing bytes requires, where the order inside a core is the author's.

Flags that are right for tiles of their own do not cover earlier uses of their bytes. It orders
nothing but the conflicts that the compiler's choice of addresses has made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import reduce
from operator import or_

from tile_ir import Buffer, Func, Memory, Section, Target
from tile_ir.analysis import Sharing
from tile_ir.quick_dataclasses import replace
from tile_passes.insert_sync import Trees, order_sections, plan_for
from tile_passes.order.channels import Plan, SyncOp
from tile_passes.order.completion import Completion
from tile_passes.order.conflicts import conflicts, with_generated
from tile_passes.order.event_ids import Allocation
from tile_passes.order.flow_graph import flow_graph
from tile_passes.order.tree import Instance, Tree
from tile_passes.order.worklist import State
from tile_passes.scalar_reads import name_scalar_reads

Pair = frozenset[Buffer]


def order_sharing(func: Func, sharing: Sharing, target: Target, known: Trees) -> Func | None:
    """The planned function with flags and barriers between accesses of buffers that share bytes by
    the compiler's choice, where those of its author do not order them already; None if they all
    do. They also cover generated statements beside them, since one barrier may serve both: these
    sections are settled."""
    if not sharing:
        return None
    func = name_scalar_reads(func)
    made: list[SyncOp] = []

    def plan(tree: Tree, target: Target) -> Allocation:
        wanted = _of_sharing(tree, conflicts(tree, _that_share(tree, sharing)), sharing)
        if any(wanted):
            own = conflicts(tree, with_generated(tree))
            wanted = [a | b for a, b in zip(wanted, own, strict=True)]
        found = plan_for(tree, wanted, target)
        made.extend(found.plan.ops)
        return found

    ordered = order_sections(func, target, plan, known)
    sections = frozenset(s for s in ordered.launch.body if isinstance(s, Section))
    return replace(ordered, settled=sections.difference(func.launch.body)) if made else None


def at_addresses(func: Func, address: Mapping[Buffer, int | None]) -> Func:
    """The function with an address for each buffer; an alias has that of its buffer."""
    allocs = func.launch.allocs
    new = tuple(replace(a, address=address.get(a.alias_of or a.buffer)) for a in allocs)
    return func.with_body(func.launch.body, allocs=new)


def move(trees: Trees, before: Func, after: Func) -> None:
    """Let the trees of one function have the addresses of another with the same text."""
    start = {a.buffer: a.address or 0 for a in before.launch.allocs}
    by = {a.buffer: (a.address or 0) - start[a.buffer] for a in after.launch.allocs}
    for tree in trees.values():
        tree.move(by)


def _that_share(tree: Tree, sharing: Sharing) -> list[int]:
    """For every instance the bits of those that touch a buffer which shares bytes with one that it
    touches."""
    users: dict[Buffer, int] = defaultdict(int)
    roots = sharing.roots
    touched = [
        {roots[b] for t in i.touches if (b := t.region.buffer) in roots} for i in tree.instances
    ]
    for bit, buffers in enumerate(touched):
        for buffer in buffers:
            users[buffer] |= 1 << bit
    beside: dict[Buffer, int] = defaultdict(int)
    for buffer in sharing.scratch:
        beside[buffer] |= users[buffer]
    for one, two in sharing.pairs:
        beside[one] |= users[two]
        beside[two] |= users[one]
    return [reduce(or_, (beside[b] for b in buffers), 0) for buffers in touched]


def _of_sharing(tree: Tree, found: list[int], sharing: Sharing) -> list[int]:
    """The conflicts that exist because buffers share bytes. A signal to other cores concerns only
    the author's accesses."""
    result = [0] * len(found)
    for instance in tree.instances:
        for bit, other, _ in tree.facts_of(found[instance.bit]):
            if any(sharing.clash(t, u) for t in instance.touches for u in other.touches):
                result[instance.bit] |= 1 << bit
    return result


def waits_of_sharing(func: Func, trees: Trees) -> set[Pair]:
    """Buffers that would need new order if they shared bytes: somewhere the one is touched while an
    access of the other, one of both writing, may still be under way. At the addresses in the trees
    no two buffers meet."""
    roots = {a.buffer: a.alias_of or a.buffer for a in func.launch.allocs}
    found: set[Pair] = set()
    for tree in trees.values():
        _Reuse(tree, roots, found).solve()
    return found


class _Reuse(Completion):
    """One walk over a section as its author ordered it, in which every access of a memory is in the
    way of all accesses of other buffers there."""

    def __init__(self, tree: Tree, roots: dict[Buffer, Buffer], found: set[Pair]) -> None:
        super().__init__(flow_graph(tree, _all_pairs(tree)), Plan())
        self.roots, self.found = roots, found
        self.seen = [0] * len(tree.instances)
        self.uses = _uses(tree, roots)

    def uncovered(self, instance: Instance, need: int, state: State) -> None:
        fresh = need & ~self.seen[instance.bit]
        self.seen[instance.bit] |= need
        for t in instance.touches if fresh else ():
            if isinstance(t.place, Memory):
                one = self.roots[t.region.buffer]
                for other, (touches, writers) in self.uses[t.place].items():
                    if fresh & (touches if t.writes else writers) and other is not one:
                        self.found.add(frozenset((one, other)))


def _uses(tree: Tree, roots: dict[Buffer, Buffer]) -> dict[Memory, dict[Buffer, list[int]]]:
    """How the buffers of each memory are used in the section: the instances that touch them, and
    those that write them, as bits."""
    found: dict[Memory, dict[Buffer, list[int]]] = defaultdict(dict)
    for instance in tree.instances:
        for t in instance.touches:
            if isinstance(t.place, Memory):
                masks = found[t.place].setdefault(roots[t.region.buffer], [0, 0])
                masks[0] |= 1 << instance.bit
                masks[1] |= t.writes << instance.bit
    return found


def _all_pairs(tree: Tree) -> list[int]:
    writers: dict[Memory, int] = defaultdict(int)
    everyone: dict[Memory, int] = defaultdict(int)
    for instance in tree.instances:
        for t in instance.touches:
            if isinstance(t.place, Memory):
                everyone[t.place] |= 1 << instance.bit
                if t.writes:
                    writers[t.place] |= 1 << instance.bit
    result = [0] * len(tree.instances)
    for instance in tree.instances:
        for t in instance.touches:
            if isinstance(t.place, Memory):
                result[instance.bit] |= everyone[t.place] if t.writes else writers[t.place]
    return result


__all__ = ["at_addresses", "move", "order_sharing", "waits_of_sharing"]
