"""Flags and modes of the chip as scripts for the next one, A5, write them: events as one word
(`"MTE2_MTE1"`), pipes with their prefix, and modes that hold from one call to another."""

from __future__ import annotations

from typing import Any

from tile_frontend._arguments.build_op import build_op
from tile_frontend._arguments.grid_barrier import check_all_blocks_run
from tile_frontend._tracing.dtype_names import element_type
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import known_integer, unexpected
from tile_frontend._tracing.trace import Trace, current
from tile_frontend._tracing.values import Pending, Tile
from tile_ir import INT32, OPS, Const, Core, Expr, Load, Memory, Store

_EVENT = 'two pipes, as "MTE2_MTE1"'
_NEXT = "needs A5"
BOTH = frozenset({Core.CUBE, Core.VECTOR})


def ascend_set_flag(hard_event: Any, event_id: Any) -> Pending:
    """`T.set_flag` of the two pipes of an event."""
    return build_op(OPS["set_flag"], {**_event(hard_event), "event_id": event_id}, "set_flag")


def ascend_wait_flag(hard_event: Any, event_id: Any) -> Pending:
    """`T.wait_flag` of the two pipes of an event."""
    return build_op(OPS["wait_flag"], {**_event(hard_event), "event_id": event_id}, "wait_flag")


def ascend_pipe_barrier(pipe_t: Any) -> Pending:
    """`T.pipe_barrier`, or `T.barrier_all` for "PIPE_ALL"."""
    return build_op(OPS["pipe_barrier"], {"pipe": _pipe("pipe_t", pipe_t)}, "pipe_barrier")


def ascend_cross_core_set_flag(mode_id: Any, pipe: Any, flag_id: Any) -> Pending:
    """`T.set_cross_flag`."""
    mode, name = _mode(mode_id, flag_id), _pipe("pipe", pipe)
    parts = {"pipe": name, "flag": flag_id, "mode": mode}
    return build_op(OPS["set_cross_flag"], parts, "set_cross_flag")


def ascend_cross_core_wait_flag(mode_id: Any, pipe: Any, flag_id: Any) -> Pending:
    """`T.wait_cross_flag`."""
    _mode(mode_id, flag_id)
    parts = {"flag": flag_id, "pipe": _pipe("pipe", pipe)}
    return build_op(OPS["wait_cross_flag"], parts, "wait_cross_flag")


def ascend_sync_inter_arrive(pipe: Any, flag_id: Any) -> Pending:
    """Signal all cores of a kind once the statements before are complete."""
    return ascend_cross_core_set_flag(0, pipe, flag_id)


def ascend_sync_inter_wait(pipe: Any, flag_id: Any) -> Pending:
    """Wait for the signals of all cores of a kind."""
    return ascend_cross_core_wait_flag(0, pipe, flag_id)


def set_hf32_mode(mode: Any = None) -> None:
    """The number of bits of float32 that products use: here all of them, whatever the argument."""
    if mode not in (None, "nearest_zero", "nearest_even"):
        raise unexpected("mode", mode, 'None, "nearest_zero" or "nearest_even"')


def set_atomic(op: Any = "add", dtype: Any = "float32") -> None:
    """From here on copies to gm add to it, until `T.set_atomic_none()`."""
    element_type(dtype)
    if op != "add":
        hint = "write T.atomic_add, or reduce in one block"
        raise Fault("gpu-name", f"set_atomic: {op!r}: only sums are atomic here", hint, "op")
    _stores_add("T.set_atomic", True)


def set_atomic_none() -> None:
    """From here on copies to gm overwrite it."""
    _stores_add("T.set_atomic_none", False)


def _stores_add(what: str, adds: bool) -> None:
    """Set whether later copies to gm add. In a branch a variable holds the mode, and every later
    copy tests it. Raises Fault in a loop, whose next iteration would change the mode of copies
    already traced, and in a branch of one core."""
    trace = current(what)
    if trace.adding_when is None and trace.always_runs:
        cores = BOTH if trace.core is Core.EITHER else frozenset({trace.core})
        trace.adding = trace.adding | cores if adds else trace.adding - cores
        return
    mixed = trace.adding not in (frozenset(), BOTH)
    if trace.core is not Core.EITHER or mixed or (trace.adding_when is None and trace.loop_depth):
        message = f"{what} stands in a loop or in a branch of one core, where it may not be known "
        message += "what copies do"
        raise Fault("store-mode", message, "write T.atomic_add for the copies that add")
    if trace.adding_when is None:
        before = int(bool(trace.adding))
        trace.adding, trace.adding_when = frozenset(), _variable(trace, before)
    assert isinstance(trace.adding_when, Load), "a variable"
    trace.emit(Store(trace.adding_when.buffer, (), Const(int(adds)), trace.here))


def _variable(trace: Trace, first: int) -> Expr:
    """A scalar variable with this value before all that the kernel does."""
    tile = Tile(Memory.VAR, INT32, (), trace.here)
    trace.allocate(tile)
    trace.name_tile(tile, "adding", trace.ANONYMOUS)
    trace.prologue.append(Store(tile.buffer, (), Const(first), trace.here))
    return Load(tile.buffer, ())


def _event(event: Any) -> dict[str, str]:
    if not isinstance(event, str):
        raise unexpected("hard_event", event, _EVENT)
    first, _, second = event.upper().partition("_")
    return {"src_pipe": first.lower(), "dst_pipe": second.lower()}


def _pipe(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise unexpected(name, value, 'a pipe, as "PIPE_MTE2"')
    return value.upper().removeprefix("PIPE_").lower()


def _mode(mode: Any, flag: Any) -> int:
    """The mode of a signal between cores, if the chip has it."""
    number, flag_number = known_integer(mode), known_integer(flag)
    if number == 4:
        message = f"mode 4, a signal to or from one vector core alone, {_NEXT}"
        hint = "leave the flags out: order between cores is the compiler's"
        raise Fault("next-chip", message, hint, "mode_id")
    if flag_number is not None and flag_number > 15:
        message = f"flag {flag_number} {_NEXT}: this chip has 16"
        raise Fault("next-chip", message, "number flags from 0 to 15", "flag_id")
    if number is None:
        raise unexpected("mode_id", mode, "0, 1 or 2")
    if number == 0:
        check_all_blocks_run("a signal of mode 0")
    return number


FUNCTIONS = {
    f.__name__: f
    for f in (
        ascend_set_flag, ascend_wait_flag, ascend_pipe_barrier, ascend_cross_core_set_flag,
        ascend_cross_core_wait_flag, ascend_sync_inter_arrive, ascend_sync_inter_wait,
        set_hf32_mode, set_atomic, set_atomic_none,
    )
}  # fmt: skip
