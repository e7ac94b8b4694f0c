"""Table of TileLang for the next chip, A5, in the versions that the mainline has."""

from __future__ import annotations

from tile_frontend._dialects.dialect import Dialect, alternatives, names
from tile_frontend._dialects.next_chip_names import LOWERED

TILELANG_NEXT_CHIP = Dialect(
    name="tilelang-a5",
    modules=frozenset(("tilelang.ascend", "tilelang.ascend.language")),
    signs=frozenset(
        (
            *LOWERED,
            *names(
                "alloc_l1 alloc_l0a alloc_l0b alloc_l0c ascend_pipe_barrier ascend_set_flag "
                "ascend_wait_flag ascend_cross_core_set_flag ascend_cross_core_wait_flag "
                "ascend_sync_inter_arrive ascend_sync_inter_wait annotate_buffer_versions"
            ),
        )
    ),
    arguments=alternatives("unit_flag_ctrl=unit_flag"),
)
