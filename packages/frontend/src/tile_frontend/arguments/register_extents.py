"""Cut copies by `real_k` and `real_n` of `T.copy`: how much of l0a and l0b a shorter product reads.

Which dimension that is depends on the memory. Of a buffer whose memory is open the products that
read it say so, so that such copies are cut when the kernel is traced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tile_frontend.arguments.operand_regions import cut
from tile_frontend.tracing.faults import Fault
from tile_frontend.tracing.scalars import integer_expr
from tile_ir import (
    Body,
    Buffer,
    Expr,
    KernelError,
    Memory,
    Op,
    Region,
    constant_value,
    walk_ops,
)  # fmt: skip

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
        known = {n: integer_expr(f"copy: {n}", v) for n, v in given.items() if v is not None}
        return RegisterExtents(known, turned)

    def cut(self, src: Region, dst: Region, memory: Memory) -> tuple[Region, Region]:
        """Both sides cut to what a product reads of a `dst` in this memory."""
        for name, dim in _DIMENSIONS.get(memory, {}).items():
            if name not in self.sizes or min(len(src.dims), len(dst.dims)) < 2:
                continue
            size, have = self.sizes[name], constant_value(dst.extents[dim])
            number = constant_value(size)
            if number is not None and have is not None and not 0 < number <= have:
                message = f"copy: {name} is {number}, but `{dst.buffer.name}` has {have}"
                raise Fault("attribute-value", message, argument=name)
            src = cut(src, -3 - dim if self.turned else dim, size)
            dst = cut(dst, dim, size)
        return src, dst

    def cut_open(self, op: Op, body: Body) -> Op:
        """A copy to a buffer whose memory is open, cut as the products of the body read it. Raises
        KernelError where no product says which operand the buffer is."""
        src, dst = op.region("src"), op.region("dst")
        found = set(_memories(body, dst.buffer))
        if len(found) != 1:
            raise KernelError(
                "open-register",
                f"copy: {next(iter(self.sizes))} is about what a product reads, but no "
                f"product says whether `{dst.buffer.name}` is its left or its right operand",
                op.loc,
                "allocate it with T.alloc_L0A or T.alloc_L0B",
            )
        try:
            sides = self.cut(src, dst, found.pop())
        except Fault as fault:
            raise KernelError(fault.slug, fault.message, op.loc, fault.hint) from None
        return replace(op, operands=(*sides, *op.operands[2:]))


def _memories(body: Body, buffer: Buffer) -> Iterator[Memory]:
    """The memories of registers that uses of the buffer ask for."""
    for op in walk_ops(body):
        for i, operand in enumerate(op.operands):
            memories = op.opdef.operand_def(i).memories
            if isinstance(operand, Region) and operand.buffer is buffer and len(memories) == 1:
                yield from memories & _DIMENSIONS.keys()
