"""The sides of a copy of which one may be on another rank (docs/rules/ranks.md)."""

from __future__ import annotations

from typing import Any

from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.symmetric import on_other_rank, own_instance, rank_number


def sides_with_ranks(name: str, src: Any, dst: Any, src_pe: Any, dst_pe: Any) -> tuple[Any, Any]:
    """Both sides of a copy, one of them in the instance of the rank that is named."""
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
