"""Puts the statements of the cube core and the vector cores in an order in which values are made
before they are taken."""

from __future__ import annotations

from tile_ir import Automatic, Diagnostic, Func, KernelError, Phase, Target
from tile_ir.quick_dataclasses import replace
from tile_passes.own_order import own_cross_flag
from tile_passes.passdef import ir_pass
from tile_passes.streams.handovers import Handover, find_handovers, written_in
from tile_passes.streams.items import definitions, gm_accesses


@ir_pass(needs=Phase.TYPED)
def merge_streams(func: Func, target: Target) -> Func:
    """Merge the statements of both cores into one program that runs from top to bottom.

    Needs, gives: TYPED, kernels whose order between cores is automatic. Idea: a graph orders the
    statements of each block: the order of each core, names before their uses, writers before
    readers of handovers. Loops that hand over the same bytes in every iteration are fused. The
    first topological order of the graph, by position in the text, is the result. Text that leaves
    the cores to the compiler (`Automatic.CORES`) already runs from top to bottom. Limits: a cyclic
    graph is an error.
    """
    if Automatic.CROSS not in func.automatic or Automatic.CORES in func.automatic:
        return func
    _check_no_flags(func)
    body = func.launch.body
    values = definitions(body)
    every = list(gm_accesses(body))
    found = find_handovers(every, values)
    if not found:
        return func  # everything else keeps the order of the text
    # Only kernels with handovers pay for the import of networkx.
    from tile_passes.streams.merge import Circular, Streams, merged
    from tile_passes.streams.merge_errors import no_order

    written = written_in(every)

    try:
        new = merged(body, Streams(tuple(found), values, written))
    except Circular:
        # A tensor that is read, and written with what came of it, means what the text says.
        found = [h for h in found if not h.by_place]
        try:
            new = merged(body, Streams(tuple(found), values, written))
        except Circular:
            raise no_order(func, found) from None
    remarks = tuple(_told(h) for h in found if h.by_place)
    return (
        replace(func.with_body(new), remarks=(*func.remarks, *remarks))
        if remarks
        else (func.with_body(new))
    )


def _check_no_flags(func: Func) -> None:
    flag = own_cross_flag(func)
    if flag is not None:
        raise KernelError(
            "cross-order-mixed",
            f"{flag.opdef.name} stands in a kernel whose order between cores is left to the "
            "compiler (tl.ascend_auto_cross_core_sync)",
            flag.loc,
            "remove the cross-core flags, or switch the option off",
        )


def _told(handover: Handover) -> Diagnostic:
    writer, reader = handover.pairs[0].writer, handover.pairs[0].reader
    return Diagnostic(
        "handed-over",
        f"this reads `{handover.buffer.name}`, which line {writer.stmt.loc.line} writes: the "
        f"{reader.core.value} core takes here what the {writer.core.value} core leaves there",
        reader.stmt.loc,
        None,
        "remark",
    )
