"""Check every invariant of the IR, in one place. It is cheap.

Always:
  names     buffers and scalars are defined once, before use, in an enclosing block.
  tensors   parameters are in gm; allocations are not, and have a static shape.
  types     elements that share bytes lie where units take them, whole bytes to a row, and are no
            scalars.
  operands  each operation satisfies its record (memories, types, shapes, attributes).
  aliases   name the first bytes of a ub buffer that is no alias itself, and no more than it has;
            in l1 and gm all bytes, in the same places.
  accesses  element loads and stores have one index per dimension. Constants are in range.
            Regions have one slice per dimension, and constant slices of on-chip buffers fit.
  tasks     run after tasks that stand before them.
  loops     `break` stands in a loop; only tensors' shapes name symbolic dimensions.
  sections  do not nest; an operation in a section can run on that core.

By phase (table in `phases`):
  open memories, compiler-owned lanes, composite operations, loop kinds, sections, addresses,
  contiguous vector operands with 32-byte aligned starts.

Not checked here: overlap of live buffers (`check_memory`), order between pipes (`check_sync`),
and all that depends on run-time values (the simulator).
"""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir.chips import DEFAULT_TARGET
from tile_ir.diagnostics.errors import Diagnostic, IRError
from tile_ir.expr import Var
from tile_ir.layout.row_form import machine_form
from tile_ir.machine import Core
from tile_ir.nodes import (
    Body,
    Break,
    For,
    Func,
    If,
    Let,
    LoopKind,
    Op,
    Phase,
    Section,
    Stmt,
    Store,
    While,
)
from tile_ir.opdef import Composite, Effect, check_op
from tile_ir.ranks import NUMBERS_OF_LAUNCH
from tile_ir.target import Target
from tile_ir.verification.declarations import Demands, are_right, of_allocs, of_tensors
from tile_ir.verification.needs import needs_of, place_for
from tile_ir.verification.own_parts import Scope, in_expression, in_section, own_problems
from tile_ir.verification.phases import PHASES, PhaseRule
from tile_ir.verification.task_order import of_tasks


def verify(func: Func, target: Target = DEFAULT_TARGET) -> None:
    """Raise IRError at the first broken invariant."""
    for problem in problems(func, target):
        raise IRError(
            problem.slug, problem.message, problem.loc, problem.hint, sources=func.sources
        )


def problems(func: Func, target: Target = DEFAULT_TARGET) -> Iterator[Diagnostic]:
    """Every broken invariant, in textual order."""
    yield from _Verifier(func, target).run()


class _Verifier:
    def __init__(self, func: Func, target: Target) -> None:
        self.func, self.target = func, target
        self.rule: PhaseRule = PHASES[func.phase]
        self.lowered = func.phase >= Phase.LOWERED

    def run(self) -> Iterator[Diagnostic]:
        func, launch = self.func, self.func.launch
        demands = Demands(self.target, self.rule.open_memories, self.rule.addresses_required)
        names: set[str] = set()
        buffers = are_right(func.tensors, launch.allocs, demands)
        if buffers is None:
            yield from of_tensors(func.tensors, names)
        scalars = {p.name for p in func.params if isinstance(p, Var)}
        scalars |= {s.name for s in (*func.symbols, *NUMBERS_OF_LAUNCH)}
        around = Scope(frozenset(func.tensors), frozenset(scalars))
        yield from in_expression(launch.blocks, around, launch.loc)
        scalars |= {launch.block.name, launch.lane.name}
        if launch.threads == 2 and not self.rule.compiler_lanes:
            message = "the split over two vector cores is still open"
            yield Diagnostic("phase-lanes", message, launch.loc)
        if buffers is None:
            yield from of_allocs(launch.allocs, func.tensors, names, demands)
            buffers = frozenset(func.tensors) | {a.buffer for a in launch.allocs}
        yield from of_tasks(launch.body)
        yield from self.body(launch.body, Scope(buffers, frozenset(scalars)))

    def body(self, body: Body, scope: Scope) -> Iterator[Diagnostic]:
        needs = needs_of(body, place_for(self.target, self.lowered, scope.core))
        if needs is not None and needs.met_in(scope, self.rule):
            return
        for stmt in body:
            yield from own_problems(stmt, scope)
            if not isinstance(stmt, (Let, Store)):
                yield from self.stmt(stmt, scope)
            elif isinstance(stmt, Let):
                if stmt.var.name in scope.scalars:
                    message = f"scalar `{stmt.var.name}` is defined twice"
                    yield Diagnostic("name-twice", message, stmt.loc)
                scope = scope.defining(stmt.var.name)

    def stmt(self, stmt: Stmt, scope: Scope) -> Iterator[Diagnostic]:
        match stmt:
            case Op():
                yield from self.op(stmt, scope)
            case For(var=var, kind=kind, body=body):
                yield from self.loop_kind(kind, stmt)
                if var.name in scope.scalars:
                    message = f"scalar `{var.name}` is defined twice"
                    yield Diagnostic("name-twice", message, stmt.loc)
                parallel = scope.parallel or kind is LoopKind.PARALLEL
                inside = scope.defining(var.name)._replace(in_loop=True, parallel=parallel)
                yield from self.body(body, inside)
            case While(body=body):
                yield from self.body(body, scope._replace(in_loop=True))
            case If(then=then, orelse=orelse):
                yield from self.body(then, scope)
                yield from self.body(orelse, scope)
            case Section(core=core, body=body):
                if scope.core is not None:
                    yield Diagnostic("section-nested", "a scope stands inside a scope", stmt.loc)
                if core is Core.EITHER:
                    yield Diagnostic("section-core", "a section names one core", stmt.loc)
                yield from self.body(body, scope._replace(core=core))
            case Break():
                if not scope.in_loop:
                    yield Diagnostic("break-outside", "break stands outside a loop", stmt.loc)

    def loop_kind(self, kind: LoopKind, stmt: For) -> Iterator[Diagnostic]:
        if kind not in self.rule.loop_kinds:
            yield Diagnostic("phase-loop", f"a {kind.value} loop is still here", stmt.loc)

    def op(self, op: Op, scope: Scope) -> Iterator[Diagnostic]:
        problem = check_op(op, self.target)
        if problem:
            yield Diagnostic(problem.slug, problem.message, op.loc, problem.hint)
            return
        if op.opdef.composite is Composite.YES and not self.rule.composites:
            yield Diagnostic("phase-composite", f"{op.opdef.name} is not lowered", op.loc)
        if scope.core is not None:
            yield from in_section(op, scope.core, self.target)
        elif not self.rule.unsectioned:
            yield Diagnostic("phase-section", f"{op.opdef.name} stands in no section", op.loc)
        if self.lowered and op.opdef.effect is Effect.DATA:
            yield from machine_form(op, self.target)
