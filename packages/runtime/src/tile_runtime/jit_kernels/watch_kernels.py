"""Collect the kernels that are built while a block runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tile_runtime.jit_kernels.kernel import JITKernel

_watchers: ContextVar[tuple[list[JITKernel], ...]] = ContextVar("tile_watchers", default=())


@contextmanager
def watch_kernels() -> Iterator[list[JITKernel]]:
    """A list of the kernels that are built while the block runs, filled as they are."""
    seen: list[JITKernel] = []
    token = _watchers.set((*_watchers.get(), seen))
    try:
        yield seen
    finally:
        _watchers.reset(token)


def announce(kernel: JITKernel) -> None:
    """Append a new kernel to the lists of all observers."""
    for seen in _watchers.get():
        seen.append(kernel)
