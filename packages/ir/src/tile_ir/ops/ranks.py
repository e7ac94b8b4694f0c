"""Order devices and blocks: words that one sets and another waits for, and operations that complete
writes to other ranks (docs/language/rules.md#symmetric-tensors)."""

from __future__ import annotations

from dataclasses import replace

from tile_ir.dtypes import INT32
from tile_ir.expr import Expr, constant_value
from tile_ir.layout.geometry import element_count, is_contiguous
from tile_ir.machine import Core, Pipe
from tile_ir.nodes import Op
from tile_ir.opdef import Among, ArgumentDef, AttrDef, Effect, OpDef, Problem
from tile_ir.ops.axes import whole
from tile_ir.ops.rules import GM, UB, destination, on, scalar, source, updated
from tile_ir.ranks import inside_instance, is_far, is_symmetric
from tile_ir.regions import Region
from tile_ir.scalars.affine import simplify
from tile_ir.target import Target

# How a wait compares its word, with the sign that messages show.
COMPARISONS_OF_WAITS = {"eq": "==", "ne": "!=", "ge": ">=", "gt": ">", "le": "<=", "lt": "<"}

_NO_WORD = "take a word of a parameter that is annotated with T.Signals(n)"


def _word(op: Op, target: Target) -> Problem | None:
    """`word` is one int32; `value` is an integer. An addition to a word of this device alone needs
    a line of ub."""
    word, value = op.region("word"), op.operand("value")
    if not is_symmetric(word.buffer) and _adds(op) and op.operand("through") is None:
        hint = "annotate the parameter with T.Signals(n), or add a tile with T.atomic_add"
        return op.problem("word", "not-symmetric", "is no symmetric tensor", hint)
    if constant_value(element_count(word)) != 1:
        return op.problem("word", "shape-mismatch", "is more than one word", "name one element")
    if isinstance(value, Expr) and not value.dtype.is_integer:
        hint = "pass an integer"
        return Problem("operand-kind", f"{op.opdef.called}: value is {value.dtype}", "value", hint)
    return None


def _adds(op: Op) -> bool:
    return op.opdef.effect is Effect.SIGNAL and op.attr("op") == "add"


def _in_one_piece(op: Op, target: Target) -> Problem | None:
    """Both sides of an engine copy are contiguous, and one is on the own rank."""
    src, dst = (op.region(name) for name in ("src", "dst"))
    if src.dtype != dst.dtype:
        hint = "copy through a tile, which converts"
        return op.problem("dst", "dtype-mismatch", f"is {dst.dtype}, src {src.dtype}", hint)
    for name, region in (("src", src), ("dst", dst)):
        if not is_contiguous(_here(region)):
            hint = "copy row by row, or with T.put and T.get, which go through a tile"
            return op.problem(name, "strided-operand", "is not contiguous", hint)
    counts = [simplify(element_count(_here(region))) for region in (src, dst)]
    if counts[0] != counts[1]:
        hint = "slice both to one size"
        return op.problem("dst", "shape-mismatch", "has another number of elements than src", hint)
    if is_far(src) and is_far(dst):
        hint = "copy through a tensor of your own"
        return Problem(
            "both-remote", f"{op.opdef.called}: both sides are on other ranks", None, hint
        )
    return None


def _here(region: Region) -> Region:
    return inside_instance(region) if is_symmetric(region.buffer) else region


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
        doc="set a word of a rank, or add to it, after everything that this core has completed",
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
        doc="hold the core until a word of its rank compares with a value",
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
    OpDef(
        name="sdma_copy",
        family="ranks",
        doc="let the engine copy between this rank and another one, while the core goes on",
        ascend_c="aclshmemx_sdma_put_nbi, aclshmemx_sdma_get_nbi",
        namespace=None,
        spelling="put_async",
        # Requests go through 64 bytes of ub.
        operands=(source("src", GM), destination("dst", GM), updated("through", UB, INT32)),
        # Between barriers of all pipes.
        placement=on(Core.VECTOR, Pipe.MTE3),
        axes=whole,
        effect=Effect.ENGINE,
        meaning=lambda op, src, dst, through: src.reshape(dst.shape),
        shape_rule=_in_one_piece,
    ),
    OpDef(
        name="sdma_wait",
        family="ranks",
        doc="wait until the engine has done all that this core has given to it",
        ascend_c="aclshmemx_sdma_quiet",
        namespace=None,
        spelling="wait",
        operands=(updated("through", UB, INT32),),
        placement=on(Core.VECTOR, Pipe.MTE3),
        axes=whole,
        effect=Effect.AWAIT_ENGINE,
    ),
    _order(
        "quiet",
        Effect.BARRIER,
        "wait until all writes of this core to other ranks are complete",
        "aclshmem_quiet",
        Among.RANKS,
    ),
    _order(
        "fence",
        Effect.BARRIER,
        "order writes of this core to a rank before its later writes there",
        "aclshmem_fence",
    ),
    _order(
        "barrier",
        Effect.SYNC_ALL,
        "complete the writes of all cores to other ranks, and wait until all cores of all ranks "
        "are here",
        "aclshmem_barrier_all",
        Among.RANKS,
    ),
)
