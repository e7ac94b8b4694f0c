"""`T.tile.broadcast`: the operation that the type and the rows of the result ask for."""

from __future__ import annotations

from typing import Any

from tile_frontend.arguments.counted_call import region_of
from tile_frontend.arguments.op_functions import OpFunction, build_op
from tile_frontend.tracing.values import Pending
from tile_ir import OPS
from tile_ir.ops.broadcast import broadcast_of


class BroadcastFunction(OpFunction):
    """What the hardware does not repeat is composed, or stored element by element."""

    def __init__(self) -> None:
        super().__init__(OPS["broadcast"])

    def build(self, given: dict[str, Any]) -> Pending:
        dst = region_of(given["dst"])
        opdef = self.opdef if dst is None else OPS[broadcast_of(dst)]
        return build_op(opdef, given, self.__name__)
