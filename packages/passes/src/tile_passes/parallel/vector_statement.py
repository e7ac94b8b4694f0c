"""One store over a whole domain as vector operations.

Expressions are taken apart from the leaves up. A part that follows one of two variables only is
computed as a vector and then repeated over the tile; what follows none stays a scalar operand.
"""

from __future__ import annotations

import math

from tile_ir import (
    BFLOAT16,
    BLOCK_BYTES,
    BOOL,
    COMPARISONS,
    CORE_OF_MEMORY,
    FLOAT16,
    FLOAT32,
    INT32,
    LOGICAL,
    OPS,
    Binary,
    Cast,
    Const,
    Core,
    DType,
    Expr,
    Load,
    Memory,
    Region,
    Select,
    Stmt,
    Unary,
    binary,
    cast,
    children,
    constant_value,
    is_constant,
    reads_memory,
    simplify,
    unary,
)
from tile_ir.ops.cast import conversion_steps
from tile_passes.analysis.memory_demands import bare_load
from tile_passes.parallel.accesses import access, reads, variables_in
from tile_passes.parallel.against_lines import against_line, is_column, line_of
from tile_passes.parallel.among_others import among_others
from tile_passes.parallel.apart_in_gm import in_blocks, lies_apart
from tile_passes.parallel.by_element import gathered, reachable, scattered
from tile_passes.parallel.choices import before_conversion, choice, leaves_a_side
from tile_passes.parallel.combined_lines import combine_lines
from tile_passes.parallel.index_vectors import divided, holds, is_progression, progression
from tile_passes.parallel.narrow_integers import count_of_bits, done_narrow
from tile_passes.parallel.nest import Domain, Unsuitable
from tile_passes.parallel.operators import (
    BINARY,
    FORM_OF,
    ROUNDING,
    UNARY,
)
from tile_passes.parallel.packed_lines import counted_line, is_packed, picked_line
from tile_passes.parallel.picked_elements import picked
from tile_passes.parallel.tile_steps import check_inside
from tile_passes.parallel.vector_steps import Value, VectorSteps

CUBE_MEMORIES = frozenset(m for m, core in CORE_OF_MEMORY.items() if core is Core.CUBE)


