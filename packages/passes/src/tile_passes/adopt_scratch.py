"""Working memory that a kernel hands to its operations: kept where the kernel counts on it."""

from __future__ import annotations

from dataclasses import field
from functools import partial

from tile_ir import (
    Alloc,
    Automatic,
    Buffer,
    Const,
    Diagnostic,
    DType,
    Func,
    Memory,
    Op,
    Phase,
    Region,
    Scratch,
    Slice,
    Stmt,
    Target,
    buffer_bytes,
    constant_value,
    element_count,
    element_offset,
    is_contiguous,
    rewrite,
    share_bytes,
    simplify,
    walk_ops,
)
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.lowering.builder import Builder
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.TYPED)
def adopt_scratch(func: Func, target: Target) -> Func:
    """Use the working memory that a manually ordered kernel passes to an operation.

    Needs, gives: TYPED. Idea: a manually ordered kernel, or one with fixed addresses, relies on the
    bytes that it passes and may have no others free. A second name with the element type of the
    working memory gives them to the operation. In other kernels the compiler allocates working
    memory, except in buffers with a fixed address. Limits: the memory starts at the first byte of
    its buffer, is large enough and shares no byte with the operands; otherwise a remark reports it
    and the compiler allocates other memory. When the compiler splits rows for two vector cores, it
    splits their working memory too.
    """
    if all(op.scratch is None for op in walk_ops(func.launch.body)):
        return func
    adoption = None if func.launch.threads == 2 else _Adoption(func, target)
    body = rewrite(func.launch.body, partial(_adopted, adoption=adoption))
    if adoption is None:
        return func.with_body(body)
    allocs = (*func.launch.allocs, *adoption.names.values())
    remarks = (*func.remarks, *adoption.remarks)
    return replace(func.with_body(body, allocs=allocs), remarks=remarks)


def _adopted(stmt: Stmt, adoption: _Adoption | None) -> Stmt:
    if not isinstance(stmt, Op) or stmt.scratch is None:
        return stmt
    return stmt.with_scratch(None if adoption is None else adoption.memory_of(stmt, stmt.scratch))


@dataclass(eq=False)
class _Adoption:
    func: Func
    target: Target
    names: dict[tuple[Buffer, DType], Alloc] = field(default_factory=dict)
    remarks: list[Diagnostic] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.builder = Builder.for_func(self.func, self.target)
        self.allocs = {a.buffer: a for a in self.func.launch.allocs}
        self.left = {Automatic.SYNC, Automatic.MEMORY} <= self.func.automatic

    def memory_of(self, op: Op, given: Region) -> Region | None:
        """The handed memory under the operation's element type, if it can work there."""
        needs, alloc = op.opdef.scratch(op), self._root(given.buffer)
        if not needs or (self.left and alloc.address is None):
            return None
        (need,) = needs
        reason = self._against(op, given, need)
        if reason is not None:
            self.remarks.append(_not_used(op, given, reason))
            return None
        buffer = self._named(alloc, need.dtype)
        size = min(need.elements, buffer_bytes(alloc) // need.dtype.size)
        return Region(buffer, (Slice(Const(0), Const(size)),))

    def _against(self, op: Op, given: Region, need: Scratch) -> str | None:
        alloc = self._root(given.buffer)
        elements = constant_value(simplify(element_count(given)))
        start = constant_value(simplify(element_offset(given)))
        bytes_needed = need.needed * need.dtype.size
        if elements is None or not is_contiguous(given):
            return "is no run of a known size"
        if start != 0 or (alloc.address or 0) % self.target.alignment[Memory.UB]:
            return "starts inside a buffer, or a block"
        if elements * given.dtype.size < bytes_needed:
            return f"has {elements * given.dtype.size} bytes, and {bytes_needed} are needed"
        touched = (self._root(r.buffer) for r in self.builder.regions(op.with_scratch(None)))
        placed = alloc.address is not None
        if any(
            other is alloc or (placed and other.address is not None and share_bytes(alloc, other))
            for other in touched
        ):
            return "shares bytes with an operand"
        return None

    def _root(self, buffer: Buffer) -> Alloc:
        alloc = self.allocs[buffer]
        return alloc if alloc.alias_of is None else self.allocs[alloc.alias_of]

    def _named(self, root: Alloc, dtype: DType) -> Buffer:
        """The buffer under a second name, all of it."""
        key = (root.buffer, dtype)
        if key not in self.names:
            size = Const(buffer_bytes(root) // dtype.size)
            name = self.builder.fresh(f"{root.buffer.name}_{dtype.name}")
            second = Buffer(name, Memory.UB, dtype, (size,), root.loc)
            self.names[key] = Alloc(second, root.loc, root.address, alias_of=root.buffer)
        return self.names[key].buffer


def _not_used(op: Op, given: Region, reason: str) -> Diagnostic:
    return Diagnostic(
        "working-memory",
        f"{op.opdef.name} does not work in `{given.buffer.name}`, which {reason}: it gets memory "
        "of the compiler's",
        op.loc,
        "leave it out, or hand over a buffer of its own that is large enough",
        "warning",
    )
