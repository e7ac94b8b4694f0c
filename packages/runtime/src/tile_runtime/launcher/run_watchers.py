"""Register functions that are called after every run of a kernel, for the duration of a block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from tile_runtime.launcher.bind_arguments import Bound

# Called with the kernel, the call as it was bound, and the arguments by position.
Recorder: TypeAlias = "Callable[[Any, Bound, tuple[Any, ...]], None]"

RECORDERS: ContextVar[tuple[Recorder, ...]] = ContextVar("tile_call_recorders", default=())


@contextmanager
def record_calls(recorded: Recorder) -> Iterator[None]:
    """While the block runs, `recorded` is called after each run, and may keep the call for
    `launch_again` of the kernel."""
    token = RECORDERS.set((*RECORDERS.get(), recorded))
    try:
        yield
    finally:
        RECORDERS.reset(token)


def watch_runs(seen: Callable[[Any], None]) -> AbstractContextManager[None]:
    """While the block runs, `seen` is called with a kernel after each of its runs."""
    return record_calls(lambda kernel, call, inputs: seen(kernel))
