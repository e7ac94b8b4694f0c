"""`dependence_graph` against all runs with few rounds: what meets in one of them has an edge."""

from __future__ import annotations

from kept_cases import kept

from order_steps.executed import Executed
from order_steps.random_sections import flows_of, kernel_function, short_function
from tile_ir import Func
from tile_ir.expr import Var
from tile_passes.order.dependence_graph import dependence_graph
from tile_passes.order.tree import Work

# What elements read are taken for, and the scalars given.
RUNS = ((0, 0, 2), (0, 1, 2), (1, 2, 1), (1, 3, 0), (0, 5, 2))


def compared(func: Func) -> tuple[int, int]:
    """How many pairs of statements some run shows, and how many edges there are."""
    shown = edges = 0
    for section, flow in flows_of(func):
        graph = dependence_graph(flow.tree, flow.conflicts)
        work = {item.stmt: item for item in flow.tree.root.walk() if isinstance(item, Work)}
        pairs = set()
        scalars = [p for p in func.params if isinstance(p, Var)]
        for loaded, *given in RUNS:
            indices = {func.launch.block: 0, func.launch.lane: 0}
            run = Executed(func, {**indices, **dict(zip(scalars, given, strict=True))}, loaded)
            run.section(section)
            pairs |= run.pairs
        for earlier, later in pairs:
            assert graph.has_edge(work[earlier], work[later]), (earlier.loc, later.loc)
        shown += len(pairs)
        edges += len({(a, b) for a, b in graph.edges()})
    return shown, edges


def test_short_functions() -> None:
    seeds = kept(range(40), least=20)
    found = [compared(short_function(seed)) for seed in seeds]
    shown, edges = (sum(n) for n in zip(*found, strict=True))
    assert shown > 0.4 * edges > 10 * len(seeds), "runs show what edges are about"


def test_kernels() -> None:
    """Those of `make fuzz`, with `while` loops and operations of all kinds."""
    found = [compared(kernel_function(seed)) for seed in range(10)]
    shown, edges = (sum(n) for n in zip(*found, strict=True))
    assert shown > 0.4 * edges > 100
