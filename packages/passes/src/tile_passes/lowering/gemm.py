"""`gemm_v0`: an l1 product as l0 tiles along k, loads of the next tile under the product of this.

A script needs no flags around it (docs/language/rules.md#products): what it becomes is ordered
by `insert_sync`. Where all order is the compiler's, the tiles of all products of a loop take slots
in turn, so that loads overlap the product before, whichever that is of.
"""

from __future__ import annotations

from tile_ir import (
    Body,
    Buffer,
    Const,
    DType,
    Expr,
    For,
    Func,
    If,
    KernelError,
    LoopKind,
    Memory,
    Op,
    Region,
    Slice,
    Stmt,
    binary,
    equal,
    is_constant,
    k0_elements,
    round_up,
    simplify,
    walk_ops,
)
from tile_ir import Memory as M
from tile_ir.analysis import Ranges
from tile_ir.ops.cube import is_tile_product, matrix_sizes, takes_bias
from tile_ir.quick_dataclasses import dataclass
from tile_passes.lowering.alignment import check_fractals
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.region_parts import part_along
from tile_passes.lowering.turns import SLOTS

# One tile of k is at most this many elements: longer ones gain nothing but wait longer to start.
LONGEST_TILE = 128
# So many tiles of k are written one after the other, each with flags of its own; more are a loop.
MOST_WRITTEN_OUT = 8


@dataclass(frozen=True, slots=True)
class _Tiling:
    """`k0` elements of k per tile, `slots` tiles in flight, `steps` full tiles and a `tail`."""

    m: int
    n: int
    k0: int
    slots: int
    steps: int
    tail: int


def lower_gemm(op: Op, known: Ranges, builder: Builder) -> Body:
    """Split k into tiles that fit l0a and l0b, twice if possible; overlap loads and products."""
    check_fractals(op, (op.region("A"), op.region("B")))
    return _Gemm(op, _tiling(op, builder), builder).build()


def tile_of_k(op: Op, builder: Builder) -> int:
    """Elements of k that one instruction of a product multiplies."""
    return _tiling(op, builder).k0


def tiles_of(op: Op, builder: Builder) -> int:
    """How many tiles of k an operation takes apart, each with the next slot; none if it is no
    product."""
    if not is_tile_product(op) or matrix_sizes(op) is None:
        return 0
    t = _tiling(op, builder)
    tiles = t.steps + bool(t.tail)
    return tiles if t.steps <= MOST_WRITTEN_OUT else round_up(tiles, t.slots)


def widest_slots(func: Func, builder: Builder) -> dict[Memory, int]:
    """Bytes of the widest slot of each memory, over all products that take slots in turn."""
    found = {M.L0A: 0, M.L0B: 0}
    for op in walk_ops(func.launch.body):
        if not is_tile_product(op) or matrix_sizes(op) is None:
            continue
        t, dtype = _tiling(op, builder), op.region("A").dtype
        if t.slots == SLOTS:
            unit = _unit(dtype)
            for memory, rows, columns in ((M.L0A, t.m, t.k0), (M.L0B, t.k0, t.n)):
                size = dtype.bytes_of(round_up(rows, unit) * round_up(columns, unit))
                found[memory] = max(found[memory], size)
    return found


def fits_one_tile(op: Op, columns: int, builder: Builder) -> bool:
    """Whether one tile has all of k, as it is of the left operand in half of l0a and of so many
    columns of the right one in both slots of l0b."""
    m, _, k = _sizes(op)
    dtype, room = op.region("A").dtype, _room(builder)
    unit = _unit(dtype)
    tile_k = round_up(k, unit)
    return (
        tile_k <= LONGEST_TILE
        and 2 * round_up(m, unit) * tile_k <= dtype.elements_in(room[M.L0A])
        and 2 * round_up(columns, unit) * tile_k <= dtype.elements_in(room[M.L0B])
    )


def _room(builder: Builder) -> dict[Memory, int]:
    return {
        memory: builder.target.capacity[memory] - builder.user_bytes.get(memory, 0)
        for memory in (M.L0A, M.L0B)
    }


def _unit(dtype: DType) -> int:
    return max(16, k0_elements(dtype))


def _sizes(op: Op) -> tuple[int, int, int]:
    sizes = matrix_sizes(op)
    assert sizes is not None, "the verifier demands static shapes"
    return sizes


