"""Flags, barriers and cross-core signals (docs/hardware/index.md#flags)."""

from __future__ import annotations

from functools import lru_cache

from tile_ir.expr import Expr, constant_value
from tile_ir.machine import CORE_OF_PIPE, Core, Pipe
from tile_ir.nodes import Op
from tile_ir.opdef import Among, AttrDef, Effect, OpDef, Problem
from tile_ir.ops.axes import whole
from tile_ir.ops.rules import on, scalar
from tile_ir.target import Target

PIPES = tuple(p.value for p in Pipe if p is not Pipe.ALL)
_PIPE_ATTRS = ("src_pipe", "dst_pipe", "pipe")


@lru_cache(maxsize=16384)
def pipes_named(op: Op) -> tuple[Pipe, ...]:
    """The pipes that a flag, a barrier or a signal names, but for all of them."""
    named = (v for a, v in zip(op.opdef.attrs, op.attrs, strict=True) if a.name in _PIPE_ATTRS)
    return tuple(pipe for pipe in map(Pipe, filter(None, named)) if pipe is not Pipe.ALL)


def _core_of_pipes(op: Op) -> Core:
    """The core of the named pipes; EITHER if both kinds have them."""
    found = (CORE_OF_PIPE[pipe] for pipe in pipes_named(op) if pipe in CORE_OF_PIPE)
    return next(found, Core.EITHER)


@lru_cache(maxsize=16384)
def cores_with(op: Op, target: Target) -> frozenset[Core]:
    """The kinds of core of a chip that have the flag or the pipe an operation needs by name. A wait
    for other cores does not depend on the pipe."""
    match op.opdef.effect:
        case Effect.SET_FLAG | Effect.WAIT_FLAG:
            pair = pipes_named(op)
            return frozenset(core for core, pairs in target.flag_pairs.items() if pair in pairs)
        case Effect.BARRIER | Effect.SET_CROSS_FLAG:
            named = set(pipes_named(op))
            return frozenset(core for core, pipes in target.pipes.items() if named <= set(pipes))
    return frozenset(target.pipes)


def _flag_pair(op: Op, target: Target) -> Problem | None:
    """A core has a flag between the two pipes; `event_id` is 0 to 15."""
    pair = (op.attr("src_pipe"), op.attr("dst_pipe"))
    if pair[0] == pair[1]:
        message = f"{op.opdef.called}: {pair[0]} to {pair[1]} is one pipe"
        hint = f'order one pipe with T.pipe_barrier("{pair[0]}")'
        return Problem("flag-pair", message, "dst_pipe", hint)
    if not cores_with(op, target):
        message = f"{op.opdef.called}: no core has a flag from {pair[0]} to {pair[1]}"
        hint = 'order all pipes with T.pipe_barrier("ALL")'
        return Problem("flag-pair", message, "dst_pipe", hint)
    return _identifier(op, "event_id", target.encoded_events_per_pair)


def _identifier(op: Op, name: str, count: int) -> Problem | None:
    value = op.operand(name)
    number = constant_value(value) if isinstance(value, Expr) else None
    if isinstance(value, Expr) and not value.dtype.is_integer:
        hint = "pass an integer"
        return Problem("operand-kind", f"{op.opdef.called}: {name} is {value.dtype}", name, hint)
    if number is not None and not 0 <= number < count:
        message = f"{op.opdef.called}: {name} is {number}, expected 0 to {count - 1}"
        return Problem("flag-id", message, name)
    return None


def _flag(name: str, effect: Effect, doc: str, api: str) -> OpDef:
    return OpDef(
        name=name,
        family="sync",
        doc=doc,
        ascend_c=api,
        namespace="",
        operands=(scalar("event_id"),),
        attrs=(AttrDef("src_pipe", str, choices=PIPES), AttrDef("dst_pipe", str, choices=PIPES)),
        parameters=("src_pipe", "dst_pipe", "event_id"),
        placement=lambda op: (_core_of_pipes(op), Pipe.S),
        axes=whole,
        effect=effect,
        shape_rule=_flag_pair,
    )


