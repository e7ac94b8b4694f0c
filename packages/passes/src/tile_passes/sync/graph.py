"""A section as graphs: statements as nodes, and between them each pipe's own order, the hazards, or
what a plan orders. Draws nothing; networkx is loaded with this file only."""

from __future__ import annotations

from typing import Any, TypeAlias

import networkx as nx

from tile_ir.machine import Pipe
from tile_passes.sync.fences import Barrier, Fence, Flag, Piece, Plan
from tile_passes.sync.hazards import Kind, hazards
from tile_passes.sync.in_text import positions
from tile_passes.sync.tree import Tree, Work

# Nodes are Work items. Edges have: `pipe` if they are a pipe's own order; else `kinds`, the hazards
# (empty for a kept piece), `carried`, and for a kept piece `label` and `carried`.
Graph: TypeAlias = Any


def statements(tree: Tree) -> list[Work]:
    """The statements that have sites, in program order."""
    return [item for item in tree.root.walk() if isinstance(item, Work)]


def hazard_graph(tree: Tree, conflicts: list[int]) -> Graph:
    """Every hazard of the section, before anything is left out."""
    graph = _pipe_order(tree)
    for hazard in hazards(tree, conflicts):
        a, b, carried = hazard.earlier, hazard.later, hazard.carried is not None
        if graph.has_edge(a, b) and "kinds" in graph[a][b]:
            edge = graph[a][b]
            edge["kinds"] |= {hazard.kind}
            edge["carried"] &= carried
        else:
            graph.add_edge(a, b, kinds={hazard.kind}, carried=carried)
    return graph


def kept_graph(tree: Tree, plan: Plan, kinds: dict[Piece, set[Kind]]) -> Graph:
    """What a plan orders: an edge for each piece, from the statement it waits for to the one that
    waits; `kinds` says what each piece covers."""
    graph = _pipe_order(tree)
    order = {work: number for number, work in enumerate(statements(tree))}
    for piece in plan.pieces:
        a, b = _ends(tree, piece)
        carried = (isinstance(piece, Flag) and piece.carried) or order[a] >= order[b]
        covered = kinds.get(piece, set())
        if graph.has_edge(a, b) and "kinds" in graph[a][b]:
            edge = graph[a][b]
            edge["kinds"] |= covered
            edge["labels"] = [*edge["labels"], label(piece)]
            edge["carried"] &= carried
        else:
            graph.add_edge(a, b, kinds=covered, carried=carried, labels=[label(piece)])
    return graph


def _ends(tree: Tree, piece: Piece) -> tuple[Work, Work]:
    """The hazard a piece was put in for; the statements next to a fence, whose direction may be
    another than that of the flag it helps."""
    if not isinstance(piece, Fence):
        return piece.reason.earlier, piece.reason.later
    place = positions(tree.root)
    here = place[piece.block, piece.position] + piece.behind
    earlier, later = [], []
    for work in statements(tree):
        before = place[work.block, work.position] < here
        if before and work.pipe is piece.source:
            earlier.append(work)
        if not before and work.pipe is piece.target:
            later.append(work)
    return (
        earlier[-1] if earlier else piece.reason.earlier,
        later[0] if later else piece.reason.later,
    )


def _pipe_order(tree: Tree) -> Graph:
    graph = nx.DiGraph()
    last: dict[Pipe, Work] = {}
    for work in statements(tree):
        graph.add_node(work)
        if work.pipe in last:
            graph.add_edge(last[work.pipe], work, pipe=work.pipe)
        last[work.pipe] = work
    return graph


def label(piece: Piece) -> str:
    """A piece in a few letters: its event ids, or which barrier it is."""
    match piece:
        case Barrier(pipe=Pipe.ALL):
            return "all"
        case Barrier(pipe=pipe):
            return f"| {pipe.value}"
        case Fence():
            return f"={piece.event}"
        case Flag(slots=1):
            return str(piece.event)
        case Flag():
            return f"{piece.event}-{piece.event + piece.slots - 1}"
