"""Flags, barriers and cross-core signals (docs/hardware/flags.md)."""

from __future__ import annotations

from typing import Any

from tile_ir.expr import Expr, constant_value
from tile_ir.machine import PIPES_OF_CORE, Core, Pipe
from tile_ir.nodes import Op
from tile_ir.opdef import AttrDef, Effect, OpDef, Problem
from tile_ir.ops.axes import whole
from tile_ir.ops.rules import on, scalar

PIPES = tuple(p.value for p in Pipe if p is not Pipe.ALL)

# Ordered pairs a cube core can flag (docs/hardware/flags.md#legal-pairs); a vector core has all
# pairs of its own pipes. The same pipe twice is a barrier, not a flag.
CUBE_FLAG_PAIRS = {
    (a, b)
    for a, b in (
        ("m", "mte1"),
        ("mte1", "m"),
        ("m", "mte2"),
        ("mte2", "m"),
        ("m", "fix"),
        ("fix", "m"),
        ("mte1", "mte2"),
        ("mte2", "mte1"),
        ("mte1", "mte3"),
        ("mte3", "mte1"),
        ("mte1", "fix"),
        ("fix", "mte1"),
        ("mte2", "mte3"),
        ("mte3", "mte2"),
        ("s", "mte2"),
        ("mte2", "s"),
        ("s", "mte3"),
        ("mte3", "s"),
        ("fix", "s"),
        ("m", "s"),
        ("mte2", "fix"),
        ("fix", "mte2"),
        ("fix", "mte3"),
    )
}
VECTOR_PIPES = tuple(p.value for p in PIPES_OF_CORE[Core.VECTOR])
VECTOR_FLAG_PAIRS = {(a, b) for a in VECTOR_PIPES for b in VECTOR_PIPES if a != b}

# What the hardware tells apart; documents name the first 8 only (Target.events_per_pair).
EVENT_IDS = 16
CROSS_FLAG_IDS = 16


def _nothing(op: Op, *values: Any) -> None:
    return None


def flag_core(op: Op) -> Core:
    """The core that can raise this flag; EITHER where both can."""
    pair = (op.attr("src_pipe"), op.attr("dst_pipe"))
    cube, vector = pair in CUBE_FLAG_PAIRS, pair in VECTOR_FLAG_PAIRS
    return Core.EITHER if cube and vector else Core.CUBE if cube else Core.VECTOR


def _flag_pair(op: Op) -> Problem | None:
    """A core has a flag between the two pipes; `event_id` is 0 to 15."""
    pair = (op.attr("src_pipe"), op.attr("dst_pipe"))
    if pair[0] == pair[1]:
        return Problem(
            "flag-pair",
            f"{op.opdef.name}: {pair[0]} to {pair[1]} is one pipe",
            "dst_pipe",
            f'order one pipe with T.pipe_barrier("{pair[0]}")',
        )
    if pair not in CUBE_FLAG_PAIRS | VECTOR_FLAG_PAIRS:
        return Problem(
            "flag-pair",
            f"{op.opdef.name}: no core has a flag from {pair[0]} to {pair[1]}",
            "dst_pipe",
        )
    return _identifier(op, "event_id", EVENT_IDS)


def _identifier(op: Op, name: str, count: int) -> Problem | None:
    value = op.operand(name)
    number = constant_value(value) if isinstance(value, Expr) else None
    if isinstance(value, Expr) and not value.dtype.is_integer:
        return Problem("operand-kind", f"{op.opdef.name}: {name} is {value.dtype}", name)
    if number is not None and not 0 <= number < count:
        return Problem(
            "flag-id",
            f"{op.opdef.name}: {name} is {number}, expected 0 to {count - 1}",
            name,
        )
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
        placement=lambda op: (flag_core(op), Pipe.S),
        axes=whole,
        meaning=_nothing,
        effect=effect,
        shape_rule=_flag_pair,
    )


PIPE_CORES = {
    "v": Core.VECTOR,
    "m": Core.CUBE,
    "mte1": Core.CUBE,
    "fix": Core.CUBE,
}


def _barrier_core(op: Op) -> tuple[Core, Pipe]:
    return PIPE_CORES.get(op.attr("pipe"), Core.EITHER), Pipe(op.attr("pipe"))


def _cross_flag(op: Op) -> Problem | None:
    """`flag` is 0 to 15."""
    return _identifier(op, "flag", CROSS_FLAG_IDS)


def _set_cross_flag(op: Op) -> Problem | None:
    """`mode` is 0, 1 or 2; `flag` is 0 to 15."""
    if op.attr("mode") not in (0, 1, 2):
        return Problem(
            "attribute-value",
            f"set_cross_flag: mode is {op.attr('mode')}, expected 0, 1 or 2",
            "mode",
            "2 signals between a cube core and its vector cores",
        )
    return _cross_flag(op)


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
        meaning=_nothing,
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
        meaning=_nothing,
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
        placement=lambda op: (PIPE_CORES.get(op.attr("pipe"), Core.EITHER), Pipe.S),
        axes=whole,
        meaning=_nothing,
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
        meaning=_nothing,
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
        meaning=_nothing,
        effect=Effect.SYNC_ALL,
    ),
)
