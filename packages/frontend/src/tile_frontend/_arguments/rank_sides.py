"""The sides of a copy of which one may be on another rank
(docs/language/rules.md#symmetric-tensors)."""

from __future__ import annotations

from typing import Any

from tile_frontend._arguments.op_functions import OpFunction
from tile_frontend._tracing.addresses import at_address
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.symmetric import on_other_rank, own_instance, rank_number
from tile_frontend._tracing.trace import current
from tile_ir import Diagnostic


def sides_with_ranks(name: str, src: Any, dst: Any, src_pe: Any, dst_pe: Any) -> tuple[Any, Any]:
    """Both sides of a copy, one of them in the instance of the rank that is named."""
    src, dst = at_address(src), at_address(dst)
    if src_pe is not None and dst_pe is not None:
        message = f"{name}: both sides are on other ranks"
        raise Fault("both-remote", message, "copy through a tile of your own", "src_pe")
    if src_pe is not None:
        src = on_other_rank(f"{name}: src", src, rank_number(name, src_pe, "src_pe"))
    if dst_pe is not None:
        dst = on_other_rank(f"{name}: dst", dst, rank_number(name, dst_pe, "dst_pe"))
    if not own_instance(src) and not own_instance(dst):
        message = f"{name}: both sides are on other ranks"
        raise Fault("both-remote", message, "copy through a tile of your own", "dst")
    return src, dst


class CopyFunction(OpFunction):
    """`T.copy`, which other text calls with the rank of the destination as `dst` behind two sides:
    there the destination stands first."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) < 2 or "dst" not in kwargs:
            return super().__call__(*args, **kwargs)
        trace = current("T.copy")
        message = "copy: with `dst=rank` the first operand is the destination"
        hint = "write T.copy(src, dst, dst_pe=rank)"
        trace.remark(Diagnostic("copy-order", message, trace.here, hint, severity="note"))
        dst, src, *rest = args
        named = {name: value for name, value in kwargs.items() if name != "dst"}
        return super().__call__(src, dst, *rest, **named, dst_pe=kwargs["dst"])
