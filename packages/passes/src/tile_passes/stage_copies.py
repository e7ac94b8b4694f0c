"""Takes copies apart that no single movement does: those that convert, those from gm to gm, those
of short rows, and those between a tile of the cube core and another rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from tile_ir import (
    BLOCK_BYTES,
    DTYPES,
    OPS,
    ZERO,
    Alloc,
    Automatic,
    Body,
    Buffer,
    Cast,
    Const,
    DType,
    Expr,
    For,
    Func,
    Load,
    LoopKind,
    Memory,
    Op,
    Phase,
    Region,
    Slice,
    Stmt,
    Store,
    Target,
    Var,
    active_dims,
    cast,
    ceildiv,
    constant_value,
    generated,
    is_contiguous,
    minimum,
    misalignment,
    rewrite,
    round_up,
    simplify,
)
from tile_ir.layout.tile_copy import CopyPair, match_copy
from tile_ir.ops.cast import DEQUANTIZING
from tile_ir.ops.movement import cast_mode_of_copy, goes_through_workspace, type_between_cores
from tile_ir.quick_dataclasses import dataclass, replace
from tile_ir.ranks import is_far
from tile_passes.free_names import FreeNames
from tile_passes.lowering.alignment import odd_pitch, starts_at_blocks
from tile_passes.lowering.short_rows import elements_beside, has_short_rows, in_blocks
from tile_passes.passdef import ir_pass

# A copy from gm to gm moves pieces of so many bytes: transfers are at full rate from there on
# (docs/hardware/units.md#transfers), and two pieces leave most of ub to the kernel.
PIECE = 32 * 1024
# One is loaded while the other is stored.
VERSIONS = 2


@ir_pass(needs=Phase.TYPED)
def stage_copies(func: Func, target: Target) -> Func:
    """Split copies that change the type into movements and casts in ub, and those from gm to gm.

    Needs, gives: TYPED. Idea: a tile in ub has the type of the transfer. A value that leaves ub is
    cast first; a value that arrives is cast behind the copy, unless the fixpipe converts. Casts of
    several steps, and casts of integers to narrower ones, are parallel loops. Copies from gm to gm
    go through a tile in pieces. Short rows, columns, and lines that start inside a block go through
    rows of whole blocks, with a parallel loop between these and the tile. In text for other chips
    (`Automatic.CORES`) parts of a tile that start inside a block are copied by a parallel loop, and
    floats are truncated to integers. Copies of the cube core to or from another rank go through ub,
    because no device has shown that its transfers reach another one. The compiler orders the steps,
    also in manually ordered kernels. Limits: a cast on the way to l1 goes through ub and gm; short
    rows in manually ordered kernels, and columns of bytes, are left to `lower_tile_ops`.
    """
    foreign, ordered = (a in func.automatic for a in (Automatic.CORES, Automatic.SYNC))
    stages = _Stages(target, FreeNames.of(func), foreign, ordered)
    body = rewrite(func.launch.body, stages.steps)
    if body is func.launch.body:
        return func
    allocs = (*func.launch.allocs, *stages.allocs)
    return func.with_body(body, allocs=allocs)


@dataclass(eq=False)
class _Stages:
    """Rewrites one function; `allocs` are the tiles it has added."""

    target: Target
    names: FreeNames
    foreign: bool
    ordered: bool
    allocs: list[Alloc] = field(default_factory=list)

    def steps(self, stmt: Stmt) -> Stmt | Body:
        if not isinstance(stmt, Op) or stmt.opdef is not OPS["copy"]:
            return stmt
        src, dst = stmt.region("src"), stmt.region("dst")
        way = src.memory, dst.memory
        if way == (Memory.GM, Memory.GM):
            return self.pieces(stmt)
        if local := _of_the_cube(src, dst):
            return self.through_ub(stmt, local)
        if goes_through_workspace(stmt):
            return self.between_cores(stmt)
        return self.within_core(stmt, src, dst)

    def within_core(self, stmt: Op, src: Region, dst: Region) -> Stmt | Body:
        way = src.memory, dst.memory
        if self.foreign and not all(starts_at_blocks(r, self.target) for r in (src, dst)):
            match way:
                case (Memory.UB, Memory.UB):
                    return self.nest(dst, src, stmt)
                case (Memory.GM, Memory.UB):
                    return self.cast_behind(stmt, src.dtype)
                case (Memory.UB, Memory.GM):
                    return self.cast_before(stmt, dst.dtype)
        if src.dtype == dst.dtype:
            most = elements_beside(dst if dst.memory is Memory.UB else src, self.target)
            if self.ordered and has_short_rows(src, dst, self.target, most):
                return self.in_blocks(stmt, src, dst)
            return self.in_a_line(stmt, src, dst) if self.ordered else stmt
        match way:
            case (Memory.GM, Memory.UB):
                return self.cast_behind(stmt, src.dtype)
            case (Memory.UB, Memory.GM):
                return self.cast_before(stmt, dst.dtype)
            case (Memory.GM, Memory.L1):
                raw = self.tile(dst, src.dtype, stmt)
                moved = generated(replace(stmt, operands=(src, raw)))
                cast, copied = self.cast_before(replace(stmt, operands=(raw, dst)), dst.dtype)
                return moved, cast, copied
            case (Memory.UB, Memory.UB):
                pair = src.dtype.name, dst.dtype.name
                if self.takes_steps(*pair):
                    return self.cast(dst, src, stmt)
        return stmt

    def between_cores(self, stmt: Op) -> Stmt | Body:
        src, dst = stmt.region("src"), stmt.region("dst")
        between = type_between_cores((src.memory, dst.memory), src.dtype, dst.dtype, self.target)
        assert between is not None, "the record of a copy allows no other types"
        if src.memory is Memory.UB:
            return stmt if between is src.dtype else self.cast_before(stmt, between)
        return stmt if between is dst.dtype else self.cast_behind(stmt, between)

    def through_ub(self, copy: Op, local: Region) -> Body:
        """The copy by way of a tile, in the type of the tensor."""
        src, dst = copy.region("src"), copy.region("dst")
        far = dst if local is src else src
        tile = self.tile(local, far.dtype, copy)
        first = replace(copy, operands=(src, tile))
        second = replace(copy, operands=(tile, dst))
        return (*_as_body(self.steps(generated(first))), *_as_body(self.steps(second)))

    def cast_before(self, copy: Op, dtype: DType) -> tuple[Stmt, Stmt]:
        """The source cast to a type, and copied in that."""
        src, dst = copy.region("src"), copy.region("dst")
        tile = self.tile(src, dtype, copy)
        return generated(self.cast(tile, src, copy)), replace(copy, operands=(tile, dst))

    def cast_behind(self, copy: Op, dtype: DType) -> tuple[Stmt, Stmt]:
        """The source copied in a type, and cast where it arrives."""
        src, dst = copy.region("src"), copy.region("dst")
        tile = self.tile(dst, dtype, copy)
        return generated(replace(copy, operands=(src, tile))), self.cast(dst, tile, copy)

    def in_blocks(self, copy: Op, src: Region, dst: Region) -> Stmt | Body:
        """The copy of short rows by way of rows that start at blocks, and vector operations between
        these and the tile."""
        local, loads = (dst, True) if dst.memory is Memory.UB else (src, False)
        if local.static_extents() is None or not starts_at_blocks(local, self.target):
            return copy
        if loads and local.dtype.size == 1 and len(active_dims(local)) == 1:
            return copy  # bytes are widened with those behind them, which nothing may have written

        def stage_of(shape: tuple[int, int]) -> Buffer:
            dims = tuple(Const(n) for n in shape)
            return self.buffer(f"{local.buffer.name}_rows", local.dtype, dims, copy)

        return self.by_way_of(in_blocks(local, self.target, stage_of), copy, src, dst)

    def in_a_line(self, copy: Op, src: Region, dst: Region) -> Stmt | Body:
        """The copy of a line that surely starts inside a block of ub, by way of one that does not,
        and vector operations between the two."""
        local, other = (dst, src) if dst.memory is Memory.UB else (src, dst)
        extents = local.static_extents()
        if extents is None or other.memory is not Memory.GM or local.dtype.bits < 16:
            return copy
        if active_dims(local) != (len(extents) - 1,) or not is_contiguous(local):
            return copy
        if misalignment(local, self.target) is None and not odd_pitch(local, self.target):
            return copy
        unit = local.dtype.elements_in(self.target.alignment[Memory.UB])
        size = Const(round_up(extents[-1], unit))
        line = self.buffer(f"{local.buffer.name}_line", local.dtype, (size,), copy)
        return self.by_way_of(Region(line, (Slice(ZERO, local.dims[-1].extent),)), copy, src, dst)

    def by_way_of(self, stage: Region, copy: Op, src: Region, dst: Region) -> Body:
        """The copy to or from a tile of the compiler's, and vector operations beside it."""
        if dst.memory is Memory.UB:
            return generated(replace(copy, operands=(src, stage))), self.nest(dst, stage, copy)
        whole = Region.whole(stage.buffer)  # no instruction writes some bytes of a block
        return generated(self.nest(whole, src, copy)), replace(copy, operands=(stage, dst))

    def takes_steps(self, dtype: str, to: str) -> bool:
        """Whether a conversion is no single cast that gives what the language does."""
        a, b = DTYPES[dtype], DTYPES[to]
        if (dtype, to) in DEQUANTIZING:  # by a factor that the script sets
            return self.foreign
        narrows = a.is_integer and b.is_integer and b.bits < a.bits
        truncates = self.foreign and a.is_float and b.is_integer
        return narrows or truncates or (dtype, to) not in self.target.conversions

    def cast(self, dst: Region, src: Region, copy: Op) -> Op | For:
        inside = self.foreign and not all(starts_at_blocks(r, self.target) for r in (src, dst))
        if inside or self.takes_steps(src.dtype.name, dst.dtype.name):
            return self.nest(dst, src, copy)
        mode = cast_mode_of_copy(src.dtype, dst.dtype, self.target)
        return Op(OPS["cast"], (dst, src, None), (mode,), copy.loc)

    def nest(self, dst: Region, src: Region, copy: Op) -> For:
        """The conversion element by element, as a parallel loop. Where the source has fewer, the
        last of a row is repeated."""
        active = _counted(dst)
        names = {i: Var(self.names.fresh("i")) for i in active}
        places = _indices(dst, names)
        values = _indices(
            src,
            {
                i: names[j]
                if src.dims[i].extent == dst.dims[j].extent
                else minimum(names[j], src.dims[i].extent - 1)
                for i, j in zip(_counted(src), active, strict=False)
            },
        )
        body: Body = (
            Store(dst.buffer, places, Cast(Load(src.buffer, values), dst.dtype), copy.loc),
        )
        for i in reversed(active):
            extent = cast(dst.dims[i].extent, names[i].dtype)
            body = (For(names[i], Const(0), extent, LoopKind.PARALLEL, body, copy.loc),)
        (nest,) = body
        assert isinstance(nest, For), "at least one dimension is counted"
        return nest

    def tile(self, local: Region, dtype: DType, copy: Op) -> Region:
        """A tile of another type like a region on chip; its rows start at whole blocks unless they
        are one run there."""
        extents = [simplify(s.extent) for s in local.dims]
        sizes = local.static_extents() or local.buffer.static_shape()
        assert sizes is not None, "buffers on chip have fixed sizes"
        shape = list(sizes)
        if local.memory is Memory.UB and not is_contiguous(local):
            shape[-1] = round_up(shape[-1], BLOCK_BYTES // dtype.size)
        dims = tuple(Const(n) for n in shape)
        buffer = self.buffer(f"{local.buffer.name}_{dtype.name}", dtype, dims, copy)
        return Region(buffer, tuple(Slice(Const(0), extent) for extent in extents))

    def buffer(self, name: str, dtype: DType, dims: tuple[Expr, ...], copy: Op) -> Buffer:
        buffer = Buffer(self.names.fresh(name), Memory.UB, dtype, dims, copy.loc)
        self.allocs.append(Alloc(buffer, copy.loc))
        return buffer

    def pieces(self, copy: Op) -> Body:
        """A copy from gm to gm as loops over pieces that go through a tile in ub."""
        src, dst = copy.region("src"), copy.region("dst")
        widest = max(src.dtype.size, dst.dtype.size)
        pairs = match_copy(src, dst) or (CopyPair(len(src.dims) - 1, len(dst.dims) - 1, Const(1)),)
        extents = [_extent(src, dst, pair) for pair in pairs]
        known = [constant_value(simplify(extent)) for extent in extents]
        room, shape = PIECE // widest, list[int]()
        for extent in reversed(known):
            size = min(room, extent) if extent is not None else min(room, 64 if shape else 2048)
            shape.insert(0, max(1, size))
            room //= shape[0]
        tile = self.buffer(
            f"{src.buffer.name}_piece", src.dtype, tuple(Const(n) for n in shape), copy
        )
        sides, loops = (list(src.dims), list(dst.dims)), list[tuple[Var, Expr]]()
        part = list[Slice]()
        for pair, size, whole, extent in zip(pairs, shape, extents, known, strict=True):
            length: Expr = Const(size)
            offset: Expr = Const(0)
            if extent is None or extent > size:
                var = Var(self.names.fresh("piece"))
                loops.append((var, simplify(ceildiv(whole, Const(size)))))
                offset = var * size
                if extent is None or extent % size:
                    length = minimum(length, whole - offset)
            for dims, at in ((sides[0], pair.src_dim), (sides[1], pair.dst_dim)):
                if at is not None:
                    dims[at] = Slice(simplify(dims[at].offset + offset), length)
            part.append(Slice(Const(0), length))
        piece = Region(tile, tuple(part))
        load = replace(copy, operands=(Region(src.buffer, tuple(sides[0])), piece))
        store = replace(copy, operands=(piece, Region(dst.buffer, tuple(sides[1]))))
        body: Body = (generated(load), *_as_body(self.steps(store)))
        kind, stages = LoopKind.PIPELINED, VERSIONS
        for var, count in reversed(loops):
            stop = cast(count, var.dtype)
            body = (For(var, Const(0), stop, kind, body, copy.loc, stages),)
            kind, stages = LoopKind.SERIAL, 0
        return body


def _of_the_cube(src: Region, dst: Region) -> Region | None:
    """The side of a copy that the cube core has, where the other may be another rank's."""
    for local, far in ((src, dst), (dst, src)):
        if local.memory in (Memory.L0C, Memory.L1) and is_far(far):
            return local
    return None


def _extent(src: Region, dst: Region, pair: CopyPair) -> Expr:
    """How many elements a copy moves in one dimension, whatever of them exists."""
    if pair.dst_dim is not None:
        return dst.dims[pair.dst_dim].extent
    assert pair.src_dim is not None, "one of the sides has the dimension"
    return src.dims[pair.src_dim].extent


def _as_body(steps: Stmt | Body) -> Body:
    return steps if isinstance(steps, tuple) else (steps,)


def _counted(region: Region) -> list[int]:
    """The dimensions along which elements are counted: the last one where there is only one."""
    return [*active_dims(region)] or [len(region.dims) - 1]


def _indices(region: Region, variables: Mapping[int, Expr]) -> tuple[Expr, ...]:
    """The place in its buffer of an element of a region."""
    return tuple(
        simplify(s.offset + variables[i]) if i in variables else s.offset
        for i, s in enumerate(region.dims)
    )
