"""Which kernel is being traced in this context; set by `prim_func`, asked by every `T.` name."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tile_frontend._tracing.trace import Trace

CURRENT: ContextVar[Trace | None] = ContextVar("tile_frontend_trace", default=None)
