"""`real_k` and `real_n` of `T.copy`: how much of what goes to l0a and l0b a shorter product reads.

Which dimension that is depends on the memory. Of a buffer whose memory is open the products that
read it say so, so that such copies are cut when the kernel is traced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tile_frontend.tracing.faults import Fault
from tile_frontend.tracing.scalars import Scalar, describe, python_number
from tile_ir import (
    Body,
    Buffer,
    Const,
    Expr,
    KernelError,
    Memory,
    Op,
    Region,
    Stmt,
    constant_value,
    rewrite,
    walk_ops,
)

# The dimension of k and that of n.
_DIMENSIONS: Mapping[Memory, Mapping[str, int]] = {
    Memory.L0A: {"real_k": -1},
    Memory.L0B: {"real_k": -2, "real_n": -1},
}


@dataclass(frozen=True, slots=True)
class RegisterExtents:
    """What a copy said of its registers."""

    sizes: Mapping[str, Expr]
    turned: bool

    @staticmethod
    def of(given: Mapping[str, Any], turned: bool) -> RegisterExtents:
        """Raises Fault for what is no number."""
        sizes = {name: _size(name, value) for name, value in given.items() if value is not None}
        return RegisterExtents(sizes, turned)

    def cut(self, src: Region, dst: Region, memory: Memory) -> tuple[Region, Region]:
        """Both sides cut to what a product reads of a `dst` in this memory."""
        for name, dim in _DIMENSIONS.get(memory, {}).items():
            if name not in self.sizes or min(len(src.dims), len(dst.dims)) < 2:
                continue
            size, have = self.sizes[name], constant_value(dst.extents[dim])
            number = constant_value(size)
            if number is not None and have is not None and not 0 < number <= have:
                raise Fault(
                    "attribute-value",
                    f"copy: {name} is {number}, but `{dst.buffer.name}` has {have}",
                    argument=name,
                )
            src = _first(src, -3 - dim if self.turned else dim, size)
            dst = _first(dst, dim, size)
        return src, dst


def _size(name: str, value: Any) -> Expr:
    number = python_number(value)
    if isinstance(value, Scalar) and value.expr.dtype.is_integer:
        return value.expr
    if isinstance(number, int) and not isinstance(number, bool):
        return Const(number)
    raise Fault(
        "operand-kind", f"copy: {name} is {describe(value)}, expected a number", argument=name
    )


def _first(region: Region, dim: int, size: Expr) -> Region:
    dims = list(region.dims)
    dims[dim] = replace(dims[dim], extent=size)
    return Region(region.buffer, tuple(dims))


def cut_open_registers(body: Body, asked: Mapping[Op, RegisterExtents]) -> Body:
    """The body with the copies to open buffers cut as they were asked to be. Raises KernelError
    where no product says which operand such a buffer is."""

    def cut(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Op) or stmt not in asked:
            return stmt
        src, dst = stmt.region("src"), stmt.region("dst")
        found = set(_memories(body, dst.buffer))
        if len(found) != 1:
            raise KernelError(
                "open-register",
                f"copy: {next(iter(asked[stmt].sizes))} is about what a product reads, but no "
                f"product says whether `{dst.buffer.name}` is its left or its right operand",
                stmt.loc,
                "allocate it with T.alloc_L0A or T.alloc_L0B",
            )
        try:
            sides = asked[stmt].cut(src, dst, found.pop())
        except Fault as fault:
            raise KernelError(fault.slug, fault.message, stmt.loc, fault.hint) from None
        return replace(stmt, operands=(*sides, *stmt.operands[2:]))

    return rewrite(body, cut) if asked else body


def _memories(body: Body, buffer: Buffer) -> Iterator[Memory]:
    """The memories of registers that uses of the buffer ask for."""
    for op in walk_ops(body):
        for i, operand in enumerate(op.operands):
            memories = op.opdef.operand_def(i).memories
            if isinstance(operand, Region) and operand.buffer is buffer and len(memories) == 1:
                yield from memories & _DIMENSIONS.keys()
