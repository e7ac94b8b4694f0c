"""One store over a whole domain as vector operations.

Expressions are taken apart from the leaves up. A part that follows one of two variables only is
computed as a vector and then repeated over the tile; what follows none stays a scalar operand.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from tile_ir import OPS, Buffer, For, If, KernelError, Loc, LoopKind, Memory, Op, Region, Store
from tile_ir.bounds import interval, linear_form, simplify
from tile_ir.dtypes import BFLOAT16, BOOL, FLOAT16, FLOAT32, INT32, UINT8, DType
from tile_ir.expr import (
    COMPARISONS,
    LOGICAL,
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Select,
    Unary,
    Var,
    binary,
    cast,
    ceildiv,
    children,
    constant_value,
    is_constant,
    promote,
    substitute,
    unary,
)
from tile_ir.expr import walk as walk_expr
from tile_ir.geometry import BLOCK_BYTES, clip_copy, element_count, element_offset
from tile_ir.nodes import AttrValue, Operand, Stmt
from tile_ir.opdef import check_op
from tile_ir.walk import Ranges, map_expressions, walk, walk_ops
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.one_operation import lower_op
from tile_passes.parallel.accesses import access, variables_in
from tile_passes.parallel.nest import Domain, Unsuitable
from tile_passes.parallel.operators import (
    BINARY,
    COMPARE,
    COMPARED_AS,
    MASKS,
    MIRRORED,
    ORDER_BY,
    ROUNDING,
    SCALAR_UNARY,
    UNARY,
    conversion,
)
from tile_passes.parallel.order import in_order
from tile_passes.parallel.temporaries import Temporaries

Value = Region | Expr
COPY_DEFAULTS: tuple[AttrValue, ...] = (False, False, None)
CUBE_MEMORIES = frozenset({Memory.L1, Memory.L0A, Memory.L0B, Memory.L0C})


class VectorStatement:
    """Builds the steps of one store.

    `dense` says that matrices between operations have no gaps between their rows. With `by_element`
    the scalar unit carries what no vector operation reaches to tiles and back; otherwise
    `conditions` must hold at run time for the steps to be legal, and reasons are final.
    """

    def __init__(
        self,
        store: Store,
        domain: Domain,
        known: Ranges,
        temporaries: Temporaries,
        trial: Builder,
        dense: bool,
        by_element: bool = False,
    ) -> None:
        self.store, self.domain, self.known = store, domain, known
        self.temporaries, self.trial, self.dense = temporaries, trial, dense
        self.by_element = by_element
        self.loc: Loc = store.loc
        self.steps: list[Stmt] = []
        self.conditions: list[Expr] = []
        self.cache: dict[tuple[Expr, Domain], Region] = {}
        self.kept: set[Buffer] = set()
        self.sizes = {v: self._bound(i) for i, v in enumerate(domain.vars)}

    def build(self) -> list[Stmt]:
        """The steps in order. Raises Unsuitable."""
        store = self.store
        if self.by_element and not self._reachable(store.buffer, store.indices, self.domain):
            self._scattered()
            return self.steps
        target = access(store.buffer, store.indices, self.domain)
        if set(target.used) != set(self.domain.vars):
            raise Unsuitable(f"all iterations write the same element of `{store.buffer.name}`")
        dst = target.region
        _check_inside(dst)
        if dst.memory in (Memory.UB, Memory.GM):
            self._load_first(store.value)
        match dst.memory:
            case Memory.UB:
                self._into_ub(dst)
            case Memory.GM:
                self._into_gm(dst)
            case _:
                self._into_cube(dst)
        return self.steps

    def _load_first(self, e: Expr) -> None:
        """All loads from gm before the first operation, so that they are waited for once. What one
        side of a branch loads stays there."""
        if isinstance(e, Load) and e.buffer.memory is Memory.GM:
            used = variables_in(e, self.domain)
            if used:
                self.load(e, self.domain.only(used))
        elif not (isinstance(e, Select) and self.is_scalar(e.condition, self.domain)):
            for child in children(e):
                self._load_first(child)

    # Destinations -------------------------------------------------------------------------------

    def _into_ub(self, dst: Region) -> None:
        value = self.typed(self.store.value, dst.dtype, self.domain, dst)
        if isinstance(value, Expr):
            self.emit("fill", dst, cast(value, dst.dtype))
        elif value != dst:
            self.copy(value, dst)

    def _into_gm(self, dst: Region) -> None:
        accumulator = _bare_load(self.store.value)
        if accumulator is not None and accumulator.buffer.memory is Memory.L0C:
            self.copy(access(accumulator.buffer, accumulator.indices, self.domain).region, dst)
            return
        value = self.typed(self.store.value, dst.dtype, self.domain, None)
        if isinstance(value, Expr):
            tile = self.tile(dst.dtype, self.domain)
            self.emit("fill", tile, cast(value, dst.dtype))
            value = tile
        self.copy(value, dst)

    def _into_cube(self, dst: Region) -> None:
        """Only whole copies reach the memories of the cube core, and zeros an accumulator."""
        load = self.store.value
        if dst.memory is Memory.L0C and is_constant(simplify(cast(load, dst.dtype)), 0):
            self.emit("clear_l0c", dst)
            return
        if not isinstance(load, Load):
            raise Unsuitable(f"only copies reach `{dst.buffer.name}` in {dst.memory.value}")
        src = access(load.buffer, load.indices, self.domain).region
        clipped = clip_copy(src, dst, None)
        whole = all(
            is_constant(s.offset, 0) and s.extent == size
            for s, size in zip(dst.dims[-2:], dst.buffer.shape[-2:], strict=True)
        )
        if clipped.fill is not None and not whole:
            raise Unsuitable(f"a copy would clear the rest of `{dst.buffer.name}`")
        self.copy(src, dst)

    # Expressions --------------------------------------------------------------------------------

    def typed(self, e: Expr, dtype: DType, domain: Domain, into: Region | None) -> Value:
        """The expression as values of the type: a region, or a scalar expression as it stands."""
        if self.is_scalar(e, domain):
            return cast(e, dtype)
        if e.dtype is BOOL:
            return self._as_numbers(e, dtype, domain, into)
        direct = into if e.dtype is dtype else None
        value = self.value(e, domain, direct)
        if isinstance(value, Expr):
            return cast(value, dtype)
        return value if value.dtype is dtype else self.convert(value, dtype, domain, into)

    def value(self, e: Expr, domain: Domain, into: Region | None) -> Value:
        """The expression in its own type."""
        if self.is_scalar(e, domain):
            return e
        used = variables_in(e, domain)
        if used and len(used) < len(domain.vars):
            return self.repeated(e, used, domain)
        match e:
            case Load():
                return self.load(e, domain)
            case Cast(operand=operand, dtype=dtype, bits=False):
                return self.typed(operand, dtype, domain, into)
            case Binary(op=op) if op in COMPARISONS | LOGICAL:
                raise AssertionError("a condition is asked for as a mask or as numbers")
            case Binary():
                return self.binary(e, domain, into)
            case Unary():
                return self.unary(e, domain, into)
            case Select():
                return self.select(e, domain, into)
        raise Unsuitable("the loop variable itself is a value")

    def _as_numbers(self, e: Expr, dtype: DType, domain: Domain, into: Region | None) -> Value:
        """A condition as 1 and 0."""
        narrow = dtype.size == 1
        kind = FLOAT16 if narrow else dtype
        one, zero = cast(Const(1), kind), cast(Const(0), kind)
        chosen = self.select(Select(e, one, zero, kind), domain, None if narrow else into)
        return self.convert(chosen, dtype, domain, into) if narrow else chosen

    def is_scalar(self, e: Expr, domain: Domain) -> bool:
        """Whether the scalar unit computes the expression once for all elements."""
        return not variables_in(e, domain) and all(
            not isinstance(p, Unary) or p.op in SCALAR_UNARY for p in walk_expr(e)
        )

    def load(self, e: Load, domain: Domain) -> Region:
        if self.by_element and not self._reachable(e.buffer, e.indices, domain):
            return self._gathered(e, domain)
        found = access(e.buffer, e.indices, domain).region
        _check_inside(found)
        if found.memory is Memory.UB:
            return found
        if found.memory in CUBE_MEMORIES:
            raise Unsuitable(f"`{e.buffer.name}` is in {found.memory.value}: it can only be copied")
        key = (e, domain)
        if key not in self.cache:
            tile = self.tile(found.dtype, domain)
            self.copy(found, tile)
            self.cache[key] = tile
            self.kept.add(tile.buffer)
        return self.cache[key]

    def _reachable(self, buffer: Buffer, indices: tuple[Expr, ...], domain: Domain) -> bool:
        """Whether tile operations surely reach the elements: a copy of them is legal."""
        probe = VectorStatement(
            self.store, domain, self.known, self.temporaries, self.trial, self.dense
        )
        try:
            region = access(buffer, indices, domain).region
            probe.sizes = self.sizes
            tile = probe.tile(region.dtype, domain)
            probe.copy(region, tile)
            self.temporaries.give_back(tile.buffer)
        except Unsuitable:
            return False
        return not probe.conditions

    def _gathered(self, e: Load, domain: Domain) -> Region:
        key = (e, domain)
        if key not in self.cache:
            tile = self.tile(e.dtype, domain)
            self.steps.append(
                self._element_loop(domain, Store(tile.buffer, self._places(domain), e, self.loc))
            )
            self.cache[key] = tile
            self.kept.add(tile.buffer)
        return self.cache[key]

    def _scattered(self) -> None:
        store, domain = self.store, self.domain
        value = self.typed(store.value, store.buffer.dtype, domain, None)
        if isinstance(value, Region):
            if value.buffer not in self.temporaries.taken:
                tile = self.tile(value.dtype, domain)
                self.copy(value, tile)
                value = tile
            value = Load(value.buffer, self._places(domain))
        self.steps.append(
            self._element_loop(domain, Store(store.buffer, store.indices, value, self.loc))
        )

    def _places(self, domain: Domain) -> tuple[Expr, ...]:
        return tuple(v - s for v, s in zip(domain.vars, domain.starts, strict=True))

    def _element_loop(self, domain: Domain, store: Store) -> For:
        inner: Stmt = store
        for var, start, extent in reversed(
            list(zip(domain.vars, domain.starts, domain.extents, strict=True))
        ):
            fresh = self.temporaries.builder.scalar(var.name)
            renamed = map_expressions((inner,), partial(substitute, values={var: fresh}))
            inner = For(fresh, start, simplify(start + extent), LoopKind.SERIAL, renamed, self.loc)
        assert isinstance(inner, For), "a domain has a variable"
        return inner

    def repeated(self, e: Expr, used: tuple[Var, ...], domain: Domain) -> Region:
        """A value of one variable, repeated over the other one."""
        key = (e, domain)
        if key in self.cache:
            return self.cache[key]
        line = domain.only(tuple(v for v in domain.vars if v in used))
        vector = self.value(e, line, None)
        assert isinstance(vector, Region), "it follows a variable"
        tile = self.tile(vector.dtype, domain)
        self.emit("broadcast", tile, vector, None, attrs=(_axis(domain, line),))
        self.release(vector)
        self.cache[key] = tile
        self.kept.add(tile.buffer)
        return tile

    def binary(self, e: Binary, domain: Domain, into: Region | None) -> Region:
        form = BINARY.get(e.op)
        if form is None:
            raise Unsuitable(f"there is no vector operation for `{e.op}`")
        if e.dtype is BFLOAT16:  # the vector unit computes in float32; every step rounds
            wide = Binary(e.op, cast(e.left, FLOAT32), cast(e.right, FLOAT32), FLOAT32)
            return self.convert(self.binary(wide, domain, None), BFLOAT16, domain, into)
        dtype, left, right = e.dtype, e.left, e.right
        if self.is_scalar(left, domain):
            if form.commutes:
                left, right = right, left
            elif form.negate_left:
                negated = self.apply("mul", right, Const(-1, INT32), dtype, domain, into)
                return self.emit_into("add", dtype, domain, into, negated, cast(left, dtype))
        return self.apply(form.operation, left, right, dtype, domain, into)

    def apply(
        self, name: str, left: Expr, right: Expr, dtype: DType, domain: Domain, into: Region | None
    ) -> Region:
        a = self.typed(left, dtype, domain, None if _reads(right, into) else into)
        if isinstance(a, Expr):
            a = self.filled(a, dtype, domain)
        b = self.typed(right, dtype, domain, None)
        if isinstance(b, Expr) and not self._takes_scalar(name, b):
            b = self.filled(b, dtype, domain)
        return self.emit_into(name, dtype, domain, into, a, b)

    def _takes_scalar(self, name: str, scalar: Expr) -> bool:
        """Whether the operation has a scalar form that rounds as the expression does."""
        definition = OPS[name].operands[2]
        if not (definition.scalar or not definition.memories):
            return False
        inexact = any(f.operation == name and f.inexact_scalar for f in BINARY.values())
        return not inexact or _is_power_of_two(scalar)

    def filled(self, scalar: Expr, dtype: DType, domain: Domain) -> Region:
        tile = self.tile(dtype, domain)
        self.emit("fill", tile, cast(scalar, dtype))
        return tile

    def unary(self, e: Unary, domain: Domain, into: Region | None) -> Value:
        dtype = e.dtype
        if dtype is BFLOAT16:
            wide = unary(e.op, cast(e.operand, FLOAT32))
            return self.typed(wide, BFLOAT16, domain, into)
        if e.op == "-":
            return self.apply("mul", e.operand, Const(-1, INT32), dtype, domain, into)
        if e.op == "abs" and dtype.is_integer:
            return self.value(binary("max", e.operand, unary("-", e.operand)), domain, into)
        if e.op in ROUNDING:
            x = self.typed(e.operand, FLOAT32, domain, None)
            x = self.filled(x, FLOAT32, domain) if isinstance(x, Expr) else x
            rounded = self.tile(FLOAT32, domain)
            self.emit("cast", rounded, x, None, attrs=(ROUNDING[e.op],))
            self.release(x)
            return rounded if dtype is FLOAT32 else self.convert(rounded, dtype, domain, into)
        if e.op not in UNARY:
            raise Unsuitable(f"there is no vector operation for `{e.op}`")
        x = self.typed(e.operand, dtype, domain, into)
        if isinstance(x, Expr):
            x = self.filled(x, dtype, domain)
        return self.emit_into(UNARY[e.op], dtype, domain, into, x)

    def select(self, e: Select, domain: Domain, into: Region | None) -> Region:
        """A condition that is the same for all elements is a branch around both ways."""
        if self.is_scalar(e.condition, domain):
            out = into if into is not None and not _reads(e, into) else self.tile(e.dtype, domain)
            return self._branch(e, domain, out)
        self._demand_inside((e.then, e.orelse, e.condition), domain)
        mask = self.mask(e.condition, domain)
        then, orelse = e.then, e.orelse
        if self.is_scalar(then, domain) and not self.is_scalar(orelse, domain):
            then, orelse = orelse, then
            self.emit("bitwise_not", mask, mask)
        a = self.typed(then, e.dtype, domain, None if _reads(orelse, into) else into)
        a = self.filled(a, e.dtype, domain) if isinstance(a, Expr) else a
        b = self.typed(orelse, e.dtype, domain, None)
        mode = f"vsel_tensor_{'scalar' if isinstance(b, Expr) else 'tensor'}_mode"
        result = self.emit_into("select", e.dtype, domain, into, mask, a, b, attrs=(mode,))
        self.release(mask)
        return result

    def mask(self, e: Expr, domain: Domain) -> Region:
        """The condition as packed bits, one for each element."""
        match e:
            case Binary(op="and" | "or" as op, left=left, right=right):
                a, b = self.mask(left, domain), self.mask(right, domain)
                self.emit(MASKS[op], a, a, b)
                self.release(b)
                return a
            case Unary(op="not", operand=operand):
                a = self.mask(operand, domain)
                self.emit("bitwise_not", a, a)
                return a
            case Binary(op=op) if op in COMPARISONS:
                return self._comparison(e, domain)
        raise Unsuitable("the condition is no comparison of elements")

    def _comparison(self, e: Binary, domain: Domain) -> Region:
        op, left, right = e.op, e.left, e.right
        if self.is_scalar(left, domain):
            op, left, right = MIRRORED[op], right, left
        dtype = promote(left.dtype, right.dtype)
        wide = COMPARED_AS.get(dtype, dtype)
        a = self.typed(left, wide, domain, None)
        a = self.filled(a, wide, domain) if isinstance(a, Expr) else a
        b = self.typed(right, wide, domain, None)
        mode, negated = COMPARE[op]
        if wide.is_integer and op in ORDER_BY:
            name, negated = ORDER_BY[op]
            least = self.tile(wide, domain)
            self.emit(name, least, a, b)
            a, b, mode = least, a, "eq"
        bits = tuple(self.sizes[v] for v in domain.vars)
        mask = self.temporaries.take(
            UINT8,
            (simplify(ceildiv(element_count(a), 8)),),
            (-(-math.prod(bits) // 8),),
            True,
            self.loc,
        )
        self.emit("compare", mask, a, b, None, attrs=(mode,))
        self.release(a)
        self.release(b)
        if negated:
            self.emit("bitwise_not", mask, mask)
        return mask

    def _demand_inside(self, sides: tuple[Expr, ...], domain: Domain) -> None:
        """All elements are read before one side is chosen, so none may lie outside its buffer."""
        for side in sides:
            for part in walk_expr(side):
                if not isinstance(part, Load) or not variables_in(part, domain):
                    continue
                region = access(part.buffer, part.indices, domain).region
                for s, size in zip(region.dims, part.buffer.shape, strict=True):
                    last = simplify(s.offset + (self._most(s.extent) - 1) * s.stride - size)
                    inside = interval(s.offset, self.known).low >= 0
                    if not inside or interval(last, self.known).high >= 0:
                        raise Unsuitable(
                            f"the condition may keep an element outside `{part.buffer.name}` "
                            "from being read"
                        )

    def _most(self, extent: Expr) -> Expr:
        """An extent, or the room the destination has for it if it is known at run time only."""
        if constant_value(extent) is not None or extent not in self.domain.extents:
            return extent
        var = self.domain.vars[self.domain.extents.index(extent)]
        for index, room in zip(self.store.indices, self.store.buffer.shape, strict=True):
            terms, constant = linear_form(index)
            if set(terms) == {var} and constant >= 0 and constant_value(room) is not None:
                return simplify((room - constant + terms[var] - 1) // terms[var])
        return extent

    def _branch(self, e: Select, domain: Domain, out: Region) -> Region:
        branches = []
        for side in (e.then, e.orelse):
            with self.aside() as steps:
                value = self.typed(side, e.dtype, domain, out)
                if isinstance(value, Expr):
                    self.emit("fill", out, cast(value, e.dtype))
                elif value != out:
                    self.copy(value, out)
                    self.release(value)
            branches.append(in_order(steps, self.temporaries.builder))
        self.steps.append(If(e.condition, branches[0], branches[1], self.loc))
        return out

    @contextmanager
    def aside(self) -> Iterator[list[Stmt]]:
        """Collect steps apart; what was cached inside is not there outside."""
        outer, cache = self.steps, dict(self.cache)
        self.steps = []
        try:
            yield self.steps
        finally:
            self.steps, self.cache = outer, cache

    def convert(self, value: Region, dtype: DType, domain: Domain, into: Region | None) -> Region:
        route = conversion(value.dtype, dtype)
        if route is None:
            raise Unsuitable(f"no vector instruction converts {value.dtype} to {dtype}")
        for target, mode in route:
            last = target is dtype and into is not None and into.buffer is not value.buffer
            out = into if last and into is not None else self.tile(target, domain)
            self.emit("cast", out, value, None, attrs=(mode,))
            self.release(value)
            value = out
        return value

    # Steps --------------------------------------------------------------------------------------

    def tile(self, dtype: DType, domain: Domain) -> Region:
        sizes = tuple(self.sizes[v] for v in domain.vars)
        return self.temporaries.take(dtype, domain.extents, sizes, self.dense, self.loc)

    def release(self, value: Operand) -> None:
        if isinstance(value, Region) and value.buffer not in self.kept:
            self.temporaries.give_back(value.buffer)

    def emit_into(
        self,
        name: str,
        dtype: DType,
        domain: Domain,
        into: Region | None,
        *sources: Operand,
        attrs: tuple[AttrValue, ...] = (),
    ) -> Region:
        """The operation into `into`, or into a source that is a tile, or into a new tile."""
        out = into
        if out is None:
            own = self.temporaries.taken - self.kept
            mine = (s for s in sources if isinstance(s, Region) and s.buffer in own)
            out = next((s for s in mine if s.dtype is dtype), None)
        if out is None:
            out = self.tile(dtype, domain)
        self.emit(name, out, *sources, attrs=attrs)
        for source in sources:
            if isinstance(source, Region) and source.buffer is not out.buffer:
                self.release(source)
        return out

    def emit(self, name: str, *operands: Operand, attrs: tuple[AttrValue, ...] = ()) -> None:
        """Append an operation that the hardware can do. Raises Unsuitable."""
        opdef = OPS[name]
        operands = (*operands, *(None for _ in opdef.operands[len(operands) :]))
        self.append(Op(opdef, operands, attrs, self.loc))

    def copy(self, src: Region, dst: Region) -> None:
        """A tile copy. A load writes whole blocks, so one that ends inside a block of somebody
        else's buffer goes through a tile."""
        spill = clip_copy(src, dst, None).spill if src.memory is Memory.GM else None
        if spill is not None and spill != dst and dst.buffer not in self.temporaries.taken:
            tile = self.tile(dst.dtype, self.domain)
            self.append(Op(OPS["copy"], (src, tile), COPY_DEFAULTS, self.loc))
            src = tile
        self.append(Op(OPS["copy"], (src, dst), COPY_DEFAULTS, self.loc))

    def append(self, op: Op) -> None:
        problem = check_op(op)
        if problem is not None:
            raise Unsuitable(problem.message)
        try:
            lowered = lower_op(op, self.known, self.trial)
        except KernelError as error:
            raise Unsuitable(error.message) from None
        rows = {s.var for s in walk(lowered) if isinstance(s, For)}
        for part in walk_ops(lowered):
            problem = check_op(part)
            if problem is not None:
                raise Unsuitable(problem.message)
            for region in (o for o in part.operands if isinstance(o, Region)):
                self.demand_whole_blocks(region, rows)
        for operand in op.operands:
            if isinstance(operand, Region) and operand.memory is Memory.UB:
                self.demand_alignment(operand)
        self.steps.append(op)

    def demand_whole_blocks(self, region: Region, rows: set[Var]) -> None:
        """Rows that the lowering walks over start at whole blocks."""
        terms, _ = linear_form(element_offset(region))
        unit = BLOCK_BYTES // region.dtype.size
        if region.memory is Memory.UB and any(terms.get(row, 0) % unit for row in rows):
            raise Unsuitable(f"rows of `{region.buffer.name}` start inside blocks of 32 bytes")

    def demand_alignment(self, region: Region) -> None:
        """Parts of an offset that are not surely whole blocks are tested at run time."""
        if constant_value(element_offset(region)) is not None:
            return
        unit = BLOCK_BYTES // region.dtype.size
        terms, constant = linear_form(element_offset(region))
        odd = [(atom, f) for atom, f in terms.items() if f % unit]
        if not odd:
            return
        rest: Expr = Const(constant % unit)
        for atom, factor in odd:
            rest = rest + atom * factor
        condition = binary("==", binary("%", rest, unit), 0)
        if condition not in self.conditions:
            self.conditions.append(condition)

    def _bound(self, position: int) -> int:
        """The most elements along one variable: its extent, or the room in what it walks over."""
        extent = self.domain.extents[position]
        size = constant_value(extent)
        if size is not None:
            return size
        var = self.domain.vars[position]
        rooms = [interval(extent, self.known).high]
        places = [(self.store.buffer, self.store.indices)]
        places += [
            (p.buffer, p.indices) for p in walk_expr(self.store.value) if isinstance(p, Load)
        ]
        for buffer, indices in places:
            for index, room in zip(indices, buffer.shape, strict=True):
                limit = constant_value(room)
                if var in walk_expr(index) and limit is not None:
                    rooms.append(limit)
        least = min(rooms)
        if least > BLOCK_BYTES * 8192:
            raise Unsuitable(f"the extent of `{var.name}` has no bound known at compile time")
        return int(least)


