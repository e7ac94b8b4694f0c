"""Random sections, as the steps of `insert_sync` see them: straight lines, and anything at all."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from fuzz.kernels.random_kernel import random_kernel
from random_sync import Anything

from tile_ir import DEFAULT_TARGET, Func, Section, parse
from tile_ir.expr import Var
from tile_ir.nodes import Body, Stmt
from tile_passes import apply_passes
from tile_passes.order.conflicts import conflicts
from tile_passes.order.flow_graph import FlowGraph, flow_graph
from tile_passes.order.unroll import build_tree
from tile_passes.scalar_reads import name_scalar_reads

# Instances of the sections that are looked at: few, so that many can be.
MOST_INSTANCES = 30


def flows_of(func: Func) -> Iterator[tuple[Section, FlowGraph]]:
    """Every section of a planned function whose scalar reads have names."""
    for section in func.launch.body:
        if isinstance(section, Section):
            tree = build_tree(func, section, DEFAULT_TARGET)
            yield section, flow_graph(tree, conflicts(tree))


class Unordered(Anything):
    """Statements in loops and branches without flags and barriers."""

    def order(self, loops: tuple[Var, ...]) -> list[Stmt]:
        return []

    def straight(self, length: int) -> Body:
        return tuple(self.work(()) for _ in range(length))

    def sharing(self, body: Body) -> Func:
        """The function, its buffers some rows into each other as a planner may place them."""
        func = self.func(body)
        step = self.rng.choice((64, 96, 128))
        allocs = tuple(replace(a, address=step * i) for i, a in enumerate(func.launch.allocs))
        return name_scalar_reads(func.with_body(func.launch.body, allocs=allocs))


def straight_line(seed: int) -> FlowGraph:
    """Up to thirty operations in a row over three buffers of four rows."""
    rng = random.Random(seed)
    program = Unordered(rng)
    ((_, flow),) = flows_of(program.sharing(program.straight(rng.randint(2, 30))))
    return flow


def short_function(seed: int) -> Func:
    """Loops, branches and breaks over three buffers of four rows, ready for a tree."""
    program = Unordered(random.Random(seed))
    return program.sharing((*program.body(0, ()), *program.body(0, ())))


@lru_cache(maxsize=4096)
def kernel_function(seed: int) -> Func:
    """A random kernel of `make fuzz`, ready for a tree."""
    return name_scalar_reads(apply_passes(random_kernel(seed), ["plan_memory"], DEFAULT_TARGET))


@lru_cache(maxsize=4096)
def kernel_flows(seed: int) -> tuple[FlowGraph, ...]:
    """The short sections of such a kernel."""
    flows = [flow for _, flow in flows_of(kernel_function(seed))]
    return tuple(f for f in flows if 0 < len(f.tree.instances) <= MOST_INSTANCES)


def flow_of_slots(slots: int, ahead: int) -> FlowGraph:
    """A loop whose rounds use rows of buffers in turn; what is loaded is some rows ahead."""
    text = f"""file 0 "k.py"
func "k" phase pipelined @0:1:1 {{
  tensor $x: float32 [6, 8] @0:1:1
  scalar %n: int32
  launch blocks(1) %cid %vid threads 1 @0:1:1 {{
    alloc $u: ub float32 [{slots}, 8] @0:1:1
    section vector @0:1:1 {{
      fill($u, 1.0) @0:1:1
      for %i: int32 in serial(0, %n) @0:1:1 {{
        copy_gm_ub($x[0:+1, 0:+8], $u[(%i + {ahead}) % {slots}:+1, 0:+8]) {{pad_value=0.0}} @0:2:1
        exp($u[%i % {slots}:+1, 0:+8], $u[%i % {slots}:+1, 0:+8]) @0:3:1
        copy_ub_gm($u[%i % {slots}:+1, 0:+8], $x[1:+1, 0:+8]) @0:4:1
      }}
    }}
  }}
}}
"""
    func = apply_passes(parse(text), ["plan_memory"], DEFAULT_TARGET)
    ((_, flow),) = flows_of(name_scalar_reads(func))
    return flow


__all__ = [
    "flow_of_slots",
    "flows_of",
    "kernel_flows",
    "kernel_function",
    "short_function",
    "straight_line",
]
