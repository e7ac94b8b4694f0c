"""Build `T.transpose`, whose tiles stand in the order of the dialect of the kernel."""

from __future__ import annotations

from typing import Any

from tile_frontend._arguments.build_op import build_op
from tile_frontend._arguments.op_functions import OpFunction
from tile_frontend._tracing.trace import current
from tile_frontend._tracing.values import Pending
from tile_ir import OPS


def transpose(dst: Any, src: Any) -> Pending:
    """A matrix turned: `T.transpose(dst, src)`; in kernels for GPUs `T.transpose(src, dst)`."""
    if current("transpose").python_names:
        dst, src = src, dst
    return build_op(OPS["transpose"], {"dst": dst, "src": src}, "transpose")


FUNCTIONS = {"transpose": OpFunction(OPS["transpose"], transpose, doc=f"{OPS['transpose'].doc}.")}
