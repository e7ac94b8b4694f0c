"""Keep what products add up in l0c, and what vector code makes of it in ub.

The value of an accumulator is the sum of two parts: a tile in ub and the products in l0c since that
was last changed. A product adds to the part in l0c; any other use first adds that part to the tile,
and has the value there. Where nothing but products uses the accumulator in a loop, the part stays
in l0c for all its iterations.
"""

from __future__ import annotations

from dataclasses import field

from tile_ir import (
    BOOL,
    OPS,
    ZERO,
    Alloc,
    Body,
    Break,
    Buffer,
    Const,
    Expr,
    For,
    If,
    Loc,
    Memory,
    Op,
    Region,
    Section,
    Stmt,
    Target,
    While,
    binary,
    breaks,
    buffers_of,
    cast,
    equal,
    generated,
    is_constant,
    reads_memory,
    replace_buffers,
    simplify,
    walk,
    with_bodies,
)
from tile_ir.analysis import surely_runs
from tile_ir.ops.cube import accumulator_type, is_tile_product
from tile_ir.ops.movement import converts
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.free_names import FreeNames
from tile_passes.parallel.boxes import negated
from tile_passes.parallel.nest_form import is_parallel
from tile_passes.residency.handover import handover
from tile_passes.residency.value_uses import (
    SUM,
    TILE,
    ValueUses,
    condition_on,
    roles,
    roles_in,
    touches,
)

