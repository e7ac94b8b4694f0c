"""Accept what scripts for GPUs say about threads, registers and layouts. It concerns time there,
and has no effect here: the compiler divides the work of a block itself."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any


class GemmWarpPolicy(IntEnum):
    """How the warps of a GPU divide a product."""

    Square = 0
    FullRow = 1
    FullCol = 2
    Free = 3

    @classmethod
    def from_warp_partition(cls, m_warp: int, n_warp: int) -> GemmWarpPolicy:
        return cls.FullRow if n_warp == 1 else cls.FullCol if m_warp == 1 else cls.Square


class ThreadLayout:
    """An order of elements among threads or banks of a GPU."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.arguments, self.named = arguments, named

    def __getattr__(self, name: str) -> Callable[..., ThreadLayout]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **named: self


def _hint(name: str) -> Callable[..., None]:
    def without_effect(*arguments: Any, **named: Any) -> None: ...

    without_effect.__name__ = without_effect.__qualname__ = name
    without_effect.__doc__ = "A hint for GPUs, without effect here."
    return without_effect


_WITHOUT_EFFECT = (
    "annotate_compile_flags annotate_consumer_reg_alloc annotate_l2_hit_ratio "
    "annotate_min_blocks_per_sm annotate_pass_configs annotate_producer_reg_dealloc "
    "annotate_restrict_buffers annotate_ws_schedule cp_async_barrier_noinc dec_max_nreg "
    "disable_warp_group_reg_alloc inc_max_nreg no_set_max_nreg pdl_sync pdl_trigger "
    "ptx_commit_group ptx_wait_group set_max_nreg sync_global sync_threads sync_warp"
)
FUNCTIONS: dict[str, Any] = {
    **{name: _hint(name) for name in _WITHOUT_EFFECT.split()},
    **dict.fromkeys(("Layout", "Fragment", "make_swizzled_layout"), ThreadLayout),
    "GemmWarpPolicy": GemmWarpPolicy,
}
