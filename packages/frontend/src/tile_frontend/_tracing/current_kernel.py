"""Hold the kernel that is traced in this context: set by `prim_func`, read by `T.` functions."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, ClassVar, Protocol


class Tracing(Protocol):
    """The kernel in the making (`trace.Trace`), as far as its own values ask: for their names."""

    # Expansion number of buffers that the text gives no name.
    ANONYMOUS: ClassVar[int]

    def name_tile(self, tile: Any, name: str, expansion: int) -> None: ...

    def name_cell(self, cell: Any, name: str, expansion: int) -> None: ...


CURRENT: ContextVar[Tracing | None] = ContextVar("tile_frontend_trace", default=None)
