"""Find what statements do to the value of one buffer: whether they read it first, and whether they
leave anything of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tile_ir import (
    Access,
    Body,
    Break,
    Buffer,
    Expr,
    For,
    If,
    Load,
    Op,
    Region,
    Section,
    Stmt,
    Store,
    Var,
    While,
    bodies,
    buffers_of,
    constant_value,
    is_constant,
    loads,
    overwriting,
    replace_buffers,
    walk,
)
from tile_ir.analysis import surely_runs
from tile_ir.ops.cube import is_tile_product
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.parallel.nest_form import is_parallel


@dataclass(frozen=True, slots=True)
class ValueUse:
    """`reads`: the roles in which a value may be read that was there before; `ends`: whether
    nothing of it is left behind that, on any way through."""

    reads: frozenset[str] = frozenset()
    ends: bool = False


NOTHING = ValueUse()
# The roles in which a statement uses a buffer: as operand or sum of a product, or otherwise.
OPERAND, SUM, TILE = "operand", "sum", "tile"


def touches(stmt: Stmt, buffer: Buffer) -> bool:
    """Whether a statement, or one inside it, uses the buffer."""
    return any(buffer in buffers_of(s) for s in walk((stmt,)))


def uses(op: Op, buffer: Buffer) -> list[tuple[str, Region, Access]]:
    """The operands of an operation that are of a buffer, with role and direction."""
    product = is_tile_product(op)
    found = []
    for position, operand in enumerate(op.operands):
        if isinstance(operand, Region) and operand.buffer is buffer:
            definition = op.opdef.operand_def(position)
            role = _OF_PRODUCT.get(definition.name, TILE) if product else TILE
            found.append((role, operand, definition.access))
    return found


_OF_PRODUCT = {"A": OPERAND, "B": OPERAND, "C": SUM}


def roles(op: Op, buffer: Buffer) -> frozenset[str]:
    """The roles of a buffer in an operation."""
    found = {role for role, _, _ in uses(op, buffer)}
    if any(load.buffer is buffer for load in loads(op)):
        found.add(TILE)
    return frozenset(found)


def roles_in(body: Body, buffer: Buffer) -> frozenset[str]:
    """The roles of a buffer in all statements."""
    found = set[str]()
    for stmt in walk(body):
        if isinstance(stmt, Op):
            found |= roles(stmt, buffer)
        elif buffer in buffers_of(stmt):
            found.add(TILE)
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class ValueUses:
    """The uses of the value of `buffer` by statements."""

    buffer: Buffer

    def of(self, stmt: Stmt) -> ValueUse:
        """The use of one statement."""
        if not touches(stmt, self.buffer):
            return NOTHING
        match stmt:
            case Op():
                return self._of_op(stmt)
            case For() if is_parallel(stmt):
                return self._of_nest(stmt)
            case For():
                inside = self.of_body(stmt.body)
                head = self._of_conditions(stmt)
                runs = surely_runs(stmt, {}) and not _has_break(stmt.body)
                return ValueUse(head | inside.reads, inside.ends and runs)
            case While():
                inside = self.of_body(stmt.body)
                return ValueUse(self._of_conditions(stmt) | inside.reads)
            case If():
                then, orelse = self.of_body(stmt.then), self.of_body(stmt.orelse)
                reads = self._of_conditions(stmt) | then.reads | orelse.reads
                return ValueUse(reads, then.ends and orelse.ends)
            case Section():
                return self.of_body(stmt.body)
        return ValueUse(frozenset({TILE}))

    def of_body(self, body: Iterable[Stmt]) -> ValueUse:
        """The use of statements one after another."""
        reads = frozenset[str]()
        for stmt in body:
            use = self.of(stmt)
            reads |= use.reads
            if use.ends:
                return ValueUse(reads, True)
        return ValueUse(reads)

    def each(self, body: Body, wanted: frozenset[str]) -> Iterator[tuple[Stmt, frozenset[str]]]:
        """The statements of a body, each with the roles in which the value may be read behind it;
        `wanted` are those behind the body."""
        for position, stmt in enumerate(body, 1):
            rest = self.of_body(body[position:])
            yield stmt, rest.reads if rest.ends else rest.reads | wanted

    def _of_conditions(self, stmt: Stmt) -> frozenset[str]:
        return frozenset({TILE} if self.buffer in buffers_of(stmt) else ())

    def _of_op(self, op: Op) -> ValueUse:
        reads = set[str]()
        ends = False
        if any(load.buffer is self.buffer for load in loads(op)):
            reads.add(TILE)
        for role, region, access in uses(op, self.buffer):
            added = access.reads and access.writes
            if access.reads and not (added and overwriting(op) is True):
                reads.add(role)
            elif region.is_whole():
                ends = True
            else:  # the rest of the tile stays
                reads.add(role)
        return ValueUse(frozenset(reads), ends)

    def _of_nest(self, nest: For) -> ValueUse:
        whole = stores_all(nest, self.buffer)
        read = any(load.indices not in made for load, made in _loads_of_nest(nest, self.buffer))
        return ValueUse(frozenset({TILE} if read or not whole else ()), whole)


def _loads_of_nest(nest: For, buffer: Buffer) -> Iterator[tuple[Load, set[tuple[Expr, ...]]]]:
    """The loads of a buffer, each with the places that every element has stored to before."""
    body: Body = (nest,)
    made: set[tuple[Expr, ...]] = set()
    while len(body) == 1 and is_parallel(body[0]):
        yield from ((load, made) for load in loads(body[0]) if load.buffer is buffer)
        (body,) = bodies(body[0])
    for stmt in body:
        for part in walk((stmt,)):
            yield from ((load, made) for load in loads(part) if load.buffer is buffer)
        if isinstance(stmt, Store) and stmt.buffer is buffer:
            made.add(stmt.indices)


def stores_all(nest: For, buffer: Buffer) -> bool:
    """Whether a nest of parallel loops stores every element of a buffer, whatever it reads."""
    extents: dict[Var, int | None] = {}
    body: Body = (nest,)
    while len(body) == 1 and is_parallel(body[0]):
        loop = body[0]
        assert isinstance(loop, For), "a nest is a loop"
        start, stop = constant_value(loop.start), constant_value(loop.stop)
        extents[loop.var] = stop if start == 0 else None
        body = loop.body
    shape = buffer.static_shape()
    for stmt in body:
        if isinstance(stmt, Store) and stmt.buffer is buffer and shape is not None:
            sizes = [extents.get(i) if isinstance(i, Var) else None for i in stmt.indices]
            ones = [is_constant(i, 0) and n == 1 for i, n in zip(stmt.indices, shape, strict=True)]
            used = [i for i in stmt.indices if isinstance(i, Var)]
            full = all(size == n or one for size, n, one in zip(sizes, shape, ones, strict=True))
            if full and len(set(used)) == len(used):
                return True
    return False


def _has_break(body: Body) -> bool:
    return any(isinstance(s, Break) for s in walk(body))


def condition_on(new: Buffer, old: Buffer, branch: If) -> If:
    """The branch with the elements of a buffer in its condition read from another."""
    (changed,) = replace_buffers((replace(branch, then=(), orelse=()),), {old: new})
    assert isinstance(changed, If), "a branch stays one"
    return replace(branch, condition=changed.condition)
