"""Turns loops over rows with a scalar operand each into operations on all rows."""

from __future__ import annotations

from dataclasses import field
from itertools import chain

from tile_ir import (
    BLOCK_BYTES,
    OPS,
    Alloc,
    Automatic,
    Body,
    Buffer,
    Const,
    Effect,
    For,
    Func,
    KernelError,
    Load,
    LoopKind,
    Memory,
    Op,
    Phase,
    Region,
    Slice,
    Stmt,
    Target,
    bodies,
    check_op,
    element_count,
    round_up,
    with_bodies,
    with_statements,
)
from tile_ir.analysis import Ranges, launch_ranges, ranges_inside, with_ranges
from tile_ir.ops.rules import elements_bound
from tile_ir.quick_dataclasses import dataclass
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.generated import behind_all, mark_generated
from tile_passes.lowering.one_operation import lower_op
from tile_passes.parallel.nest import Unsuitable
from tile_passes.parallel.row_loops import RowLoop, divisors, elements_of_rows, merged, row_loop
from tile_passes.parallel.temporaries import SCRATCH_BYTES
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.TYPED, optional=True)
def merge_rows(func: Func, target: Target) -> Func:
    """Replace loops over rows, each with its own scalar, by operations that read all the scalars.

    Needs, gives: TYPED. Idea: `for h: sub(x[h, :], x[h, :], m[h])` waits for the scalar unit in
    every round; the vector unit reads `m` itself, one block for each row. Iterations must keep to
    their rows, so that each operation may run over all rows before the next; results are the same
    bit by bit. Limits: loops of elementwise operations and barriers whose scalars lie in one run;
    all others stay as they are.
    """
    merger = _Merger(func, target, Builder.for_func(func, target))
    body = merger.body(func.launch.body, launch_ranges(func))
    if body is func.launch.body:
        return func
    return func.with_body(body, allocs=(*func.launch.allocs, *merger.allocs))


@dataclass(eq=False)
class _Merger:
    func: Func
    target: Target
    builder: Builder
    allocs: list[Alloc] = field(default_factory=list)

    def body(self, body: Body, ranges: Ranges) -> Body:
        pieces = (self.stmt(stmt, known) for stmt, known in with_ranges(body, ranges))
        return with_statements(body, chain.from_iterable(pieces))

    def stmt(self, stmt: Stmt, known: Ranges) -> Body:
        if isinstance(stmt, For) and stmt.kind in (LoopKind.SERIAL, LoopKind.UNROLL):
            try:
                steps = self.rows(stmt, known)
            except Unsuitable:
                pass
            else:
                return behind_all(self.func, mark_generated(self.func, steps), stmt.loc)
        inside = ranges_inside(stmt, known)
        return (with_bodies(stmt, tuple(self.body(b, inside) for b in bodies(stmt))),)

    def rows(self, loop: For, known: Ranges) -> Body:
        """The loop's operations one after another. Raises Unsuitable."""
        found = row_loop(loop, self.func.launch.allocs)
        barriers = any(op.opdef.effect is Effect.BARRIER for op in found.ops)
        if Automatic.SYNC in self.func.automatic and barriers:
            raise Unsuitable("order of the user's and of the compiler's do not mix")
        allocs: list[Alloc] = []
        inverses: dict[Load, Region] = {}
        before: list[Stmt] = []
        for load in divisors(found):
            column = elements_of_rows(load, found)
            inverses[load] = inverse = self._column(column, allocs)
            one = Const(1.0, inverse.dtype)
            for name, operands in (("fill", (inverse, one)), ("div", (inverse, inverse, column))):
                before.append(Op(OPS[name], operands, (), loop.loc))
        steps_of_rows = [merged(op, found, inverses) for op in found.ops]
        for step in (*before, *steps_of_rows):
            if isinstance(step, Op) and step.opdef.effect is Effect.DATA:
                self._check(step, found, known)
        self.allocs += allocs
        return (*before, *steps_of_rows)

    def _column(self, like: Region, allocs: list[Alloc]) -> Region:
        """A run of the compiler's own, as long as the elements of the rows."""
        unit = BLOCK_BYTES // like.dtype.size
        shape = (Const(round_up(elements_bound(like), unit)),)
        name = self.builder.fresh("inverse")
        buffer = Buffer(name, Memory.UB, like.dtype, shape, like.buffer.loc)
        allocs.append(Alloc(buffer, like.buffer.loc))
        return Region(buffer, (Slice(Const(0), element_count(like)),))

    def _check(self, op: Op, found: RowLoop, known: Ranges) -> None:
        """Raise Unsuitable for what the hardware cannot do, or has no room for."""
        problem = check_op(op, self.target)
        if problem is not None:
            raise Unsuitable(problem.message)
        needed = sum(s.elements * s.dtype.size for s in op.opdef.scratch(op))
        free = self.target.capacity[Memory.UB] - self.builder.user_bytes.get(Memory.UB, 0)
        if needed and needed + SCRATCH_BYTES > free:
            raise Unsuitable("the blocks of the scalars do not fit")
        try:
            lower_op(op, known, Builder.for_func(self.func, self.target))
        except KernelError as error:
            raise Unsuitable(error.message) from None
