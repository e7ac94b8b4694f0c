"""Check the parts of a statement itself: expressions, elements, regions, and its core."""

from __future__ import annotations

from collections.abc import Iterator, Set
from functools import lru_cache
from typing import NamedTuple

from tile_ir.diagnostics.errors import Diagnostic
from tile_ir.dtypes import INT32
from tile_ir.expr import Const, Expr, Load, Var, constant_value, walk_expr
from tile_ir.location import Loc
from tile_ir.machine import Core, Memory
from tile_ir.nodes import Buffer, Op, Region, Stmt, Store
from tile_ir.opdef import core_of
from tile_ir.ops.sync import cores_with, pipes_named
from tile_ir.target import Target
from tile_ir.traversal import buffers_of, expressions, variables_of

# The scalar unit has no way to the registers of the cube core.
REGISTERS = (Memory.L0A, Memory.L0B, Memory.L0C, Memory.BT)


class Scope(NamedTuple):
    """The context of a statement: declared buffers, defined scalars, the enclosing section, whether
    a loop is open, and whether it stands in a parallel loop, where elements may still become tile
    operations."""

    buffers: Set[Buffer]
    scalars: frozenset[str]
    core: Core | None = None
    in_loop: bool = False
    parallel: bool = False

    def defining(self, name: str) -> Scope:
        """The scope with one more scalar."""
        return self._replace(scalars=self.scalars | {name})


class Named(NamedTuple):
    """The buffers and scalars that a correct statement requires around it."""

    buffers: frozenset[Buffer]
    scalars: frozenset[str]


@lru_cache(maxsize=32768)
def named(stmt: Stmt) -> Named | None:
    """The names in the expressions and regions of a statement itself; None if one of them may be
    wrong with any declarations."""
    names = frozenset([var.name for var in variables_of(stmt)])
    named = Named(buffers_of(stmt), names)
    return None if any(own_problems(stmt, Scope(*named))) else named


def own_problems(stmt: Stmt, scope: Scope) -> Iterator[Diagnostic]:
    """The errors of the expressions and regions of a statement itself."""
    for expr in expressions(stmt):
        if expr.dtype is INT32:  # nearly always, and simple
            if isinstance(expr, Const):
                continue
            if isinstance(expr, Var) and expr.name in scope.scalars:
                continue
        yield from in_expression(expr, scope, stmt.loc)
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


def _region(region: Region, scope: Scope, loc: Loc) -> Iterator[Diagnostic]:
    if region.buffer not in scope.buffers:
        yield Diagnostic("name-unknown", f"buffer `{region.buffer.name}` is not declared", loc)
    for slug, message in _of_region(region):
        yield Diagnostic(slug, message, loc)


@lru_cache(maxsize=32768)
def _of_region(region: Region) -> tuple[tuple[str, str], ...]:
    """The errors of a region's slices, wherever it stands: slugs and messages."""
    buffer = region.buffer
    if len(region.dims) != buffer.rank:
        message = f"`{buffer.name}` has {buffer.rank} dimensions, found {len(region.dims)} slices"
        return (("rank-mismatch", message),)
    found: list[tuple[str, str]] = []
    on_chip = buffer.memory is not Memory.GM
    for dim, (s, size) in enumerate(zip(region.dims, buffer.shape, strict=True)):
        offset, extent = constant_value(s.offset), constant_value(s.extent)
        if (offset is not None and offset < 0) or (extent is not None and extent < 0):
            found.append(("slice-range", f"dimension {dim} of `{buffer.name}` starts below zero"))
        elif on_chip and offset is not None and extent is not None:
            last, limit = offset + (extent - 1) * s.stride + 1, constant_value(size)
            if limit is not None and last > limit:
                message = f"dimension {dim} of `{buffer.name}` has {limit} elements, but the "
                found.append(("slice-range", f"{message}slice ends at {last}"))
    return tuple(found)


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


def in_expression(expr: Expr, scope: Scope, loc: Loc) -> Iterator[Diagnostic]:
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


@lru_cache(maxsize=32768)
def in_section(op: Op, section: Core, target: Target) -> tuple[Diagnostic, ...]:
    """The errors of an operation in a section of these cores."""
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
