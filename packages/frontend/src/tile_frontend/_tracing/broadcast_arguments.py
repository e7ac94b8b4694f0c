"""`T.tile.broadcast`: into rows that start at blocks of 32 bytes, or into packed ones."""

from __future__ import annotations

from typing import Any

from tile_frontend._tracing.calls import OpFunction, build_op
from tile_frontend._tracing.counted_call import region_of
from tile_frontend._tracing.values import Pending
from tile_ir import OPS
from tile_ir.ops.reduce import is_packed


class BroadcastFunction(OpFunction):
    """The hardware repeats whole blocks; packed rows are stored element by element."""

    def __init__(self) -> None:
        super().__init__(OPS["broadcast"])

    def build(self, given: dict[str, Any]) -> Pending:
        dst = region_of(given["dst"])
        packed = dst is not None and len(dst.dims) > 1 and is_packed(dst)
        return build_op(OPS["broadcast_packed"] if packed else self.opdef, given, self.__name__)