def _axis(domain: Domain, line: Domain) -> int:
    """Axis of `broadcast`: 0 repeats a row downwards, 1 a column across."""
    return 1 if domain.vars.index(line.vars[0]) == 0 else 0


def _check_inside(region: Region) -> None:
    """What surely reaches outside its buffer is no region; a loop tells which element it is."""
    for s, size in zip(region.dims, region.buffer.shape, strict=True):
        low = constant_value(simplify(s.offset))
        room = constant_value(simplify(size - s.offset - (s.extent - 1) * s.stride))
        if (low is not None and low < 0) or (room is not None and room <= 0):
            raise Unsuitable(f"it reaches outside `{region.buffer.name}`")


def _bare_load(e: Expr) -> Load | None:
    """The load under conversions."""
    while isinstance(e, Cast) and not e.bits:
        e = e.operand
    return e if isinstance(e, Load) else None


def _reads(e: Expr, region: Region | None) -> bool:
    return region is not None and any(
        isinstance(p, Load) and p.buffer is region.buffer for p in walk_expr(e)
    )


def _is_power_of_two(e: Expr) -> bool:
    """A constant whose reciprocal is exact."""
    if not isinstance(e, Const) or not isinstance(e.value, float):
        return False
    mantissa, exponent = math.frexp(e.value)
    return abs(mantissa) == 0.5 and -12 <= exponent <= 12
