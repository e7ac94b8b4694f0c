"""`T.cumsum`: in place where no destination is given."""

from __future__ import annotations

from typing import Any

from tile_frontend.arguments.call_signature import described
from tile_frontend.arguments.op_functions import build_op
from tile_frontend.arguments.torch_arguments import accepting_torch_arguments
from tile_frontend.arguments.working_memory import accepting_working_memory
from tile_frontend.tracing.values import Pending
from tile_ir import OPS


@accepting_torch_arguments
@accepting_working_memory(OPS["cumsum"], buffers=2)
@described(OPS["cumsum"])
def cumsum(src: Any, dst: Any = None, dim: Any = 0, reverse: Any = False) -> Pending:
    """Running sums of `src` along `dim`, from the end on with `reverse`."""
    given = {"src": src, "dst": src if dst is None else dst, "dim": dim, "reverse": reverse}
    return build_op(OPS["cumsum"], given, "cumsum")
