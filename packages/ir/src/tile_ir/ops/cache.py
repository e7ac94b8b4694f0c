"""Maintenance of the scalar data cache (docs/hardware/units.md#data-cache)."""

from __future__ import annotations

from tile_ir.machine import Core, Pipe
from tile_ir.opdef import AttrDef, Effect, OpDef
from tile_ir.ops.axes import whole
from tile_ir.ops.rules import GM, on, updated

OPS = (
    OpDef(
        name="datacachecleanandinvalid_experiment",
        family="cache",
        doc="write a line of the scalar data cache back to gm, and drop it",
        ascend_c="DataCacheCleanAndInvalid",
        operands=(updated("dst", GM),),
        attrs=(
            AttrDef("CacheLine", str, choices=("single_cache_line", "entire_data_cache")),
            AttrDef(
                "DcciDst",
                str,
                choices=("cacheline_all", "cacheline_ub", "cacheline_out", "cacheline_atomic"),
            ),
        ),
        placement=on(Core.EITHER, Pipe.S),
        axes=whole,
        effect=Effect.CACHE,
    ),
)
