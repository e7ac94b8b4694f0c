"""`T.tile.sum_experiment`, whose sizes scripts give as one list."""

from __future__ import annotations

from typing import Any

from tile_frontend.arguments.call_signature import described
from tile_frontend.arguments.op_functions import build_op
from tile_frontend.arguments.working_memory import accepting_working_memory
from tile_frontend.tracing.faults import Fault
from tile_frontend.tracing.scalars import describe
from tile_frontend.tracing.values import Pending
from tile_ir import OPS


@accepting_working_memory(OPS["sum_experiment"], buffers=2)
@described(OPS["sum_experiment"])
def sum_experiment(dst: Any, src: Any, sumParams: Any) -> Pending:
    """Sums of rows: `sumParams` is [rows, elements from row to row, elements that count]."""
    if not isinstance(sumParams, (list, tuple)) or len(sumParams) != 3:
        raise Fault(
            "arity",
            f"sum_experiment: sumParams is {describe(sumParams)}, expected a list of 3",
            "write [outer, inner, n]",
            "sumParams",
        )
    outer, inner, n = sumParams
    given = {"dst": dst, "src": src, "outer": outer, "inner": inner, "n": n}
    return build_op(OPS["sum_experiment"], given, "tile.sum_experiment")