class VectorStatement(VectorSteps):
    """Takes one store apart. With `by_element` the scalar unit carries what no vector operation
    reaches to tiles and back; otherwise reasons are final."""

    def build(self) -> list[Stmt]:
        """The steps in order. Raises Unsuitable."""
        store = self.store
        if self.by_element and not reachable(self, store.buffer, store.indices, self.domain):
            scattered(self)
            return self.steps
        target = access(store.buffer, store.indices, self.domain)
        dst = target.region
        check_inside(dst)
        if dst.memory in (Memory.UB, Memory.GM) and not isinstance(store.value, Load):
            self._load_first(store.value)
        if set(target.used) != set(self.domain.vars):
            combine_lines(self, dst)
            return self.steps
        match dst.memory:
            case Memory.UB:
                self._into_ub(dst)
            case Memory.GM:
                self._into_gm(dst)
            case _:
                self._into_cube(dst)
        return self.steps

    def _load_first(self, e: Expr) -> None:
        """All loads from gm before the first operation, so that they are waited for once. The loads
        of one side of a branch stay there."""
        if isinstance(e, Load) and e.buffer.memory is Memory.GM:
            used = variables_in(e, self.domain)
            domain = self.domain.only(used)
            if used and (e, domain) not in self.shared.tiles:
                self.shared.keep(e, domain, self.load(e, domain))
        elif not (isinstance(e, Select) and leaves_a_side(self, e, self.domain)):
            for child in children(e):
                self._load_first(child)

    # Destinations -------------------------------------------------------------------------------

    def _into_ub(self, dst: Region) -> None:
        if self.by_gather and not reachable(self, dst.buffer, self.store.indices, self.domain):
            among_others(self, dst)
            return
        value = self.typed(self.store.value, dst.dtype, self.domain, dst)
        if isinstance(value, Expr):
            self.emit("fill", dst, cast(value, dst.dtype))
        elif value != dst:
            self.copy(value, dst)

    def _into_gm(self, dst: Region) -> None:
        accumulator = bare_load(self.store.value)
        if accumulator is not None and accumulator.buffer.memory is Memory.L0C:
            self.copy(access(accumulator.buffer, accumulator.indices, self.domain).region, dst)
            return
        value = self.typed(self.store.value, dst.dtype, self.domain, None)
        if isinstance(value, Expr):
            tile = self.tile(dst.dtype, self.domain)
            self.emit("fill", tile, cast(value, dst.dtype))
            value = tile
        if self.by_gather and lies_apart(dst):
            value = in_blocks(self, value)
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
        self.copy(src, dst)

    # Expressions --------------------------------------------------------------------------------

    def typed(self, e: Expr, dtype: DType, domain: Domain, into: Region | None) -> Value:
        """The expression as values of the type: a region, or a scalar expression as it stands."""
        if self.is_scalar(e, domain):
            return cast(e, dtype)
        if dtype is BOOL and e.dtype is not BOOL:
            e = binary("!=", e, 0)
        if e.dtype is BOOL:
            return self._as_numbers(e, dtype, domain, into)
        if e.dtype is not dtype:
            line = line_of(e, domain)
            if line is not None:  # converted before it is repeated
                return self.value(cast(e, dtype), domain, into)
            if is_progression(e, domain) and holds(dtype, e, self):
                return progression(self, e, dtype, domain, into)
        direct = into if e.dtype is dtype else None
        value = self.value(e, domain, direct)
        if isinstance(value, Expr):
            return cast(value, dtype)
        return value if value.dtype is dtype else self.convert(value, dtype, domain, into)

    def value(self, e: Expr, domain: Domain, into: Region | None) -> Value:
        """The expression in its own type."""
        if self.is_scalar(e, domain):
            return e
        found = self.shared.take(e, domain)
        if found is not None:
            return found
        if not self.shared.is_shared(e):
            return self.computed(e, domain, into)
        result = self.computed(e, domain, None)
        if isinstance(result, Region) and result.buffer in self.temporaries.taken:
            self.shared.keep(e, domain, result)
            self.shared.take(e, domain)
        return result

    def computed(self, e: Expr, domain: Domain, into: Region | None) -> Value:
        line = line_of(e, domain)
        if line is not None:
            return self.repeated(e, line, domain, into)
        if is_progression(e, domain):
            return progression(self, e, INT32, domain, into)
        match e:
            case Load():
                return self.load(e, domain, into)
            case Cast(operand=operand, dtype=dtype, bits=False):
                match done_narrow(e):
                    case Binary() as narrow:
                        return self.binary(narrow, domain, into)
                    case Unary() as narrow:
                        return self.unary(narrow, domain, into)
                return self.typed(operand, dtype, domain, into)
            case Binary(op=op) if op in COMPARISONS | LOGICAL:
                raise AssertionError("a condition is asked for as a mask or as numbers")
            case Binary(op="//" | "%"):
                return divided(self, e, domain, into)
            case Binary():
                return self.binary(e, domain, into)
            case Unary():
                return self.unary(e, domain, into)
            case Select(dtype=dtype):
                half = before_conversion(e)
                if half is not None:
                    return self.typed(half, dtype, domain, into)
                return choice(self, e, domain, into)
        raise Unsuitable(f"there is no vector of {e.dtype} that counts up")

    def _as_numbers(self, e: Expr, dtype: DType, domain: Domain, into: Region | None) -> Value:
        """A condition as 1 and 0."""
        if isinstance(e, Load):
            value = self.value(e, domain, into if dtype is BOOL else None)
            if isinstance(value, Region):
                return value if dtype is BOOL else self.convert(value, dtype, domain, into)
        narrow = dtype.size == 1
        kind = FLOAT16 if narrow else dtype
        one, zero = cast(Const(1), kind), cast(Const(0), kind)
        chosen = choice(self, Select(e, one, zero, kind), domain, None if narrow else into)
        return self.convert(chosen, dtype, domain, into) if narrow else chosen

    def load(self, e: Load, domain: Domain, into: Region | None = None) -> Region:
        if self.by_element and not reachable(self, e.buffer, e.indices, domain):
            return gathered(self, e, domain)
        if self.by_gather and not reachable(self, e.buffer, e.indices, domain):
            return picked(self, e, domain, into)
        found = access(e.buffer, e.indices, domain).region
        check_inside(found, self.zero_outside and found.memory is Memory.GM)
        if found.memory is Memory.UB:
            return found
        if found.memory in CUBE_MEMORIES:
            raise Unsuitable(f"`{e.buffer.name}` is in {found.memory.value}: it can only be copied")
        if into is not None and into.memory is Memory.UB and self._loads_into(found, into):
            return into
        tile = self.tile(found.dtype, domain)
        self.copy(found, tile)
        return tile

    def _loads_into(self, found: Region, into: Region) -> bool:
        """Load to where the values are wanted, if its rows surely start at blocks."""
        count, conditions = len(self.steps), len(self.conditions)
        try:
            self.copy(found, into)
        except Unsuitable:
            return False
        if len(self.conditions) == conditions:
            return True
        del self.steps[count:], self.conditions[conditions:]
        return False

    def repeated(self, e: Expr, line: Domain, domain: Domain, into: Region | None) -> Region:
        """A value of one variable, repeated over the other one."""
        if e.dtype is INT32 and not reads_memory(e) and is_packed(self, INT32, domain):
            return counted_line(self, e, domain)
        vector = self.value(e, line, None)
        assert isinstance(vector, Region), "it follows a variable"
        return self.spread(vector, line, domain, into)

    def spread(
        self, vector: Region, line: Domain, domain: Domain, into: Region | None = None
    ) -> Region:
        if is_packed(self, vector.dtype, domain):
            return picked_line(self, vector, line, domain)
        tile = None
        if into is not None and into.buffer is not vector.buffer and into.dtype is vector.dtype:
            tile = into if _in_rows_of_blocks(into) else None
        tile = tile or self.tile(vector.dtype, domain)
        # Axis 0 repeats a row downwards, 1 a column across.
        self.emit("broadcast", tile, vector, None, attrs=(int(is_column(line, domain)),))
        self.release(vector)
        return tile

    def binary(self, e: Binary, domain: Domain, into: Region | None) -> Region:
        form = BINARY.get(e.op)
        if form is None:
            raise Unsuitable(f"there is no vector operation for `{e.op}`")
        if e.dtype is BFLOAT16:  # the vector unit computes in float32; every step rounds
            wide = Binary(e.op, cast(e.left, FLOAT32), cast(e.right, FLOAT32), FLOAT32)
            return self.convert(self.binary(wide, domain, None), BFLOAT16, domain, into)
        dtype, left, right = e.dtype, e.left, e.right
        if form.counts_bits:
            if not self.is_scalar(right, domain):
                raise Unsuitable(
                    f"`{e.op}` by another count for each element is no vector operation"
                )
            right = count_of_bits(right, dtype, self.known)
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
        if name in FORM_OF:
            expanded = against_line(self, FORM_OF[name], left, right, dtype, domain, into)
            if expanded is not None:
                return expanded
        a = self.typed(left, dtype, domain, None if reads(right, into) else into)
        if isinstance(a, Expr):
            a = self.filled(a, dtype, domain)
        with self.shared.holding(a):
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

    def unary(self, e: Unary, domain: Domain, into: Region | None) -> Value:
        dtype = e.dtype
        if dtype is BFLOAT16:
            wide = unary(e.op, cast(e.operand, FLOAT32))
            return self.typed(wide, BFLOAT16, domain, into)
        if e.op == "-":
            return self.apply("mul", e.operand, Const(-1, INT32), dtype, domain, into)
        if e.op == "abs" and dtype.is_integer:
            negative = cast(unary("-", e.operand), dtype)
            return self.value(binary("max", e.operand, negative), domain, into)
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

    def convert(self, value: Region, dtype: DType, domain: Domain, into: Region | None) -> Region:
        if value.dtype is BOOL:
            out = into if into is not None and dtype is FLOAT16 else self.tile(FLOAT16, domain)
            self.emit("halves_of_truths", out, value)
            self.release(value)
            return out if dtype is FLOAT16 else self.convert(out, dtype, domain, into)
        if dtype is BOOL:  # of a condition as numbers
            out = into if into is not None else self.tile(BOOL, domain)
            self.emit("truths_of_halves", out, value)
            self.release(value)
            return out
        route = conversion_steps(value.dtype, dtype, self.trial.target.conversions)
        if route is None:
            raise Unsuitable(f"no vector instruction converts {value.dtype} to {dtype}")
        for target, mode in route:
            last = target is dtype and into is not None and into.buffer is not value.buffer
            out = into if last and into is not None else self.tile(target, domain)
            self.emit("cast", out, value, None, attrs=(mode,))
            self.release(value)
            value = out
        return value


def _in_rows_of_blocks(region: Region) -> bool:
    """Whether it is a whole tile in ub whose rows start at whole blocks."""
    columns = constant_value(region.buffer.shape[-1])
    whole = region.memory is Memory.UB and region.is_whole()
    return whole and columns is not None and columns * region.dtype.size % BLOCK_BYTES == 0


def _is_power_of_two(e: Expr) -> bool:
    """A constant whose reciprocal is exact."""
    if not isinstance(e, Const) or not isinstance(e.value, float):
        return False
    mantissa, exponent = math.frexp(e.value)
    return abs(mantissa) == 0.5 and -12 <= exponent <= 12
