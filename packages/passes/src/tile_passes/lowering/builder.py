"""Give lowering rules fresh names, scratch buffers and checked operations. The order of the
statements is the work of `insert_sync`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from tile_ir import (
    OPS,
    Alloc,
    AttrValue,
    Buffer,
    Const,
    Diagnostic,
    DType,
    Expr,
    Func,
    KernelError,
    Loc,
    Memory,
    Op,
    Operand,
    Region,
    Slice,
    Stmt,
    Target,
    Var,
    accesses,
    buffer_bytes,
    check_op,
    simplify,
)
from tile_ir import walk as walk_body
from tile_ir.quick_dataclasses import dataclass
from tile_passes.analysis.earlier_writes import EarlierWrites
from tile_passes.free_names import FreeNames


@dataclass(eq=False)
class Builder:
    """Collects what lowering adds to one function. Names never clash with the user's.

    `turns` counts what takes slots in turn in the innermost loop around the operation, by the
    operations that do (`lowering.turns`). `widest_slots` are the bytes of the widest slot of all
    products of the function, by memory.
    """

    target: Target
    names: FreeNames
    user_bytes: dict[Memory, int]
    # Who writes what of the buffers, in the function that is lowered.
    writes: EarlierWrites
    allocs: list[Alloc] = field(default_factory=list)
    shared: dict[tuple[str, Memory, DType], Buffer] = field(default_factory=dict)
    turns: Mapping[Op, Expr] = field(default_factory=dict)
    widest_slots: Mapping[Memory, int] = field(default_factory=dict)
    remarks: list[Diagnostic] = field(default_factory=list)
    # Sizes in which the matrices of l0a and l0b are used, all over the function.
    register_sizes: dict[Buffer, set[tuple[Expr, ...]]] = field(default_factory=dict)

    @staticmethod
    def for_func(func: Func, target: Target) -> Builder:
        taken: dict[Memory, int] = {}
        for a in func.launch.allocs:
            placed = a.alias_of is None and a.buffer.memory in target.capacity
            if placed and a.buffer.static_shape() is not None:
                end = buffer_bytes(a) + (taken.get(a.buffer.memory, 0) if a.address is None else 0)
                taken[a.buffer.memory] = max(end, taken.get(a.buffer.memory, 0))
        sizes = _register_sizes(func)
        return Builder(target, FreeNames.of(func), taken, EarlierWrites(func), register_sizes=sizes)

    def fresh(self, name: str) -> str:
        return self.names.fresh(name)

    def scalar(self, name: str) -> Var:
        return Var(self.fresh(name))

    def scratch(
        self, name: str, memory: Memory, dtype: DType, shape: Sequence[int], loc: Loc
    ) -> Buffer:
        """A buffer of the compiler's own; one that fits is used again, since every operation is
        done with its scratch before the next one starts."""
        buffer = Buffer(self.fresh(name), memory, dtype, tuple(Const(d) for d in shape), loc)
        self.allocs.append(Alloc(buffer, loc, scratch=True))
        return buffer

    def _beside_scratch(self, name: str, dtype: DType, shape: Sequence[int], loc: Loc) -> Buffer:
        buffer = self.scratch(name, Memory.UB, dtype, shape, loc)
        self.allocs[-1] = Alloc(buffer, loc)
        return buffer

    def flat_scratch(self, name: str, memory: Memory, dtype: DType, size: int, loc: Loc) -> Region:
        """The first `size` elements of a one-dimensional scratch buffer shared by all operations
        with this name and type."""
        key = name, memory, dtype
        if not _has_room(self.shared.get(key), size):
            self.shared[key] = self.scratch(name, memory, dtype, (size,), loc)
        return Region(self.shared[key], (Slice(Const(0), Const(size)),))

    def staging(self, name: str, dtype: DType, size: int, loc: Loc) -> Buffer:
        """A run of elements in ub for an operand, beside the scratch of the operation; operations
        that follow each other share it."""
        key = f"staged_{name}", Memory.UB, dtype
        if not _has_room(self.shared.get(key), size):
            self.shared[key] = self._beside_scratch(key[0], dtype, (size,), loc)
        return self.shared[key]

    def staged_matrix(self, name: str, dtype: DType, rows: int, pitch: int, loc: Loc) -> Buffer:
        """The same for a matrix, shared by those of its sizes."""
        key = f"staged_{name}[{rows}, {pitch}]", Memory.UB, dtype
        if key not in self.shared:
            self.shared[key] = self._beside_scratch(f"staged_{name}", dtype, (rows, pitch), loc)
        return self.shared[key]

    def with_scratch(self, op: Op) -> Op:
        """The operation with a buffer for the scratch of its record. Where less would do, it gets
        the preferred size only in a memory of which the user leaves twice as much."""
        needs = op.opdef.scratch(op)
        if not needs or op.scratch is not None:
            return op
        (need,) = needs
        left = self.target.capacity[need.memory] - self.user_bytes.get(need.memory, 0)
        size = need.elements if 2 * need.elements * need.dtype.size <= left else need.needed
        return op.with_scratch(self.flat_scratch("scratch", need.memory, need.dtype, size, op.loc))

    def writes_before(self, op: Op, part: Region) -> list[tuple[Stmt, Region]]:
        """Writes to a part of the operation's result that may leave a value there."""
        return self.writes.before(op, part)

    def filled(self, buffer: Buffer) -> bool:
        """Whether statements write all that is read of a buffer before they read it."""
        return self.writes.fill(buffer)

    def regions(self, op: Op) -> Iterator[Region]:
        return (o for o in op.operands if isinstance(o, Region))

    def op(self, name: str, operands: tuple[Operand, ...], loc: Loc, *attrs: AttrValue) -> Op:
        """An operation, checked against its record: what the hardware cannot do is the user's to
        change, at the user's line."""
        result = Op(OPS[name], operands, attrs, loc)
        problem = check_op(result, self.target)
        if problem:
            raise KernelError(problem.slug, problem.message, loc, problem.hint)
        return result


def _has_room(run: Buffer | None, size: int) -> bool:
    return run is not None and (run.static_shape() or (0,))[0] >= size


def _register_sizes(func: Func) -> dict[Buffer, set[tuple[Expr, ...]]]:
    sizes: dict[Buffer, set[tuple[Expr, ...]]] = {}
    for stmt in walk_body(func.launch.body):
        for region, _ in accesses(stmt) if isinstance(stmt, Op) else ():
            if region.memory in (Memory.L0A, Memory.L0B):
                size = tuple(simplify(e) for e in region.extents[-2:])
                sizes.setdefault(region.buffer, set()).add(size)
    return sizes
