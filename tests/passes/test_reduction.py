"""The reduction of a straight line, against `networkx.transitive_reduction` of the same order.

An instruction is a start and an end, its end that of all its pipe was given so far: that is what a
flag behind it says. Instructions of a pipe start in order. Conflicts are drawn by lot between
different pipes; a barrier says more than one dependence within a pipe, and is tested elsewhere.
"""

from __future__ import annotations

import random

import networkx as nx
import pytest

import tile_ir
from tile_ir import DEFAULT_TARGET, Section
from tile_passes.sync.build_tree import build_tree
from tile_passes.sync.completion import flow_of
from tile_passes.sync.reduce import edges_of, reduce
from tile_passes.sync.sync_ops import Plan
from tile_passes.sync.tree import Tree

OPS = ("copy_gm_ub($X[0:+64], $a) {pad_value=0.0}", "add($b, $b, $b)", "copy_ub_gm($c, $Y[0:+64])")


def straight_line(dice: random.Random, length: int) -> Tree:
    lines = [f"      {dice.choice(OPS)} @0:{line}:1" for line in range(1, length + 1)]
    func = tile_ir.parse(
        'file 0 "k.py"\nfunc "k" phase planned @0:1:1 {\n'
        "  tensor $X: float32 [64] @0:1:1\n  tensor $Y: float32 [64] @0:1:1\n"
        "  launch blocks(1) %cid %vid threads any @0:1:1 {\n"
        + "".join(
            f"    alloc ${name}: ub float32 [64] address {256 * i} @0:1:1\n"
            for i, name in enumerate("abc")
        )
        + "    section vector @0:1:1 {\n"
        + "\n".join(lines)
        + "\n    }\n  }\n}\n"
    )
    (section,) = func.launch.body
    assert isinstance(section, Section)
    return build_tree(func, section, DEFAULT_TARGET)


def reduced_by_networkx(tree: Tree, conflicts: list[int]) -> set[tuple[int, int]]:
    graph: nx.DiGraph[tuple[str, int]] = nx.DiGraph()
    last: dict[object, int] = {}
    for later in tree.instances:
        j, pipe = later.bit, later.item.pipe
        graph.add_edge(("start", j), ("end", j))
        if pipe in last:
            graph.add_edge(("start", last[pipe]), ("start", j))
            graph.add_edge(("end", last[pipe]), ("end", j))
        last[pipe] = j
        graph.add_edges_from((("end", i), ("start", j)) for i in range(j) if conflicts[j] >> i & 1)
    left = nx.transitive_reduction(graph).edges
    return {(a, b) for (end, a), (start, b) in left if (end, start) == ("end", "start")}


@pytest.mark.parametrize("seed", range(40))
def test_a_straight_line_keeps_what_its_transitive_reduction_keeps(seed: int) -> None:
    dice = random.Random(seed)
    tree = straight_line(dice, dice.randint(2, 24))
    share = dice.uniform(0.02, 0.6)
    conflicts = [
        sum(
            1 << earlier.bit
            for earlier in tree.instances[: later.bit]
            if earlier.item.pipe is not later.item.pipe and dice.random() < share
        )
        for later in tree.instances
    ]
    edges = edges_of(reduce(flow_of(tree, conflicts), Plan()))
    bit = {instance.item: instance.bit for instance in tree.instances}
    found = [(bit[edge.earlier], edge.later.bit) for edge in edges]
    assert len(found) == len(set(found))
    assert set(found) == reduced_by_networkx(tree, conflicts)
