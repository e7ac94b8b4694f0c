"""Streams and events of a device that does everything at once: what is queued is done."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class HostStream:
    """A queue in which nothing ever waits."""

    def __init__(self, device: Any = None, priority: int = 0, **ignored: Any) -> None:
        self.device = device
        self.priority = priority
        self.npu_stream = 0
        # What a caller hands to the `call` of a library: a null stream.
        self._as_parameter_ = ctypes.c_void_p(0)

    def synchronize(self) -> None: ...

    def query(self) -> bool:
        return True

    def wait_stream(self, stream: Any) -> None: ...

    def wait_event(self, event: Any) -> None: ...

    def record_event(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record(self)
        return event


class Event:
    """A moment. Between two of them lies time of the host, which simulates the kernels."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, **ignored: Any) -> None:
        self._seconds: float | None = None

    def record(self, stream: Any = None) -> None:
        self._seconds = time.perf_counter()

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds. RuntimeError if one of the two was not recorded."""
        if self._seconds is None or end._seconds is None:
            raise RuntimeError("both events must be recorded before the time between them is known")
        return (end._seconds - self._seconds) * 1e3

    def synchronize(self) -> None: ...

    def query(self) -> bool:
        return True

    def wait(self, stream: Any = None) -> None: ...


DEFAULT_STREAM = HostStream()


def current_stream(device: Any = None) -> HostStream:
    """The one queue there is."""
    return DEFAULT_STREAM


@contextmanager
def stream(chosen: Any) -> Iterator[None]:
    """`with torch.npu.stream(s):` changes nothing: every stream is idle."""
    yield