TRUE, FALSE = Const(True, BOOL), Const(False, BOOL)


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of an accumulator: whether there is a `tile` in ub, and when the part in l0c
    still counts as zeros, so that the next product overwrites it; None without such a part. The
    tile counts only `where` a condition holds, which is TRUE but in the block behind a branch."""

    tile: bool
    zero: Expr | None
    where: Expr = TRUE


NOTHING = Parts(False, None)
IN_TILE = Parts(True, None)
CLEARED = Parts(False, TRUE)


@dataclass(eq=False)
class Accumulator:
    """Rewrites the uses of one accumulator. `in_ub`: each product is added to a tile in ub, also
    where only products use the accumulator. `added` are the buffers that take its parts, and `kept`
    says that one stays in l0c over a loop."""

    buffer: Buffer
    target: Target
    names: FreeNames
    in_ub: bool = False
    kept: bool = False
    added: list[Alloc] = field(default_factory=list)
    # Whether a `break` leaves a loop whose head has the value in ub.
    _leaving: bool = False
    # Whether the tile has to be a part behind the block of products that is looked at, as it is
    # before that: a run may pass it by.
    _keeps_tile: bool = False
    _made: dict[str, Buffer] = field(default_factory=dict)

    def rewritten(self, body: Body) -> Body:
        """The body with a buffer for each part."""
        self.uses = ValueUses(self.buffer)
        found = next(s for s in walk(body) if isinstance(s, Op) and SUM in roles(s, self.buffer))
        summed = accumulator_type(found, self.target)
        assert summed is not None, "checked by the record of a product"
        self.summed = summed
        self.tile = replace(self.buffer, memory=Memory.UB)
        self.product = self._new("l0c", Memory.L0C)
        new, _ = self._body(body, NOTHING, frozenset())
        used = {buffer for s in walk(new) for buffer in buffers_of(s)}
        self.added.append(Alloc(self.tile, self.buffer.loc))
        self.added = [a for a in self.added if a.buffer in used]
        return new

    def _new(self, what: str, memory: Memory) -> Buffer:
        if what not in self._made:
            name = self.names.fresh(f"{self.buffer.name}_{what}")
            dtype = self.summed if memory is Memory.L0C else self.buffer.dtype
            buffer = replace(self.buffer, name=name, memory=memory, dtype=dtype)
            self._made[what] = buffer
            self.added.append(Alloc(buffer, self.buffer.loc))
        return self._made[what]

    def _body(self, body: Body, parts: Parts, wanted: frozenset[str]) -> tuple[Body, Parts]:
        """The statements with the parts before them, and the parts behind; `wanted` are the roles
        in which the value may be read behind the body."""
        result: list[Stmt] = []
        for stmt, later in self.uses.each(body, wanted):
            if parts.where is not TRUE and not isinstance(stmt, Op) and touches(stmt, self.buffer):
                result.extend(self._in_tile(parts, stmt.loc))
                parts = IN_TILE
            new, parts = self._stmt(stmt, parts, later)
            result.extend(new)
        if parts.where is not TRUE:
            result.extend(self._in_tile(parts, self.buffer.loc) if wanted else ())
            parts = IN_TILE if wanted else NOTHING
        return tuple(result), parts

    def _stmt(self, stmt: Stmt, parts: Parts, later: frozenset[str]) -> tuple[list[Stmt], Parts]:
        if isinstance(stmt, Break):
            # Behind the loop the value lies where its head has it.
            return [*self._in_tile(parts, stmt.loc), stmt] if self._leaving else [stmt], parts
        if not touches(stmt, self.buffer):
            return [stmt], parts
        match stmt:
            case Op():
                return self._op(stmt, parts, later)
            case For() if not is_parallel(stmt):
                return self._loop(stmt, parts, later)
            case While():
                return self._loop(stmt, parts, later)
            case If():
                return self._if(stmt, parts, later)
            case Section():
                body, parts = self._body(stmt.body, parts, later)
                return [replace(stmt, body=body)], parts
        return self._other(stmt, parts)

    def _other(self, stmt: Stmt, parts: Parts) -> tuple[list[Stmt], Parts]:
        """A use of the tile in ub."""
        use = self.uses.of(stmt)
        before = [] if use.ends and not use.reads else self._in_tile(parts, stmt.loc)
        return [*before, *replace_buffers((stmt,), {self.buffer: self.tile})], IN_TILE

    def _op(self, op: Op, parts: Parts, later: frozenset[str]) -> tuple[list[Stmt], Parts]:
        if is_tile_product(op) and roles(op, self.buffer) == {SUM}:
            return self._product(op, parts)
        if _is_zero(op) and op.region("dst").is_whole():
            return [], CLEARED
        taken = self._straight_from_l0c(op, parts)
        if taken is not None:
            return [taken], parts
        return self._other(op, parts)

    def _product(self, op: Op, parts: Parts) -> tuple[list[Stmt], Parts]:
        init = op.operand("init")
        assert isinstance(init, Expr), "checked by the record"
        before: list[Stmt] = []
        if is_constant(init, True) and not (parts.tile and self._keeps_tile):
            parts = NOTHING
        elif parts.tile and not is_constant(init, False):
            # Where the product starts anew nothing is left of the tile.
            fill = self._fill(op.loc)
            before.append(fill if is_constant(init, True) else If(init, (fill,), (), op.loc))
        if parts.zero is not None:
            init = _either(parts.zero, init)
        elif parts.tile:
            init = TRUE
        region = op.region("C")
        if not region.is_whole() and not is_constant(init, False):
            before.extend(self._clear(init, op.loc))
            init = FALSE
        operands = (*op.operands[:2], Region(self.product, region.dims), init, *op.operands[4:])
        made = [*before, replace(op, operands=operands)]
        parts = replace(parts, zero=FALSE)
        if self.in_ub:  # the next sum needs the room
            return [*made, *self._in_tile(parts, op.loc)], IN_TILE
        return made, parts

    def _straight_from_l0c(self, op: Op, parts: Parts) -> Op | None:
        """A copy of an accumulator that is nothing but products."""
        if op.opdef is not OPS["copy"] or parts.tile or parts.zero is not FALSE:
            return None
        src, dst = op.region("src"), op.region("dst")
        if src.buffer is not self.buffer or dst.buffer is self.buffer:
            return None
        end = Memory.GM if dst.memory is Memory.GM else Memory.UB
        if dst.memory in (Memory.L1, Memory.L0A, Memory.L0B):
            return None
        if self.buffer.dtype is not self.summed:
            return None
        if not converts((Memory.L0C, end), self.summed, dst.dtype, self.target):
            return None
        return replace(op, operands=(Region(self.product, src.dims), *op.operands[1:]))

    def _loop(
        self, loop: For | While, parts: Parts, later: frozenset[str]
    ) -> tuple[list[Stmt], Parts]:
        uses = roles_in(loop.body, self.buffer)
        if isinstance(loop, While) and self.uses.of(replace(loop, body=())).reads:
            uses |= {TILE}
        if uses == {SUM} and not self.in_ub:
            self.kept = True
            return self._loop_of_products(loop, parts, later)
        return self._loop_of_tiles(loop, parts, later)

    def _loop_of_products(
        self, loop: For | While, parts: Parts, later: frozenset[str]
    ) -> tuple[list[Stmt], Parts]:
        """Nothing but products uses the accumulator inside: the part in l0c stays there. It is
        zero in the first iteration, or made so before the loop."""
        before: list[Stmt] = []
        use = self.uses.of(loop)
        if use.ends and not use.reads and not (parts.tile and self._keeps_tile):
            parts = NOTHING
        inside = parts
        first = isinstance(loop, For) and self._starts_with_product(loop)
        fresh = parts.zero if parts.zero is not None else TRUE if parts.tile else None
        if fresh is None or is_constant(fresh, False):
            inside = Parts(parts.tile, fresh)
        elif first:
            assert isinstance(loop, For), "only loops that count have a first iteration"
            start = equal(loop.var, cast(loop.start, loop.var.dtype))
            inside = Parts(parts.tile, _both(fresh, start))
        else:
            before.extend(self._clear(fresh, loop.loc))
            inside = Parts(parts.tile, FALSE)
        outer = self._leaving, self._keeps_tile
        self._leaving, self._keeps_tile = False, True
        body, _ = self._body(loop.body, inside, later | {SUM})
        self._leaving, self._keeps_tile = outer
        return [*before, replace(loop, body=body)], Parts(parts.tile, FALSE)

    def _starts_with_product(self, loop: For) -> bool:
        """Whether every run of a loop does a product in its first iteration, and once in each."""
        if not surely_runs(loop, {}) or any(breaks(loop.body)):
            return False
        first = next(s for s in loop.body if touches(s, self.buffer))
        match first:
            case Op():
                return first.region("C").is_whole()
            case For():
                return self._starts_with_product(first)
            case Section():
                inner = next(s for s in first.body if touches(s, self.buffer))
                return isinstance(inner, Op) and inner.region("C").is_whole()
        return False

    def _loop_of_tiles(
        self, loop: For | While, parts: Parts, later: frozenset[str]
    ) -> tuple[list[Stmt], Parts]:
        """The value lies in ub where an iteration begins, if that needs it."""
        inside = self.uses.of_body(loop.body)
        has_breaks = any(breaks(loop.body))
        carried = bool(inside.reads) or (bool(later) and not self.uses.of(loop).ends)
        before: list[Stmt] = []
        head = NOTHING
        if carried:
            before, head = self._in_tile(parts, loop.loc), IN_TILE
        outer, self._leaving = self._leaving, has_breaks
        body, end = self._body(loop.body, head, inside.reads | later)
        self._leaving = outer
        if carried and end != IN_TILE:
            body = (*body, *self._in_tile(end, loop.loc))
        behind = IN_TILE if carried else end
        if isinstance(loop, While):
            (loop,) = replace_buffers((loop,), {self.buffer: self.tile})  # type: ignore[assignment]
        return [*before, replace(loop, body=body)], behind

    def _if(self, stmt: If, parts: Parts, later: frozenset[str]) -> tuple[list[Stmt], Parts]:
        before: list[Stmt] = []
        if self.uses.of(replace(stmt, then=(), orelse=())).reads:
            before, parts = self._in_tile(parts, stmt.loc), IN_TILE
            stmt = condition_on(self.tile, self.buffer, stmt)
        uses = roles_in((*stmt.then, *stmt.orelse), self.buffer)
        if uses == {SUM} and (parts.zero is not None or parts.tile):
            before.extend(self._clear(parts.zero if parts.zero is not None else TRUE, stmt.loc))
            parts = Parts(parts.tile, FALSE)
        outer, self._keeps_tile = self._keeps_tile, uses == {SUM} or self._keeps_tile
        ends = [self._body(body, parts, later) for body in (stmt.then, stmt.orelse)]
        self._keeps_tile = outer
        (then, one), (orelse, other) = ends
        made = self._made_in_one_branch(stmt, (then, one), (orelse, other))
        if made is not None and later:
            branch, parts = made
            return [*before, branch], parts
        if one != other and later:
            then = (*then, *self._in_tile(one, stmt.loc))
            orelse = (*orelse, *self._in_tile(other, stmt.loc))
        if one != other:
            one = IN_TILE if later else NOTHING
        new = with_bodies(stmt, (then, orelse))
        return [*before, new], one

    def _made_in_one_branch(
        self, stmt: If, then: tuple[Body, Parts], orelse: tuple[Body, Parts]
    ) -> tuple[If, Parts] | None:
        """The branch in which a tile is made anew, where the other one has zeros. It is made apart:
        products are handed over to the tile itself, to which it is added where it was made."""
        if reads_memory(stmt.condition):
            return None
        sides = (
            (stmt.then, then, orelse, stmt.condition),
            (stmt.orelse, orelse, then, negated(stmt.condition)),
        )
        for old, (body, parts), (nothing, cleared), condition in sides:
            use, part = self.uses.of_body(old), self._new("part", Memory.UB)
            anew = use.ends and not use.reads and not any(touches(s, part) for s in body)
            if parts != IN_TILE or cleared != CLEARED or nothing or not anew:
                continue
            apart = {self.tile: part}
            made = replace(stmt, condition=condition, then=replace_buffers(body, apart), orelse=())
            return made, Parts(True, TRUE, condition)
        return None

    def _in_tile(self, parts: Parts, loc: Loc) -> list[Stmt]:
        """The statements that add the part in l0c to the tile in ub."""
        if parts.zero is None:
            return []
        part = self._new("part", Memory.UB) if parts.tile else self.tile
        add = generated(Op(OPS["add"], _whole(self.tile, self.tile, part), (), loc))
        if is_constant(parts.zero, True):
            if parts.where is TRUE:
                return [] if parts.tile else [self._fill(loc)]
            taken = handover(part, self.tile, loc)
            return [If(parts.where, (taken,), (self._fill(loc),), loc)]
        assert is_constant(parts.zero, False), "a first iteration has had its product"
        if parts.where is not TRUE:
            return [handover(self.product, self.tile, loc), If(parts.where, (add,), (), loc)]
        return [handover(self.product, part, loc), *([add] if parts.tile else [])]

    def _fill(self, loc: Loc) -> Stmt:
        zero = cast(ZERO, self.buffer.dtype)
        return generated(Op(OPS["fill"], (Region.whole(self.tile), zero), (), loc))

    def _clear(self, zero: Expr, loc: Loc) -> list[Stmt]:
        """Zeros in l0c where the part counts as such."""
        if is_constant(zero, False):
            return []
        clear = generated(Op(OPS["clear_l0c"], (Region.whole(self.product),), (), loc))
        return [clear] if is_constant(zero, True) else [If(zero, (clear,), (), loc)]


def _whole(*buffers: Buffer) -> tuple[Region, ...]:
    return tuple(map(Region.whole, buffers))


def _is_zero(op: Op) -> bool:
    """Whether an operation sets its result to zeros."""
    if op.opdef is OPS["clear"]:
        return True
    return op.opdef is OPS["fill"] and is_constant(simplify(op.operand("value")), 0)


def _either(a: Expr, b: Expr) -> Expr:
    if is_constant(a, True) or is_constant(b, False):
        return a
    return b if is_constant(a, False) or is_constant(b, True) else binary("or", a, b)


def _both(a: Expr, b: Expr) -> Expr:
    if is_constant(a, True):
        return b
    return a if is_constant(b, True) else binary("and", a, b)