def _tiling(op: Op, builder: Builder) -> _Tiling:
    m, n, k = _sizes(op)
    dtype = op.region("A").dtype
    unit, room = _unit(dtype), _room(builder)
    rows, columns = round_up(m, unit), round_up(n, unit)
    if op.region("A").memory is M.L0A:
        tile_k = round_up(k, unit)
        return _Tiling(m, n, tile_k, 2, k // tile_k, k % tile_k)
    for slots in (SLOTS, 1):
        fits = min(
            dtype.elements_in(room[M.L0A]) // (slots * rows),
            dtype.elements_in(room[M.L0B]) // (slots * columns),
        )
        most = min(fits // unit * unit, LONGEST_TILE, round_up(k, unit))
        if most > 0:
            # Tiles of one length rather than a short one at the end, which costs the same.
            even = (w for w in range(most, most // 2, -unit) if k % w == 0)
            k0 = next(even, most)
            return _Tiling(m, n, k0, slots, k // k0, k % k0)
    raise KernelError(
        "memory-overflow",
        f"gemm_v0: a tile of {m} rows and {n} columns does not fit l0a ({room[M.L0A]} bytes free) "
        f"and l0b ({room[M.L0B]} bytes free)",
        op.loc,
        "use smaller M and N tiles, or free the l0 buffers of your own",
    )


class _Gemm:
    def __init__(self, op: Op, tiling: _Tiling, builder: Builder) -> None:
        self.op, self.t, self.b, self.loc = op, tiling, builder, op.loc
        init = op.operand("init")
        assert isinstance(init, Expr), "checked by the record"
        self.init = init
        self.bias = op.region("bias") if takes_bias(op) else None
        t, dtype = tiling, op.region("A").dtype
        # None where the left operand is in l0a already (`wide_products`).
        self.l0a: Buffer | None = None
        if op.region("A").memory is not M.L0A:
            rows = self.rows_of_slot(M.L0A, t.m, t.k0)
            self.l0a = builder.scratch("gemm_a", Memory.L0A, dtype, (t.slots, rows, t.k0), op.loc)
        rows = self.rows_of_slot(M.L0B, t.k0, t.n)
        self.l0b = builder.scratch("gemm_b", Memory.L0B, dtype, (t.slots, rows, t.n), op.loc)

    def rows_of_slot(self, memory: Memory, rows: int, columns: int) -> int:
        """Rows of the matrix that a slot holds, and as many more as let the slots of all products
        start at the same bytes. Else the second slot of a narrow product would lie in the first one
        of a wide product, and wait for it."""
        dtype, unit = self.op.region("A").dtype, _unit(self.op.region("A").dtype)
        row = dtype.bytes_of(round_up(columns, unit))
        widest = self.b.widest_slots.get(memory, 0)
        if self.t.slots < SLOTS or row * round_up(rows, unit) >= widest:
            return rows
        more = round_up(-(-widest // row), unit)
        return more if self.t.slots * more * row <= _room(self.b)[memory] else rows

    def build(self) -> Body:
        t = self.t
        body: list[Stmt] = []
        if self.bias is not None and self.bias.memory is Memory.L1:
            body += self.into_table(self.bias)
        if t.steps <= MOST_WRITTEN_OUT:
            for n in range(t.steps):
                body += self.tile(Const(n), Const(n * t.k0), self.slot(n), t.k0)
        else:
            i = self.b.scalar("kt")
            step = self.tile(i, i * t.k0, i % t.slots, t.k0)
            body.append(For(i, Const(0), Const(t.steps), LoopKind.SERIAL, step, self.loc))
        if t.tail:
            slot = self.slot(t.steps) if t.steps <= MOST_WRITTEN_OUT else Const(t.steps % t.slots)
            body += self.tile(Const(t.steps), Const(t.steps * t.k0), slot, t.tail)
        return tuple(body)

    def into_table(self, bias: Region) -> Body:
        """A bias of l1 is copied to a table where C starts from it."""
        dtype = self.op.region("C").dtype
        self.bias = self.b.flat_scratch("bias", Memory.BT, dtype, self.t.n, self.loc)
        copied = (self.b.op("copy_l1_bt", (bias, self.bias), self.loc),)
        return copied if is_constant(self.init) else (If(self.init, copied, (), self.loc),)

    def slot(self, number: int) -> Expr:
        """That of a tile."""
        first = self.b.turns.get(self.op, Const(0))
        return simplify((first + number) % self.t.slots)

    def tile(self, index: Expr, k: Expr, slot: Expr, size: int) -> Body:
        op, b, loc = self.op, self.b, self.loc
        transpose_a, transpose_b = op.attr("transpose_A"), op.attr("transpose_B")
        a = part_along(op.region("A"), -2 if transpose_a else -1, k, Const(size))
        w = part_along(op.region("B"), -1 if transpose_b else -2, k, Const(size))
        dst_a = a if self.l0a is None else _slot(self.l0a, slot, self.t.m, size)
        dst_b = _slot(self.l0b, slot, size, self.t.n)
        load = () if self.l0a is None else (b.op("copy_l1_l0a", (a, dst_a), loc, transpose_a),)
        first = binary("and", self.init, equal(index, 0))
        operands = (dst_a, dst_b, op.region("C"), first)
        starts = self.bias is not None and not is_constant(first, False)
        return (
            *load,
            b.op("copy_l1_l0b", (w, dst_b), loc, transpose_b),
            b.op("mma_bias", (*operands, self.bias), loc) if starts else b.op("mma", operands, loc),
        )


def _slot(buffer: Buffer, slot: Expr, rows: int, columns: int) -> Region:
    dims = (Slice(slot, Const(1)), Slice(Const(0), Const(rows)), Slice(Const(0), Const(columns)))
    return Region(buffer, dims)
