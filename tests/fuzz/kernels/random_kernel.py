"""One random kernel from a number."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

from fuzz.kernels.control import Control
from fuzz.kernels.cube import CubeLeaves
from fuzz.kernels.scope import Scope
from fuzz.kernels.vector import VectorLeaves
from fuzz.kernels.writing import Writer
from tile_ir import (
    DEFAULT_TARGET,
    Buffer,
    Core,
    Func,
    Launch,
    Memory,
    Phase,
    Section,
    Target,
)
from tile_ir.expr import Const, Var
from tile_ir.layout.footprint import buffer_bytes, round_up
from tile_ir.nodes import Body
from tile_ir.traversal import buffers_of, walk

PARAMETERS = (Var("n"), Var("m"))


def random_kernel(seed: int) -> Func:
    """The kernel of a seed: a vector section, a cube section, or both."""
    rng = random.Random(seed)
    writer = Writer(rng)
    kinds = rng.choices([(True, False), (False, True), (True, True)], [7, 2, 1])[0]
    params: list[Buffer | Var] = []
    sections: list[Section] = []
    for core, wanted in zip((Core.VECTOR, Core.CUBE), kinds, strict=True):
        if wanted:
            tensors, body = _section(writer, core, rng)
            params += tensors
            sections.append(Section(core, body, writer.loc()))
    sections.sort(key=lambda s: s.core is Core.VECTOR)
    used = {b for s in walk(tuple(sections)) for b in buffers_of(s)}
    roots = {a.alias_of for a in writer.allocs if a.buffer in used}
    allocs = tuple(a for a in writer.allocs if a.buffer in used or a.buffer in roots)
    params = [p for p in params if p in used]
    loc = writer.loc()
    launch = Launch(Const(1), Var("cid"), Var("vid"), 1, allocs, tuple(sections), loc)
    return Func(f"fuzz{seed}", (*params, *PARAMETERS), launch, Phase.PIPELINED, loc)


def _section(writer: Writer, core: Core, rng: random.Random) -> tuple[list[Buffer], Body]:
    leaves = VectorLeaves(writer) if core is Core.VECTOR else CubeLeaves(writer)
    control = Control(writer, leaves, rng.choice([6, 12, 18, 25]))
    leaves.control = control
    scope = Scope(integers=list(PARAMETERS), floats=[])
    tensors = leaves.declare(many=rng.random() < 0.2)
    body = leaves.prologue(scope)
    while control.budget > 0:
        body += control.body(scope)
    body += leaves.epilogue(scope)
    return tensors, tuple(body)


def small_target(func: Func, share: float) -> Target:
    """A chip whose memories hold that share of the kernel's buffers, or at least the largest."""
    capacity: dict[Memory, int] = dict(DEFAULT_TARGET.capacity)
    for memory, align in DEFAULT_TARGET.alignment.items():
        sizes = [
            round_up(buffer_bytes(a), align)
            for a in func.launch.allocs
            if a.buffer.memory is memory and a.alias_of is None
        ]
        if sizes:
            capacity[memory] = max(max(sizes), round_up(int(sum(sizes) * share), align))
    limited: Mapping[Memory, int] = capacity
    return replace(DEFAULT_TARGET, capacity=limited)