def _barrier_core(op: Op) -> tuple[Core, Pipe]:
    return _core_of_pipes(op), Pipe(op.attr("pipe"))


def _cross_flag(op: Op, target: Target) -> Problem | None:
    """`flag` is 0 to 15."""
    return _identifier(op, "flag", target.cross_flags)


def _set_cross_flag(op: Op, target: Target) -> Problem | None:
    """`mode` is 0, 1 or 2; `flag` is 0 to 15."""
    if op.attr("mode") not in (0, 1, 2):
        message = f"set_cross_flag: mode is {op.attr('mode')}, expected 0, 1 or 2"
        hint = "2 signals between a cube core and its vector cores"
        return Problem("attribute-value", message, "mode", hint)
    return _cross_flag(op, target)


OPS = (
    _flag(
        "set_flag",
        Effect.SET_FLAG,
        "raise a flag once earlier work of src_pipe is complete",
        "SetFlag",
    ),
    _flag(
        "wait_flag",
        Effect.WAIT_FLAG,
        "hold dst_pipe until the flag is raised, then lower it",
        "WaitFlag",
    ),
    OpDef(
        name="pipe_barrier",
        family="sync",
        doc="order one pipe: later work waits for earlier work",
        ascend_c="PipeBarrier",
        namespace="",
        operands=(),
        attrs=(AttrDef("pipe", str, choices=(*(p for p in PIPES if p != "s"), "all")),),
        placement=_barrier_core,
        axes=whole,
        effect=Effect.BARRIER,
    ),
    OpDef(
        name="barrier_all",
        family="sync",
        doc="wait for every pipe of the core",
        ascend_c="PipeBarrier<PIPE_ALL>",
        namespace="",
        operands=(),
        placement=on(Core.EITHER, Pipe.ALL),
        axes=whole,
        effect=Effect.BARRIER,
    ),
    OpDef(
        name="set_cross_flag",
        family="sync",
        doc="signal other cores once earlier work of pipe is complete",
        ascend_c="CrossCoreSetFlag",
        namespace="",
        operands=(scalar("flag"),),
        attrs=(
            AttrDef("pipe", str, choices=tuple(p for p in PIPES if p != "s")),
            AttrDef("mode", int, 2),
        ),
        parameters=("pipe", "flag", "mode"),
        placement=lambda op: (_core_of_pipes(op), Pipe.S),
        axes=whole,
        effect=Effect.SET_CROSS_FLAG,
        shape_rule=_set_cross_flag,
    ),
    OpDef(
        name="wait_cross_flag",
        family="sync",
        doc="wait for a signal of another core and consume it",
        ascend_c="CrossCoreWaitFlag",
        namespace="",
        operands=(scalar("flag"),),
        attrs=(AttrDef("pipe", str, "", choices=("", *PIPES)),),
        placement=on(Core.EITHER, Pipe.S),
        axes=whole,
        effect=Effect.WAIT_CROSS_FLAG,
        shape_rule=_cross_flag,
    ),
    OpDef(
        name="sync_all",
        family="sync",
        doc="wait until every core of the launch is here",
        ascend_c="SyncAll",
        namespace="",
        operands=(),
        placement=on(Core.EITHER, Pipe.ALL),
        axes=whole,
        effect=Effect.SYNC_ALL,
    ),
    OpDef(
        name="sync_block",
        family="sync",
        doc="wait until every core of the block is here, its earlier work complete; without "
        "`cubes` every vector core",
        ascend_c="CrossCoreSetFlag, CrossCoreWaitFlag",
        namespace=None,
        operands=(),
        attrs=(AttrDef("cubes", bool, True),),
        placement=lambda op: (Core.EITHER if op.attr("cubes") else Core.VECTOR, Pipe.ALL),
        axes=whole,
        effect=Effect.SYNC_ALL,
        among=Among.BLOCK,
    ),
)
