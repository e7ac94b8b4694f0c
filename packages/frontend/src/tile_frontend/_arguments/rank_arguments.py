"""Build operations between ranks: copies with a rank on one side, signals and waits.

Rules: docs/language/rules.md#symmetric-tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_frontend._arguments.build_op import (
    build_op,
    element_region,
    side_of,
    whole_region,
)
from tile_frontend._arguments.copy_arguments import copy_regions
from tile_frontend._arguments.element_nests import new_tile
from tile_frontend._arguments.rank_sides import sides_with_ranks
from tile_frontend._arguments.runs_of_elements import run_of
from tile_frontend._tracing.addresses import at_address
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import Scalar, integer_expr, unexpected
from tile_frontend._tracing.symmetric import on_other_rank, rank_number
from tile_frontend._tracing.trace import current
from tile_frontend._tracing.values import Pending
from tile_ir import INT32, OPS, Const, Core, Diagnostic, Load, Region
from tile_ir.ops.ranks import COMPARISONS_OF_WAITS
from tile_ir.ranks import is_symmetric


def signal(word: Any, value: Any, pe: Any = None, op: Any = "set") -> Pending:
    """Set a word of the rank `pe`, or of this one, to `value`, or add to it (`op="add"`). A rank
    that waits for the word then sees everything that this core completed before the signal.
    `T.quiet()` completes its puts to other ranks."""
    region, trace = _word("signal", word, pe), current("T.signal")
    if trace.header is not None and trace.header.threads is not None:
        # The text is that of a whole block: so is the signal, after what all its cores have done.
        block = {"cubes": trace.core is Core.EITHER}
        trace.emit_pending(build_op(OPS["sync_block"], block, "signal"), step=True)
    given = {"word": region, "value": value, "op": op}
    if op == "add" and is_symmetric(region.buffer):
        given["through"] = new_tile(INT32, (Const(8),), "added").whole
    return build_op(OPS["signal"], given, "signal")


def put_signal(
    src: Any, dst: Any, word: Any, value: Any, pe: Any, op: Any = "set", n: Any = None
) -> Pending:
    """Put `src` to `dst` of the rank `pe`, complete it, and signal a word there: `T.put`, `T.quiet`
    and `T.signal`."""
    trace = current("T.put_signal")
    trace.emit_pending(put(src, dst, pe, n), step=True)
    trace.emit_pending(build_op(OPS["quiet"], {}, "put_signal"), step=True)
    return signal(word, value, pe, op)


def put(src: Any, dst: Any, pe: Any, n: Any = None) -> Pending:
    """Copy `src` to `dst` of the rank `pe`, the first `n` elements or all; complete at the next
    `T.quiet`."""
    return _moved("put", *sides_with_ranks("put", src, dst, None, pe), n)


def get(src: Any, dst: Any, pe: Any, n: Any = None) -> Pending:
    """Copy `src` of the rank `pe` to `dst`, the first `n` elements or all."""
    return _moved("get", *sides_with_ranks("get", src, dst, pe, None), n)


def moved_here(name: str, src: Any, dst: Any, n: Any) -> Pending:
    """The copy of the first `n` elements, or all, with both sides on this rank."""
    return _moved(name, at_address(src), at_address(dst), n)


def _moved(name: str, src: Any, dst: Any, n: Any) -> Pending:
    a, b = sides_of_move(name, src, dst, n)
    return build_op(OPS["copy"], {"src": a, "dst": b}, name)


def sides_of_move(name: str, src: Any, dst: Any, n: Any) -> tuple[Region, Region]:
    """Both sides of a copy, cut to so many elements."""
    if n is None:
        a, b = copy_regions(src, dst, False, name)
        return a, b
    count = integer_expr(f"{name}: n", n)
    return (
        run_of(name, side_of(src, "src", name), count),
        run_of(name, side_of(dst, "dst", name), count),
    )


def wait_function(until: str, sign: str) -> Callable[..., Pending]:
    """The function of the language that waits for a comparison."""
    name = f"wait_{until}"

    def wait(
        word: Any, value: Any, peer: Any = -1, scope: Any = "sys", semantics: Any = "acquire"
    ) -> Pending:
        if str(semantics) != "acquire":
            message = (
                f"{name}: semantics is {semantics!r}: a wait that learns nothing orders nothing"
            )
            hint = "leave it out: what the signal carries is there after the wait"
            raise Fault("gpu-name", message, hint, "semantics")
        if peer != -1:
            _warn_of_polls(name)
        region = _word(name, word, None if peer == -1 else peer)
        return build_op(OPS["wait_signal"], {"word": region, "value": value, "until": until}, name)

    wait.__name__ = wait.__qualname__ = name
    wait.__doc__ = f"""Hold the core until the word of this rank is {sign} `value`. The earlier work
    of the cores that set it is visible then. `peer` polls the word of another rank, over the
    link. `scope` has no effect."""
    return wait


def _warn_of_polls(name: str) -> None:
    trace = current(f"T.{name}")
    message = f"{name}: with `peer` every look at the word goes over the link and back"
    hint = "let that rank signal a word of this one: T.signal(word, v, pe)"
    trace.remark(Diagnostic("poll-of-peer", message, trace.here, hint, severity="warning"))


WAITS = {f"wait_{until}": wait_function(until, s) for until, s in COMPARISONS_OF_WAITS.items()}


def _word(name: str, word: Any, pe: Any) -> Region:
    """The word that is meant, in the instance of a rank."""
    word = at_address(word)
    if pe is not None:
        word = on_other_rank(f"{name}: word", word, rank_number(name, pe, "pe"))
    if isinstance(word, Scalar) and isinstance(word.expr, Load) and word.expr.indices:
        return _of_int32(name, element_region(word.expr))
    region = whole_region(word)
    if region is None:
        raise unexpected(f"{name}: word", word, "a word of T.Signals", argument="word")
    return _of_int32(name, region)


def _of_int32(name: str, word: Region) -> Region:
    if word.dtype is not INT32:
        message = f"{name}: `{word.buffer.name}` is of {word.dtype}, and words are int32"
        hint = "annotate it with T.Signals(n) and pass world.signals(n): a line for each word"
        raise Fault("operand-dtype", message, hint, "word")
    return word
