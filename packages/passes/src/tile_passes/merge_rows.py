"""Turns loops over rows with a scalar operand each into operations on all rows."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
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
    Section,
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
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.generated import behind_all, mark_generated
from tile_passes.lowering.one_operation import lower_op
from tile_passes.parallel.nest import Unsuitable
from tile_passes.parallel.row_loops import (
    RowLoop,
    divisors,
    each_row_apart,
    elements_of_rows,
    merged,
    of_all_rows,
    row_loop,
)
from tile_passes.parallel.temporaries import SCRATCH_BYTES
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.TYPED, optional=True)
def merge_rows(func: Func, target: Target) -> Func:
    """Replace loops over rows, each with its own scalar, by operations that read all the scalars.

    Needs, gives: TYPED. Idea: `for h: sub(x[h, :], x[h, :], m[h])` waits for the scalar unit in
    every iteration; the vector unit can read `m` itself, one block per row. Iterations must stay
    within their rows, so that each operation may run over all rows before the next; results are
    equal bit by bit. Operations that have a form for all rows (`of_rows`) leave the loop, and the
    others stay in one. Limits: loops of elementwise operations and barriers whose scalars are
    contiguous, or, in automatic order, loops of vector operations some of which have such a form.
    """
    merger = _Merger(func, target)
    body = merger.body(func.launch.body, launch_ranges(func))
    if body is func.launch.body:
        return func
    return func.with_body(body, allocs=(*func.launch.allocs, *merger.allocs))


def _out_of_section(loop: For) -> tuple[For, Section | None]:
    """The loop with the body of the only section in it, which is then around the loop."""
    match loop.body:
        case (Section() as section,):
            return replace(loop, body=section.body), section
    return loop, None


@dataclass(eq=False)
class _Merger:
    func: Func
    target: Target
    allocs: list[Alloc] = field(default_factory=list)

    @cached_property
    def builder(self) -> Builder:
        """Hardly a function has anything to merge."""
        return Builder.for_func(self.func, self.target)

    def body(self, body: Body, ranges: Ranges) -> Body:
        pieces = (self.stmt(stmt, known) for stmt, known in with_ranges(body, ranges))
        return with_statements(body, chain.from_iterable(pieces))

    def stmt(self, stmt: Stmt, known: Ranges) -> Body:
        if isinstance(stmt, For) and stmt.kind in (LoopKind.SERIAL, LoopKind.UNROLL):
            loop, section = _out_of_section(stmt)
            for form in (self.rows, self.row_forms):
                try:
                    steps = form(loop, known)
                except Unsuitable:
                    continue
                steps = behind_all(self.func, mark_generated(self.func, steps), stmt.loc)
                return (replace(section, body=steps),) if section else steps
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

    def row_forms(self, loop: For, known: Ranges) -> Body:
        """Operations that have a form for all rows in that form, and the others in loops of their
        own. Raises Unsuitable."""
        found = RowLoop(loop, ())
        runs = each_row_apart(loop, self.func.launch.allocs)
        if Automatic.SYNC not in self.func.automatic:
            raise Unsuitable("the order of the operations is the author's")
        steps: list[Stmt] = []
        for run in runs:
            if not run[0].opdef.of_rows:
                steps.append(replace(loop, body=tuple(run)))
                continue
            for op in (of_all_rows(one, found) for one in run):
                self._check(op, found, known)
                steps.append(op)
        return tuple(steps)

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
        needed = sum(s.needed * s.dtype.size for s in op.opdef.scratch(op))
        free = self.target.capacity[Memory.UB] - self.builder.user_bytes.get(Memory.UB, 0)
        if needed and needed + SCRATCH_BYTES > free:
            raise Unsuitable("the blocks of the scalars do not fit")
        try:
            lower_op(op, known, Builder.for_func(self.func, self.target))
        except KernelError as error:
            raise Unsuitable(error.message) from None
