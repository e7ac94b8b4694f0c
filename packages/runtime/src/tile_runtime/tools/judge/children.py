"""Run jobs in children: the judge's side of `child_server`."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tile_ir import BuildError
from tile_ir.quick_dataclasses import dataclass, replace
from tile_runtime.tools.judge.fence import OUT_OF_MEMORY, Fence
from tile_runtime.tools.judge.frames import FrameError, FrameTooLarge, read_frame, write_frame
from tile_runtime.tools.judge.request import JudgeLimits

Message = dict[str, Any]
# What a child prints beyond so many bytes is dropped.
_MOST_PRINTED = 64 << 10
# What a message counts at least, so that their number is limited too.
_LEAST_BYTES = 4096
# It may have to build the simulator.
_START_SECONDS = 900.0
# How long a keeper may take to end what its child has started.
_SECONDS_TO_END = 10.0


@dataclass(frozen=True, slots=True)
class EndedChild:
    """How a child ended: `how` is done, time-limit, memory-limit or crash. `problem` says more, and
    `printed` is what it wrote to its terminal. `cpu_seconds` are those of it and all it started."""

    how: str
    problem: str
    printed: str
    seconds: float
    cpu_seconds: float = 0.0


class ChildServer:
    """A process to fork children from, and as many of them at a time as there are cores."""

    def __init__(self, at_once: int | None = None) -> None:
        self._cores = threading.BoundedSemaphore(at_once or os.cpu_count() or 1)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._closed = False

    def __enter__(self) -> ChildServer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the process, if there is none that lives. BuildError if it does not start."""
        with self._lock:
            if self._closed:
                raise BuildError("judge-closed", "the judge is being closed")
            if self._process is not None and self._process.poll() is None:
                return
            self._close()
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            module = "tile_runtime.tools.judge.child_server"
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
            theirs.close()
            self._control = ours
            ours.settimeout(_START_SECONDS)
            if not _received(ours):
                self._close()
                raise BuildError("judge-start", "the process that the judge forks did not start")
            ours.settimeout(None)

    def close(self) -> None:
        """End the process. Children end when their channels do."""
        with self._lock:
            self._closed = True
            self._close()

    def _close(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def run(
        self,
        job: str,
        request: Message,
        fence: Fence,
        limits: JudgeLimits,
        seen: Callable[[Message, bytes], None],
        data: bytes = b"",
    ) -> EndedChild:
        """Do a job in a child; `seen` is called with each message of it, in this thread."""
        with self._cores, tempfile.TemporaryDirectory(prefix="tile-judge-") as scratch:
            fence = replace(fence, scratch=scratch)
            whole = {**request, "job": job, "fence": fence.to_json(), "scratch": scratch}
            ours, theirs = socket.socketpair()
            said, prints = os.pipe()
            printed = _Printed(said)
            try:
                self._fork(theirs.fileno(), prints)
                theirs.close()
                os.close(prints)
                with suppress(BrokenPipeError):
                    write_frame(ours.fileno(), whole, data)
                return _follow(ours, printed, limits, seen)
            finally:
                theirs.close()
                _wait_for_keeper(ours)
                printed.close()

    def _fork(self, channel: int, prints: int) -> None:
        """Have the process fork a child with these descriptors; one that died is started anew."""
        for may_fail in (True, False):
            self.start()
            with self._lock:
                assert self._control is not None, "it was started"
                try:
                    socket.send_fds(self._control, [b"child"], [channel, prints])
                    return
                except OSError as error:
                    if not may_fail:
                        raise BuildError("judge-start", f"no child starts: {error}") from None


def _follow(
    channel: socket.socket,
    printed: _Printed,
    limits: JudgeLimits,
    seen: Callable[[Message, bytes], None],
) -> EndedChild:
    """Read messages until the child ends or exceeds a limit."""
    began = time.monotonic()
    deadline = began + limits.seconds
    left = limits.answer_mb << 20

    def ended(how: str, problem: str = "") -> EndedChild:
        return EndedChild(how, problem, printed.text(), time.monotonic() - began)

    while True:
        try:
            found = read_frame(channel.fileno(), deadline, left)
        except TimeoutError:
            return ended("time-limit", f"not done after {limits.seconds:g} s")
        except FrameTooLarge:
            return ended("memory-limit", "its process answered with more bytes than its limit")
        except FrameError as error:
            return ended("crash", f"its process sent {error}")
        if found is None:
            return ended("crash", "its process ended without a word")
        message, data, size = found
        left -= max(size, _LEAST_BYTES)
        if message.get("event") != "end":
            seen(message, data)
            continue
        status = message.get("status")
        if not isinstance(status, int):
            return ended("crash", "its process sent an answer without a status")
        cpu = float(message.get("cpu_seconds", 0.0))
        return replace(ended(*_how(status, printed.text())), cpu_seconds=cpu)


def _how(status: int, printed: str) -> tuple[str, str]:
    """The kind of an end by its status, and what to say of it."""
    if status == 0:
        return "done", ""
    if status == OUT_OF_MEMORY or "std::bad_alloc" in printed:
        return "memory-limit", "its process needed more memory than its limit"
    if status == -signal.SIGXCPU:
        return "time-limit", "its process took more time of a core than its limit"
    if status == -signal.SIGSYS:
        return "forbidden", "it called the operating system for what the fence forbids"
    if status < 0:
        name = signal.strsignal(-status) or f"signal {-status}"
        return "crash", f"its process died: {name}"
    return "crash", f"its process ended with exit code {status}"


class _Printed:
    """The output of a child, read in a thread so that the child never waits."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._kept = bytearray()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with suppress(OSError):
            while part := os.read(self._descriptor, 1 << 16):
                self._kept += part[: max(0, _MOST_PRINTED - len(self._kept))]

    def text(self) -> str:
        return bytes(self._kept).decode(errors="replace")

    def close(self) -> None:
        self._thread.join(_SECONDS_TO_END)
        os.close(self._descriptor)


def _wait_for_keeper(channel: socket.socket) -> None:
    """Have the keeper end the child with all it has started, and wait for that."""
    with suppress(OSError):
        channel.shutdown(socket.SHUT_WR)
        channel.settimeout(_SECONDS_TO_END)
        while channel.recv(1 << 20):
            pass
    channel.close()


def _received(control: socket.socket) -> bool:
    try:
        return control.recv(16) == b"ready"
    except OSError:
        return False


def readable_folders() -> tuple[str, ...]:
    """The folders that Python and our packages are imported from."""
    given = [sys.prefix, sys.base_prefix, *(p for p in sys.path if p)]
    here = str(Path.cwd())
    found = {os.path.realpath(folder) for folder in given if os.path.isdir(folder)}
    return tuple(sorted(folder for folder in found if folder not in (here, "/")))
