"""Order between devices and between blocks: words that one sets and another waits for, and what
completes the writes to other ranks (docs/rules/ranks.md)."""

from __future__ import annotations

from dataclasses import replace

from tile_ir.dtypes import INT32
from tile_ir.expr import Expr, constant_value
from tile_ir.layout.geometry import element_count
from tile_ir.machine import Core, Pipe
from tile_ir.nodes import Op
from tile_ir.opdef import Among, ArgumentDef, AttrDef, Effect, OpDef, Problem
from tile_ir.ops.axes import whole
from tile_ir.ops.rules import GM, UB, on, scalar, source, updated
from tile_ir.ranks import is_symmetric
from tile_ir.target import Target

# How a wait compares its word, with the sign that messages show.
COMPARISONS_OF_WAITS = {"eq": "==", "ne": "!=", "ge": ">=", "gt": ">", "le": "<=", "lt": "<"}

_NO_WORD = "take a word of a parameter that is annotated with T.Signals(n)"


def _word(op: Op, target: Target) -> Problem | None:
    """`word` is one int32; `value` is an integer. What adds to it does so at another rank."""
    word, value = op.region("word"), op.operand("value")
    if not is_symmetric(word.buffer) and _adds(op):
        hint = "annotate the parameter with T.Signals(n), or add a tile with T.atomic_add"
        return op.problem("word", "not-symmetric", "is no symmetric tensor", hint)
    if constant_value(element_count(word)) != 1:
        return op.problem("word", "shape-mismatch", "is more than one word", "name one element")
    if isinstance(value, Expr) and not value.dtype.is_integer:
        return Problem("operand-kind", f"{op.opdef.called}: value is {value.dtype}", "value")
    return None


def _adds(op: Op) -> bool:
    return op.opdef.effect is Effect.SIGNAL and op.attr("op") == "add"


def _order(name: str, effect: Effect, doc: str, api: str, among: Among = Among.LAUNCH) -> OpDef:
    return OpDef(
        name=name,
        family="ranks",
        doc=doc,
        ascend_c=api,
        namespace="",
        operands=(),
        # What the cube core has for other ranks goes through the vector cores.
        placement=on(Core.EITHER if effect is Effect.SYNC_ALL else Core.VECTOR, Pipe.ALL),
        axes=whole,
        effect=effect,
        among=among,
    )


OPS = (
    OpDef(
        name="signal",
        family="ranks",
        doc="set a word of a rank, or add to it, after what this core has completed",
        ascend_c="aclshmemx_signal_op",
        namespace="",
        # What is added goes through 32 bytes of ub.
        operands=(
            replace(updated("word", GM, INT32), hint=_NO_WORD),
            scalar("value"),
            replace(updated("through", UB, INT32), optional=True),
        ),
        attrs=(AttrDef("op", str, "set", choices=("set", "add")),),
        parameters=("word", "value", ArgumentDef("pe", default=None), "op"),
        placement=on(Core.VECTOR, Pipe.S),
        axes=whole,
        effect=Effect.SIGNAL,
        atomic=True,
        shape_rule=_word,
    ),
    OpDef(
        name="wait_signal",
        family="ranks",
        doc="hold the core until a word of its rank compares with a value as asked",
        ascend_c="aclshmem_signal_wait_until",
        namespace=None,
        operands=(replace(source("word", GM, INT32), hint=_NO_WORD), scalar("value")),
        attrs=(AttrDef("until", str, "ge", choices=tuple(COMPARISONS_OF_WAITS)),),
        placement=on(Core.EITHER, Pipe.S),
        axes=whole,
        effect=Effect.AWAIT_SIGNAL,
        atomic=True,
        shape_rule=_word,
    ),
    _order(
        "quiet",
        Effect.BARRIER,
        "wait until all that this core has written to other ranks is there",
        "aclshmem_quiet",
        Among.RANKS,
    ),
    _order(
        "fence",
        Effect.BARRIER,
        "order what this core writes to a rank before what it writes there later",
        "aclshmem_fence",
    ),
    _order(
        "barrier",
        Effect.SYNC_ALL,
        "complete what all cores have written to other ranks, and wait until all cores of all "
        "ranks are here",
        "aclshmem_barrier_all",
        Among.RANKS,
    ),
)
