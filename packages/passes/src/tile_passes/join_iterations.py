"""Joins iterations over both kinds of core, so that the cube core loads its own operand for several
of them at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tile_ir import (
    OPS,
    Alloc,
    Automatic,
    Body,
    Buffer,
    Const,
    Core,
    Effect,
    Expr,
    For,
    Func,
    Let,
    Op,
    Operand,
    Phase,
    Pipe,
    Region,
    Section,
    Stmt,
    Target,
    breaks,
    buffers_of,
    constant_value,
    core_of,
    map_expressions,
    pipe_of,
    replace_buffers,
    rewrite,
    simplify,
    substitute,
    walk,
    walk_ops,
)
from tile_ir.analysis import constant_trips
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.clock.pipe_work import pipe_work
from tile_passes.free_names import FreeNames
from tile_passes.lowering.region_parts import part_along
from tile_passes.memory.overfull import overfull_memory
from tile_passes.passdef import ir_pass
from tile_passes.pipelining.plan_versions import fresh_buffers
from tile_passes.pipelining.software_pipeline import loops_over_cores
from tile_passes.streams.items import steps_of
from tile_passes.streams.workspaces import workspaces

# How many iterations may become one: each has cross-core flags of its own.
COUNTS = (4, 2)
# What may use a tile whose load becomes longer.
USES = {OPS["copy_gm_l1"], OPS["copy_l1_l0a"], OPS["copy_l1_l0b"]}
LOADING = (Core.CUBE, Pipe.MTE2)
# The part of the loading pipe's time that must be left at most, and the part of the busiest pipe's
# time that it must take: vector instructions are modelled as if each waited for the one before.
WORTH, BUSY = 0.95, 0.75


@ir_pass(needs=Phase.LOWERED)
def join_iterations(func: Func, target: Target) -> Func:
    """Join iterations of a loop over both kinds of core where longer rows load faster.

    Needs, gives: LOWERED. Idea: the cube core loads rows of a tensor to l1 while the vector cores
    make the other operand. Rows of several iterations that follow each other in gm are one load,
    and rows are loaded faster the longer they are. The rest of the iterations stands one after the
    other, each with tiles and workspaces of its own, so that products are as before. Limits:
    pipelined loops of constant trip count in automatic order, without `break` or an order of the
    author's; where the loading pipe is among the busiest.
    """
    if not {Automatic.SYNC, Automatic.CROSS} <= func.automatic:
        return func
    for number in range(len(list(loops_over_cores(func.launch.body)))):
        loop = list(loops_over_cores(func.launch.body))[number]
        func = _joined(func, loop, target) or func
    return func


@dataclass(frozen=True, slots=True)
class _Load:
    """A load of rows to l1 that goes on, from iteration to iteration, where it ended."""

    op: Op
    tile: Buffer
    size: int


def _joined(func: Func, loop: For, target: Target) -> Func | None:
    trips = constant_trips(loop)
    start = constant_value(loop.start)
    if trips is None or start != 0 or loop.given or any(breaks(loop.body)):
        return None
    if any(op.opdef.effect is not Effect.DATA for op in walk_ops(loop.body)):
        return None
    found = [steps_of(stmt) for stmt in loop.body]
    if None in found:
        return None
    work = tuple(step.stmt for steps in found for step in steps or ())
    sent = workspaces(func, work)
    stores = (op for op in walk_ops(loop.body) if op.opdef is OPS["copy_ub_gm"])
    handed = {op.region("dst").buffer for op in stores}
    if not sent.keys() & handed or any(sent.values()):
        return None
    fresh = fresh_buffers(func, {loop})[loop]
    own = [*(a.buffer for a in func.launch.allocs if a.buffer in fresh), *sent]
    loads = [load for load in _loads(loop, fresh) if load.op in work]
    if not loads:
        return None
    before = pipe_work(loop.body, target)
    if before.get(LOADING, 0.0) < BUSY * max(before.values()):
        return None
    for count in COUNTS:
        if trips % count or trips < 2 * count:
            continue
        new, written = _written(func, loop, loads, count, own)
        after = pipe_work(written.body, target)[LOADING] / count
        if after <= WORTH * before[LOADING] and overfull_memory(new, target) is None:
            return new
    return None


def _loads(loop: For, fresh: set[Buffer]) -> Iterator[_Load]:
    for op in walk_ops(loop.body):
        if op.opdef is not OPS["copy_gm_l1"]:
            continue
        src, dst = op.region("src"), op.region("dst")
        size = constant_value(dst.buffer.shape[-1])
        if dst.buffer not in fresh or not dst.is_whole() or len(dst.dims) != 2 or size is None:
            continue
        last = src.dims[-1]
        others = [e for s in src.dims[:-1] for e in (s.offset, s.extent)]
        follows = _step(last.offset, loop) == size and constant_value(last.extent) == size
        if not follows or any(_step(e, loop) != 0 for e in others):
            continue
        users = [s for s in walk(loop.body) if dst.buffer in buffers_of(s)]
        kinds = {s.opdef for s in users if isinstance(s, Op)}
        if len(kinds) < 2 or not kinds <= USES:
            continue
        if all(isinstance(s, Op) for s in users) and sum(s is op for s in users) == 1:
            yield _Load(op, dst.buffer, size)


def _step(expr: Expr, loop: For) -> int | None:
    """By how much an expression grows from iteration to iteration."""
    return constant_value(simplify(substitute(expr, {loop.var: loop.var + 1}) - expr))


def _written(
    func: Func, loop: For, loads: Sequence[_Load], count: int, own: Sequence[Buffer]
) -> tuple[Func, For]:
    """The function with so many iterations as one, and the new loop."""
    names = FreeNames.of(func)
    deep = {load.tile: _longer(load, count) for load in loads}
    each = [b for b in own if b not in deep and _is_handed(b, loop.body)]
    allocs = {a.buffer: a for a in func.launch.allocs}
    more: list[Alloc] = []
    params: list[Buffer] = []
    body: list[Stmt] = []
    for number in range(count):
        stmts = _of_part(loop.body, loads, deep, number, count)
        if number:
            new = {b: replace(b, name=names.fresh(b.name)) for b in each}
            more += [replace(allocs[b], buffer=n) for b, n in new.items() if b in allocs]
            params += [n for b, n in new.items() if b not in allocs]
            stmts = _with_names(replace_buffers(stmts, new), names)
        at = simplify(loop.var * count + number)
        body += map_expressions(stmts, lambda e: simplify(substitute(e, {loop.var: at})))  # noqa: B023
    written = replace(loop, stop=Const((constant_trips(loop) or 0) // count), body=tuple(body))
    whole = rewrite(func.launch.body, lambda s: written if s is loop else s)
    longer = tuple(replace(a, buffer=deep.get(a.buffer, a.buffer)) for a in func.launch.allocs)
    made = func.with_body(whole, allocs=(*longer, *more))
    return replace(made, params=(*func.params, *params)), written


def _longer(load: _Load, count: int) -> Buffer:
    rows, columns = load.tile.shape
    return replace(load.tile, shape=(rows, simplify(columns * count)))


def _of_part(
    body: Body, loads: Sequence[_Load], deep: Mapping[Buffer, Buffer], number: int, count: int
) -> Body:
    """The statements of one of the iterations; the first one loads for all."""

    def region(operand: Operand) -> Operand:
        if not isinstance(operand, Region) or operand.buffer not in deep:
            return operand
        size = constant_value(operand.buffer.shape[-1]) or 0
        (*rows, last) = operand.dims
        last = replace(last, offset=simplify(last.offset + number * size))
        return Region(deep[operand.buffer], (*rows, last))

    def one(stmt: Stmt) -> Stmt | Body:
        load = next((x for x in loads if x.op is stmt), None)
        if load is not None:
            src = part_along(load.op.region("src"), -1, Const(0), Const(load.size * count))
            whole = Region.whole(deep[load.tile])
            return replace(load.op, operands=(src, whole)) if number == 0 else ()
        if isinstance(stmt, Section) and not stmt.body:
            return ()
        if isinstance(stmt, Op) and buffers_of(stmt) & deep.keys():
            return replace(stmt, operands=tuple(map(region, stmt.operands)))
        return replace(stmt) if number and isinstance(stmt, Op) else stmt

    return rewrite(body, one)


def _is_handed(buffer: Buffer, body: Body) -> bool:
    """Whether one pipe writes a buffer and another one reads it."""
    pipes = {(core_of(op), pipe_of(op)) for op in walk_ops(body) if buffer in buffers_of(op)}
    return len(pipes) > 1


def _with_names(body: Body, names: FreeNames) -> Body:
    """The statements with names of their own for what they define."""
    new = {
        s.var: replace(s.var, name=names.fresh(s.var.name))
        for s in walk(body)
        if isinstance(s, (Let, For))
    }
    if not new:
        return body
    named = rewrite(body, lambda s: replace(s, var=new[s.var]) if isinstance(s, (Let, For)) else s)
    return map_expressions(named, lambda e: substitute(e, dict(new)))
