"""Read from the op table which memories each use of an open buffer demands.

A demand is a relation: the memories that its one or two buffers may have together. Not here: the
consequences of all demands together (`memory_choice`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tile_ir import (
    CHOICES_OF_OPEN,
    CORE_OF_MEMORY,
    OPS,
    PACKED_MEMORIES,
    Alloc,
    Body,
    Buffer,
    Cast,
    Core,
    Expr,
    For,
    Func,
    Load,
    Loc,
    LoopKind,
    Memory,
    Op,
    Region,
    Section,
    Stmt,
    Store,
    Target,
    bodies,
    cast,
    check_op,
    is_constant,
    loads,
    possible,
    simplify,
    walk_expr,
)
from tile_ir.ops.movement import directions
from tile_ir.quick_dataclasses import dataclass, replace

Together = frozenset[tuple[Memory, ...]]
IN_UB: Together = frozenset({(Memory.UB,)})


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """`buffers` play `roles` in something at `loc` that `word` names; their memories are one of
    `allowed`. `core` is that of the section around it, if that rules something out. `computes` says
    that T.Parallel makes the elements of the buffer, which is work of the vector cores; `op` is the
    operation that moves a tile, if one does."""

    word: str
    loc: Loc
    buffers: tuple[Buffer, ...]
    roles: tuple[str, ...]
    allowed: Together
    core: Core | None = None
    computes: bool = False
    op: Op | None = None

    def of(self, buffer: Buffer) -> frozenset[Memory]:
        """The memories that it leaves to one of its buffers."""
        position = self.buffers.index(buffer)
        return frozenset(memories[position] for memories in self.allowed)

    def role_of(self, buffer: Buffer) -> str:
        return self.roles[self.buffers.index(buffer)]


def is_open(buffer: Buffer) -> bool:
    return buffer.memory in CHOICES_OF_OPEN


def choices(buffer: Buffer) -> frozenset[Memory]:
    """The memories of a buffer by itself: masks lie in ub, elements that share
    bytes where units take them."""
    found = possible(buffer.memory)
    if is_open(buffer) and buffer.dtype.name == "bool":
        return found & {Memory.UB}
    if not buffer.dtype.whole_bytes:
        return found & PACKED_MEMORIES
    return found


def demands(func: Func, target: Target) -> list[Demand]:
    """All demands on open buffers, in textual order."""
    found: list[Demand] = []
    for alloc in func.launch.allocs:
        found.extend(_of_alloc(alloc))
    found.extend(_of_body(func.launch.body, None, False, target))
    return [d for d in found if any(is_open(b) for b in d.buffers) and _demands_something(d)]


def _demands_something(d: Demand) -> bool:
    every = frozenset(product(*(choices(b) for b in d.buffers)))
    return not every <= d.allowed


def _of_alloc(alloc: Alloc) -> Iterator[Demand]:
    if alloc.alias_of is not None:
        renamed = ((alloc.alias_of, "a buffer with two names"), (alloc.buffer, "its second name"))
        for buffer, role in renamed:
            yield Demand("reinterpretcast", alloc.loc, (buffer,), (role,), IN_UB)
    if alloc.layout is not None:
        roles = ("a matrix with a layout",)
        in_l1 = frozenset({(Memory.L1,)})
        yield Demand("annotate_layout", alloc.loc, (alloc.buffer,), roles, in_l1)


def _of_body(body: Body, core: Core | None, parallel: bool, target: Target) -> Iterator[Demand]:
    for stmt in body:
        yield from _of_stmt(stmt, core, parallel, target)
        inside_core = stmt.core if isinstance(stmt, Section) else core
        inside = parallel or (isinstance(stmt, For) and stmt.kind is LoopKind.PARALLEL)
        for inner in bodies(stmt):
            yield from _of_body(inner, inside_core, inside, target)


def _of_stmt(stmt: Stmt, core: Core | None, parallel: bool, target: Target) -> Iterator[Demand]:
    if parallel and isinstance(stmt, Store):
        yield from _of_parallel_store(stmt, core, target)
        return
    word, role = (
        ("T.Parallel", "an operand of T.Parallel")
        if parallel
        else ("an element", "an element that the scalar unit reads")
    )
    for buffer in dict.fromkeys(load.buffer for load in loads(stmt)):
        yield Demand(word, stmt.loc, (buffer,), (role,), IN_UB)
    match stmt:
        case Op():
            yield from _of_op(stmt, core, target)
        case Store(buffer=buffer):
            written = ("an element that the scalar unit writes",)
            yield Demand("an element", stmt.loc, (buffer,), written, IN_UB)


def _of_op(op: Op, core: Core | None, target: Target) -> Iterator[Demand]:
    opdef = op.opdef
    if opdef.paths is not None:
        src, dst = op.operands[:2]
        assert isinstance(src, Region) and isinstance(dst, Region), "checked when built"
        between = src.buffer, dst.buffer
        ways = _legal(op, between, opdef.paths(op, target), target)
        yield _move(opdef.name, op.loc, between, ways, core, op, target)
        return
    for position, operand in enumerate(op.operands):
        if isinstance(operand, Region):
            yield _operand(op, position, operand.buffer, core, target)


def _operand(op: Op, position: int, buffer: Buffer, core: Core | None, target: Target) -> Demand:
    definition = op.opdef.operand_def(position)
    here = {m for m in definition.memories if core is None or CORE_OF_MEMORY.get(m, core) is core}
    allowed = frozenset((m,) for m in here or definition.memories)
    role = f"{definition.name} of {op.opdef.name}"
    legal = _legal(op, (buffer,), allowed, target)
    return Demand(op.opdef.name, op.loc, (buffer,), (role,), legal)


def _legal(op: Op, buffers: tuple[Buffer, ...], allowed: Together, target: Target) -> Together:
    """Those memories for which the rest of the operation's record holds: types and shapes may
    require some of them. All if there is none, so that the record can give the reason."""
    kinds = [choices(buffer) for buffer in buffers]
    left = [m for m in allowed if all(a in kind for a, kind in zip(m, kinds, strict=True))]
    if len(left) > 1:
        legal = [m for m in left if check_op(in_memories(op, buffers, m), target) is None]
        left = legal or left
    return frozenset(left) or allowed


def in_memories(op: Op, buffers: tuple[Buffer, ...], memories: tuple[Memory, ...]) -> Op:
    """The operation with operands of some buffers in these memories."""
    new = {b: replace(b, memory=m) for b, m in zip(buffers, memories, strict=True)}
    operands = tuple(
        Region(new[o.buffer], o.dims) if isinstance(o, Region) and o.buffer in new else o
        for o in op.operands
    )
    return replace(op, operands=operands)


def _move(
    word: str,
    loc: Loc,
    between: tuple[Buffer, Buffer],
    ways: Together,
    core: Core | None,
    op: Op | None,
    target: Target,
) -> Demand:
    """The ways of the section's own core, if the tile is moved in a section; ways through a
    workspace belong to all cores."""
    cores = {way: core for way, (core, _) in directions(target).items()}
    here = frozenset((a, b) for a, b in ways if core is None or cores.get((a, b), core) is core)
    roles = (f"src of {word}", f"dst of {word}")
    blocked = core if here != ways else None
    if between[0] is between[1]:
        within = frozenset((a,) for a, b in here if a is b)
        return Demand(word, loc, between[:1], roles[:1], within, blocked, op=op)
    return Demand(word, loc, between, roles, here, blocked, op=op)


def _of_parallel_store(store: Store, core: Core | None, target: Target) -> Iterator[Demand]:
    """Elements of T.Parallel are work of the vector cores, except that a bare copy may be any that
    T.copy does at once, and zeros may be those of an accumulator
    (docs/language/index.md#parallel-loops)."""
    bare = bare_load(store.value)
    if bare is not None and Memory.VAR in (bare.buffer.memory, store.buffer.memory):
        bare = None  # a variable of each element
    computed = list(dict.fromkeys(load.buffer for load in loads(store)))
    if bare is not None:
        ways: Together = frozenset({*directions(target), (Memory.GM, Memory.GM)})
        yield _move("T.Parallel", store.loc, (bare.buffer, store.buffer), ways, core, None, target)
        indices = (part for i in (*bare.indices, *store.indices) for part in walk_expr(i))
        computed = list(dict.fromkeys(p.buffer for p in indices if isinstance(p, Load)))
    else:
        zero = is_constant(simplify(cast(store.value, store.buffer.dtype)), 0)
        zeroed = OPS["clear_l0c"].operands[0].memories if zero else frozenset()
        allowed = frozenset((m,) for m in {Memory.UB, *zeroed})
        role = ("a result of T.Parallel",)
        yield Demand("T.Parallel", store.loc, (store.buffer,), role, allowed, computes=True)
    for buffer in computed:
        yield Demand("T.Parallel", store.loc, (buffer,), ("an operand of T.Parallel",), IN_UB)


def bare_load(e: Expr) -> Load | None:
    """The element under conversions, if the value is nothing else; scalar variables have none."""
    while isinstance(e, Cast) and not e.bits:
        e = e.operand
    return e if isinstance(e, Load) and e.indices else None
