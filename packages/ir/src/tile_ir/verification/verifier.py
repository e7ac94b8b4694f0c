"""Every invariant of the IR, in one place. Run after every pass; it is cheap.

Always:
  names     buffers and scalars are defined once, before use, in an enclosing block
  tensors   parameters are in gm; allocations are not, and have a static shape
  types     elements that share bytes lie where units take them, whole bytes to a row, and are no
            scalars
  operands  each operation satisfies its record (memories, types, shapes, attributes)
  aliases   name the first bytes of a ub buffer that is no alias itself, and no more than it has;
            in l1 and gm all bytes, in the same places
  accesses  element loads and stores have one index per dimension; constants are in range;
            regions have one slice per dimension, and constant slices of on-chip buffers fit
  loops     `break` stands in a loop; only tensors' shapes name symbolic dimensions
  sections  do not nest; an operation in a section can run on that core
By phase (table in `phases`):
  open memories, compiler-owned lanes, composite operations, loop kinds, sections, addresses,
  contiguous vector operands with 32-byte aligned starts
Not checked here: overlap of live buffers (`check_memory`), order between pipes (`check_sync`),
anything that depends on run-time values (the simulator).
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from functools import lru_cache
from typing import NamedTuple

from tile_ir.chips import DEFAULT_TARGET
from tile_ir.diagnostics.errors import Diagnostic, IRError
from tile_ir.dtypes import INT32
from tile_ir.expr import Const, Expr, Load, Var, constant_value, walk_expr
from tile_ir.layout.footprint import buffer_bytes, same_places, same_size
from tile_ir.layout.row_form import machine_form
from tile_ir.location import Loc
from tile_ir.machine import PACKED_MEMORIES, Core, Memory
from tile_ir.nodes import (
    Alloc,
    Body,
    Break,
    Buffer,
    For,
    Func,
    If,
    Let,
    LoopKind,
    Op,
    Phase,
    Region,
    Section,
    Stmt,
    Store,
    While,
)
from tile_ir.opdef import Composite, Effect, check_op, core_of
from tile_ir.ops.sync import cores_with, pipes_named
from tile_ir.target import Target
from tile_ir.traversal import buffers_of, expressions, variables_of
from tile_ir.verification.phases import PHASES, PhaseRule

# The scalar unit has no way to the registers of the cube core.
REGISTERS = (Memory.L0A, Memory.L0B, Memory.L0C, Memory.BT)


class Scope(NamedTuple):
    """What a statement sees: declared buffers, defined scalars, the enclosing section, whether a
    loop is open, and whether it stands in a parallel loop, where elements may still become tile
    operations."""

    buffers: Set[Buffer]
    scalars: frozenset[str]
    core: Core | None = None
    in_loop: bool = False
    parallel: bool = False

    def defining(self, name: str) -> Scope:
        """What is seen once one more scalar is defined."""
        return self._replace(scalars=self.scalars | {name})


class Named(NamedTuple):
    """What a statement that is right by itself needs to be declared and defined around it."""

    buffers: frozenset[Buffer]
    scalars: frozenset[str]


def verify(func: Func, target: Target = DEFAULT_TARGET) -> None:
    """Raise IRError at the first broken invariant."""
    for problem in problems(func, target):
        raise IRError(
            problem.slug, problem.message, problem.loc, problem.hint, sources=func.sources
        )


def problems(func: Func, target: Target = DEFAULT_TARGET) -> Iterator[Diagnostic]:
    """Every broken invariant, in textual order."""
    yield from _Verifier(func, target).run()


class _Verifier:
    def __init__(self, func: Func, target: Target) -> None:
        self.func, self.target = func, target
        self.rule: PhaseRule = PHASES[func.phase]
        self.buffers: set[Buffer] = set()
        self.names: set[str] = set()

    def run(self) -> Iterator[Diagnostic]:
        func = self.func
        for tensor in func.tensors:
            yield from self.declare(tensor)
            yield from packed_rows(tensor)
            if tensor.memory is not Memory.GM:
                yield Diagnostic("tensor-memory", f"`{tensor.name}` must be in gm", tensor.loc)
        scalars = {p.name for p in func.params if isinstance(p, Var)}
        scalars |= {s.name for s in func.symbols}
        launch = func.launch
        around = Scope(self.buffers, frozenset(scalars))
        yield from _expression(launch.blocks, around, launch.loc)
        scalars |= {launch.block.name, launch.lane.name}
        if launch.threads == 2 and not self.rule.compiler_lanes:
            message = "the split over two vector cores is still open"
            yield Diagnostic("phase-lanes", message, launch.loc)
        for alloc in launch.allocs:
            yield from self.declare(alloc.buffer)
            impossible = list(packed_rows(alloc.buffer))
            if impossible:
                yield from impossible
                continue
            if alloc.alias_of is not None and alloc.buffer.memory is Memory.GM:
                yield from self.view(alloc, alloc.alias_of)
                continue
            yield from self.allocation(alloc.buffer, alloc.address, alloc.loc)
            if alloc.alias_of is not None:
                yield from self.alias(alloc, alloc.alias_of)
            if alloc.address is not None and alloc.buffer.static_shape() is not None:
                yield from self.placement(alloc.buffer, alloc.address, buffer_bytes(alloc))
        yield from self.body(launch.body, Scope(self.buffers, frozenset(scalars)))

    def declare(self, buffer: Buffer) -> Iterator[Diagnostic]:
        if buffer.name in self.names:
            yield Diagnostic("name-twice", f"buffer `{buffer.name}` is declared twice", buffer.loc)
        self.names.add(buffer.name)
        self.buffers.add(buffer)

    def allocation(self, buffer: Buffer, address: int | None, loc: Loc) -> Iterator[Diagnostic]:
        if buffer.memory is Memory.GM:
            yield Diagnostic("alloc-memory", f"`{buffer.name}` cannot be allocated in gm", loc)
        if buffer.static_shape() is None:
            message = f"the shape of `{buffer.name}` must be known at compile time"
            yield Diagnostic("alloc-shape", message, loc)
        elif min(buffer.static_shape() or (0,)) < 0:
            yield Diagnostic("alloc-shape", f"the shape of `{buffer.name}` has a size below 0", loc)
        if buffer.memory in (Memory.SHARED, Memory.FRAGMENT) and not self.rule.open_memories:
            yield Diagnostic("phase-memory", f"the memory of `{buffer.name}` is still open", loc)
        needs_address = self.rule.addresses_required and buffer.memory is not Memory.VAR
        if needs_address and address is None:
            yield Diagnostic("phase-address", f"`{buffer.name}` has no address", loc)

    def placement(self, buffer: Buffer, address: int, size: int) -> Iterator[Diagnostic]:
        if buffer.memory not in self.target.capacity:
            return
        capacity = self.target.capacity[buffer.memory]
        alignment = self.target.alignment[buffer.memory]
        if address % alignment:
            message = f"`{buffer.name}` is at {address} in {buffer.memory.value}, expected a "
            message += f"multiple of {alignment}"
            yield Diagnostic("address-alignment", message, buffer.loc)
        if address < 0 or address + size > capacity:
            message = f"`{buffer.name}` takes bytes {address} to {address + size} of "
            message += f"{buffer.memory.value}, which has {capacity}"
            yield Diagnostic("address-range", message, buffer.loc)

    def alias(self, alloc: Alloc, root: Buffer) -> Iterator[Diagnostic]:
        name = alloc.buffer.name
        found = next((a for a in self.func.launch.allocs if a.buffer is root), None)
        if found is None or found.alias_of is not None:
            what = "an alias itself" if found is not None else "not allocated"
            yield Diagnostic("alias", f"`{name}` aliases `{root.name}`, which is {what}", alloc.loc)
        elif {alloc.buffer.memory, root.memory} == {Memory.L1}:
            if not (same_size(alloc.buffer, root) and same_places(alloc.buffer, root)):
                message = f"`{name}` and `{root.name}` lie in different orders"
                yield Diagnostic("alias", message, alloc.loc)
        elif not {alloc.buffer.memory, root.memory} <= {Memory.UB, Memory.SHARED, Memory.FRAGMENT}:
            yield Diagnostic("alias", f"`{name}` and `{root.name}` are not both in ub", alloc.loc)
        elif buffer_bytes(alloc) > buffer_bytes(found):
            message = f"`{name}` has {buffer_bytes(alloc)} bytes, but `{root.name}` only "
            message += f"{buffer_bytes(found)}"
            yield Diagnostic("alias", message, alloc.loc)
        elif alloc.address != found.address:
            yield Diagnostic("alias", f"`{name}` is not where `{root.name}` is", alloc.loc)

    def view(self, alloc: Alloc, root: Buffer) -> Iterator[Diagnostic]:
        """Another description of a whole tensor."""
        name = alloc.buffer.name
        if root not in self.func.tensors:
            yield Diagnostic("alias", f"`{name}` is no view of a parameter", alloc.loc)
        elif not same_size(alloc.buffer, root):
            yield Diagnostic("alias", f"`{name}` has not the size of `{root.name}`", alloc.loc)

    def body(self, body: Body, scope: Scope) -> Iterator[Diagnostic]:
        for stmt in body:
            named = _named(stmt)
            if named is None or not (
                named.scalars <= scope.scalars and named.buffers <= scope.buffers
            ):
                yield from _own(stmt, scope)
            if not isinstance(stmt, (Let, Store)):
                yield from self.stmt(stmt, scope)
            elif isinstance(stmt, Let):
                if stmt.var.name in scope.scalars:
                    message = f"scalar `{stmt.var.name}` is defined twice"
                    yield Diagnostic("name-twice", message, stmt.loc)
                scope = scope.defining(stmt.var.name)

    def stmt(self, stmt: Stmt, scope: Scope) -> Iterator[Diagnostic]:
        match stmt:
            case Op():
                yield from self.op(stmt, scope)
            case For(var=var, kind=kind, body=body):
                yield from self.loop_kind(kind, stmt)
                if var.name in scope.scalars:
                    message = f"scalar `{var.name}` is defined twice"
                    yield Diagnostic("name-twice", message, stmt.loc)
                parallel = scope.parallel or kind is LoopKind.PARALLEL
                inside = scope.defining(var.name)._replace(in_loop=True, parallel=parallel)
                yield from self.body(body, inside)
            case While(body=body):
                yield from self.body(body, scope._replace(in_loop=True))
            case If(then=then, orelse=orelse):
                yield from self.body(then, scope)
                yield from self.body(orelse, scope)
            case Section(core=core, body=body):
                if scope.core is not None:
                    yield Diagnostic("section-nested", "a scope stands inside a scope", stmt.loc)
                if core is Core.EITHER:
                    yield Diagnostic("section-core", "a section names one core", stmt.loc)
                yield from self.body(body, scope._replace(core=core))
            case Break():
                if not scope.in_loop:
                    yield Diagnostic("break-outside", "break stands outside a loop", stmt.loc)

    def loop_kind(self, kind: LoopKind, stmt: For) -> Iterator[Diagnostic]:
        if kind not in self.rule.loop_kinds:
            yield Diagnostic("phase-loop", f"a {kind.value} loop is still here", stmt.loc)

    def op(self, op: Op, scope: Scope) -> Iterator[Diagnostic]:
        problem = check_op(op, self.target)
        if problem:
            yield Diagnostic(problem.slug, problem.message, op.loc, problem.hint)
            return
        if op.opdef.composite is Composite.YES and not self.rule.composites:
            yield Diagnostic("phase-composite", f"{op.opdef.name} is not lowered", op.loc)
        if scope.core is not None:
            yield from _in_section(op, scope.core, self.target)
        elif not self.rule.unsectioned:
            yield Diagnostic("phase-section", f"{op.opdef.name} stands in no section", op.loc)
        if self.func.phase >= Phase.LOWERED and op.opdef.effect is Effect.DATA:
            yield from machine_form(op, self.target)


@lru_cache(maxsize=32768)
def _named(stmt: Stmt) -> Named | None:
    """What the expressions and regions of a statement itself name; None if one of them may be wrong
    whatever is declared around the statement."""
    names = frozenset(var.name for var in variables_of(stmt))
    named = Named(buffers_of(stmt), names)
    return None if any(_own(stmt, Scope(*named))) else named


def _own(stmt: Stmt, scope: Scope) -> Iterator[Diagnostic]:
    """What is wrong with the expressions and regions of a statement itself."""
    for expr in expressions(stmt):
        if expr.dtype is INT32:  # nearly always, and simple
            if isinstance(expr, Const):
                continue
            if isinstance(expr, Var) and expr.name in scope.scalars:
                continue
        yield from _expression(expr, scope, stmt.loc)
    match stmt:
        case Op(operands=operands):
            for operand in operands:
                if isinstance(operand, Region):
                    yield from _region(operand, scope, stmt.loc)
        case Store(buffer=buffer, indices=indices):
            yield from _element(buffer, indices, scope, stmt.loc)
            if buffer.memory in REGISTERS and not scope.parallel:
                message = f"the scalar unit cannot write `{buffer.name}` in "
                message += f"{buffer.memory.value}"
                yield Diagnostic("scalar-access", message, stmt.loc)


@lru_cache(maxsize=32768)
def _in_section(op: Op, section: Core, target: Target) -> tuple[Diagnostic, ...]:
    """What is wrong with an operation in a section of these cores."""
    found: list[Diagnostic] = []
    core = core_of(op)
    if Core.EITHER not in (core, section) and core != section:
        message = f"{op.opdef.name} runs on the {core.value} core, but stands in a "
        message += f"{section.value} section"
        hint = f'move it to a T.Scope("{"C" if core is Core.CUBE else "V"}")'
        found.append(Diagnostic("section-core", message, op.loc, hint))
    if section not in cores_with(op, target):
        pipes = pipes_named(op)
        what = "flag from" if len(pipes) == 2 else "pipe"
        message = f"{op.opdef.name}: the {section.value} core of {target.name} has no {what} "
        message += " to ".join(pipe.value for pipe in pipes)
        found.append(Diagnostic("section-core", message, op.loc))
    return tuple(found)


def _region(region: Region, scope: Scope, loc: Loc) -> Iterator[Diagnostic]:
    buffer = region.buffer
    if buffer not in scope.buffers:
        yield Diagnostic("name-unknown", f"buffer `{buffer.name}` is not declared", loc)
    if len(region.dims) != buffer.rank:
        yield Diagnostic(
            "rank-mismatch",
            f"`{buffer.name}` has {buffer.rank} dimensions, found {len(region.dims)} slices",
            loc,
        )
        return
    on_chip = buffer.memory is not Memory.GM
    for dim, (s, size) in enumerate(zip(region.dims, buffer.shape, strict=True)):
        offset, extent = constant_value(s.offset), constant_value(s.extent)
        if (offset is not None and offset < 0) or (extent is not None and extent < 0):
            message = f"dimension {dim} of `{buffer.name}` starts below zero"
            yield Diagnostic("slice-range", message, loc)
        elif on_chip and offset is not None and extent is not None:
            last, limit = offset + (extent - 1) * s.stride + 1, constant_value(size)
            if limit is not None and last > limit:
                message = f"dimension {dim} of `{buffer.name}` has {limit} elements, but the "
                message += f"slice ends at {last}"
                yield Diagnostic("slice-range", message, loc)


def _element(
    buffer: Buffer, indices: tuple[Expr, ...], scope: Scope, loc: Loc
) -> Iterator[Diagnostic]:
    if buffer not in scope.buffers:
        yield Diagnostic("name-unknown", f"buffer `{buffer.name}` is not declared", loc)
    if not buffer.dtype.whole_bytes:
        message = f"elements of `{buffer.name}` have no address: they are {buffer.dtype}"
        yield Diagnostic("packed-scalar", message, loc)
    if len(indices) != buffer.rank:
        message = f"`{buffer.name}` has {buffer.rank} dimensions, found {len(indices)} indices"
        yield Diagnostic("rank-mismatch", message, loc)
        return
    for dim, (index, size) in enumerate(zip(indices, buffer.shape, strict=True)):
        i, limit = constant_value(index), constant_value(size)
        if i is not None and (i < 0 or (limit is not None and i >= limit)):
            message = f"index {i} is outside dimension {dim} of `{buffer.name}`, which has "
            message += f"{limit if limit is not None else 'run-time'} elements"
            yield Diagnostic("index-range", message, loc)


def _expression(expr: Expr, scope: Scope, loc: Loc) -> Iterator[Diagnostic]:
    for part in walk_expr(expr):
        dtype = part.dtype
        if dtype is not INT32 and not dtype.whole_bytes:
            yield Diagnostic("packed-scalar", f"there are no scalars of type {dtype}", loc)
        if isinstance(part, Var) and part.name not in scope.scalars:
            yield Diagnostic("name-unknown", f"scalar `{part.name}` is not defined here", loc)
        elif isinstance(part, Load):
            yield from _element(part.buffer, part.indices, scope, loc)
            if part.buffer.memory in REGISTERS and not scope.parallel:
                message = f"the scalar unit cannot read `{part.buffer.name}` in "
                message += f"{part.buffer.memory.value}"
                yield Diagnostic("scalar-access", message, loc)


def packed_rows(buffer: Buffer) -> Iterator[Diagnostic]:
    """Elements that share bytes lie where units take them, and rows of them end with a byte."""
    if buffer.dtype.whole_bytes:
        return
    if buffer.memory not in PACKED_MEMORIES:
        message = f"`{buffer.name}` is {buffer.dtype}, which is no type of {buffer.memory.value}"
        yield Diagnostic("packed-memory", message, buffer.loc)
        return
    columns = constant_value(buffer.shape[-1])
    if columns is not None and columns * buffer.dtype.bits % 8:
        message = f"rows of `{buffer.name}` have {columns} elements, but two elements of "
        message += f"{buffer.dtype} share a byte"
        yield Diagnostic("odd-elements", message, buffer.loc)
