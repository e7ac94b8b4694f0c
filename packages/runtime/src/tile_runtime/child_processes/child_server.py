"""Run functions in child processes, forked from a process that has imported what they need.

`ChildServer.run` does one job in one child: it hands over a request, collects messages until the
child ends, and names the end. A child that exceeds a limit, or that the owner gives up, ends with
all that it has started; so do all children when their owner ends.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import nullcontext, suppress
from dataclasses import asdict, field
from pathlib import Path

from tile_ir import BuildError
from tile_ir.quick_dataclasses import dataclass, replace
from tile_runtime.child_processes.fence import OUT_OF_MEMORY, Fence
from tile_runtime.child_processes.frames import (
    FrameError,
    FrameTooLarge,
    Message,
    read_frame,
    write_frame,
)
from tile_runtime.child_processes.limits import ChildLimits
from tile_runtime.child_processes.surroundings import Surroundings

_MODULE = "tile_runtime.child_processes.fork_children"
# Of what a child prints, so many bytes from the end are kept.
_MOST_PRINTED = 1 << 20
# What a message counts at least, so that their number is limited too.
_LEAST_BYTES = 4096
# It may have to build the simulator.
_START_SECONDS = 900.0
# How long a child may take to end with all that it has started.
_SECONDS_TO_END = 10.0


@dataclass(frozen=True, slots=True)
class EndedChild:
    """How a child ended, with its messages, each with the bytes that it describes.

    `how` is done, time-limit, memory-limit, forbidden, crash, or given-up by its owner. `problem`
    says more; `printed` is the end of its output, which has the stack of a child that was late.
    `cpu_seconds` are those of it and all it started.
    """

    how: str
    problem: str = ""
    messages: tuple[tuple[Message, bytes], ...] = ()
    printed: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def event(self, name: str) -> Message | None:
        """The first message about an event."""
        return next((m for m, _ in self.messages if m.get("event") == name), None)


class Ending:
    """Ends children from another thread: those that run, and those that begin later at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._channels: set[socket.socket] = set()
        self.asked = False

    def end(self) -> None:
        """End them; the keeper of a child ends it when its channel is closed."""
        with self._lock:
            self.asked = True
            for channel in self._channels:
                _close_for_writing(channel)

    def add(self, channel: socket.socket) -> None:
        with self._lock:
            self._channels.add(channel)
            if self.asked:
                _close_for_writing(channel)

    def remove(self, channel: socket.socket) -> None:
        with self._lock:
            self._channels.discard(channel)


class ChildServer:
    """A process to fork children from, and as many of them at a time as there are cores.

    `warm_up` names a function, `module:function`, that imports what children need. Without work for
    `idle_seconds` the process leaves, and the next job starts another.
    """

    def __init__(
        self, warm_up: str, at_once: int | None = None, idle_seconds: float | None = None
    ) -> None:
        self._words = (warm_up, str(idle_seconds or 0))
        self._cores = threading.BoundedSemaphore(at_once or os.cpu_count() or 1)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._ending = Ending()

    def __enter__(self) -> ChildServer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the process, if there is none that lives. BuildError if it does not start."""
        with self._lock:
            if self._ending.asked:
                raise BuildError("children-closed", "children are being ended")
            if self._process is not None and self._process.poll() is None:
                return
            self._end_process()
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self._process = start_process(["-m", _MODULE, *self._words], theirs.fileno())
            self._control = ours
            ours.settimeout(_START_SECONDS)
            if not _is_ready(ours):
                self._end_process()
                raise BuildError("children-start", "the process that forks children did not start")
            ours.settimeout(None)

    def close(self) -> None:
        """End the process and all children."""
        self._ending.end()
        with self._lock:
            self._end_process()

    def _end_process(self) -> None:
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
        limits: ChildLimits,
        *,
        fence: Fence | None = None,
        place: Surroundings | None = None,
        data: bytes = b"",
        ending: Ending | None = None,
    ) -> EndedChild:
        """Call a function `module:function` with the request, the data and a function that sends
        messages. Without a fence the child has the rights of its owner; without a place it has the
        surroundings of the process it is forked from. The time counts from the fork.

        The scratch folder of a fence is in the request as `scratch`. BuildError if no child starts.
        """
        folder = tempfile.TemporaryDirectory(prefix="tile-child-") if fence else nullcontext("")
        with self._cores, folder as scratch:
            whole = {
                "job": job, "request": request, "limits": asdict(limits),
                "place": asdict(place) if place else None, "fence": None,
            }  # fmt: skip
            if fence is not None:
                whole["fence"] = replace(fence, scratch=scratch).to_json()
                whole["request"] = {**request, "scratch": scratch}
            with _Child() as child:
                self._fork(child)
                endings = tuple(filter(None, (self._ending, ending)))
                return child.ended(whole, data, limits, endings)

    def _fork(self, child: _Child) -> None:
        """Have the process fork a child; one that has left or died is started anew."""
        for may_fail in (True, False):
            self.start()
            with self._lock:
                try:
                    if self._control is None:
                        raise BrokenPipeError("children are being ended")
                    socket.send_fds(self._control, [b"child"], child.handed_over)
                    return
                except OSError as error:
                    if not may_fail:
                        raise BuildError("children-start", f"no child starts: {error}") from None


@dataclass(slots=True)
class _Followed:
    """The messages of a running child, and its end once it is known."""

    how: str = "crash"
    problem: str = "its process ended without a word"
    messages: list[tuple[Message, bytes]] = field(default_factory=list)
    cpu_seconds: float = 0.0


class _Child:
    """The owner's side of one child: a channel, and a pipe that it prints into."""

    def __init__(self) -> None:
        self._channel, self._theirs = socket.socketpair()
        said, self._prints = os.pipe()
        self._printed = _Printed(said)

    @property
    def handed_over(self) -> list[int]:
        """The descriptors of the other side."""
        return [self._theirs.fileno(), self._prints]

    def __enter__(self) -> _Child:
        return self

    def __exit__(self, *error: object) -> None:
        self._keep_own_side()
        self._wait_for_keeper()
        self._printed.close()

    def ended(
        self, whole: Message, data: bytes, limits: ChildLimits, endings: tuple[Ending, ...]
    ) -> EndedChild:
        """Hand over the request and follow the child to its end."""
        self._keep_own_side()
        began = time.monotonic()
        for ending in endings:
            ending.add(self._channel)
        try:
            with suppress(BrokenPipeError):
                write_frame(self._channel.fileno(), whole, data)
            found = self._followed(began + limits.seconds, limits)
            seconds = time.monotonic() - began
        finally:
            for ending in endings:
                ending.remove(self._channel)
        self._wait_for_keeper()
        self._printed.close()
        how, problem, printed = found.how, found.problem, self._printed.text()
        if how == "crash" and any(ending.asked for ending in endings):
            how, problem = "given-up", "its owner ended it"
        elif how == "crash" and "std::bad_alloc" in printed:
            how, problem = _ENDS[OUT_OF_MEMORY]
        return EndedChild(how, problem, (*found.messages,), printed, seconds, found.cpu_seconds)

    def _followed(self, deadline: float, limits: ChildLimits) -> _Followed:
        """Read messages until the child ends or exceeds a limit."""
        left = limits.answer_mb << 20
        found = _Followed()
        try:
            while (frame := read_frame(self._channel.fileno(), deadline, left)) is not None:
                message, data, size = frame
                left -= max(size, _LEAST_BYTES)
                if message.get("event") != "end":
                    found.messages.append((message, data))
                    continue
                match message:
                    case {"status": int(status), "cpu_seconds": int() | float() as seconds}:
                        found.how, found.problem = _how(status)
                        found.cpu_seconds = seconds
                    case _:
                        found.problem = "its process sent a message about its end that is none"
                break
        except TimeoutError:
            found.how, found.problem = "time-limit", f"not done after {limits.seconds:g} s"
        except FrameTooLarge:
            found.how = "memory-limit"
            found.problem = "its process answered with more bytes than its limit"
        except FrameError as error:
            found.problem = f"its process sent {error}"
        return found

    def _keep_own_side(self) -> None:
        self._theirs.close()
        if self._prints >= 0:
            os.close(self._prints)
            self._prints = -1

    def _wait_for_keeper(self) -> None:
        """Have the keeper end the child with all it has started, and wait for that."""
        _close_for_writing(self._channel)
        with suppress(OSError):
            self._channel.settimeout(_SECONDS_TO_END)
            while self._channel.recv(1 << 20):
                pass
        self._channel.close()


# Exit codes and signals that say why a child ended.
_ENDS = {
    0: ("done", ""),
    OUT_OF_MEMORY: ("memory-limit", "its process needed more memory than its limit"),
    -signal.SIGXCPU: ("time-limit", "its process took more time of a core than its limit"),
    -signal.SIGSYS: (
        "forbidden", "it called the operating system for what the fence forbids"
    ),
}  # fmt: skip


def _how(status: int) -> tuple[str, str]:
    """The kind of an end by its status, and what to say of it. A child may forge it."""
    if status in _ENDS:
        return _ENDS[status]
    if -signal.NSIG < status < 0:
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
                self._kept += part
                del self._kept[:-_MOST_PRINTED]

    def text(self) -> str:
        return bytes(self._kept).decode(errors="replace")

    def close(self) -> None:
        """Wait for the last output; closed twice it does nothing."""
        if self._descriptor >= 0:
            self._thread.join(_SECONDS_TO_END)
            os.close(self._descriptor)
            self._descriptor = -1


def start_process(words: list[str], control: int) -> subprocess.Popen[bytes]:
    """Start Python with a socket as its standard input, and the imports of this process."""
    return subprocess.Popen(
        [sys.executable, *words],
        stdin=control,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        start_new_session=True,
    )


def _close_for_writing(channel: socket.socket) -> None:
    with suppress(OSError):
        channel.shutdown(socket.SHUT_WR)


def _is_ready(control: socket.socket) -> bool:
    try:
        return control.recv(16) == b"ready"
    except OSError:
        return False


def readable_folders() -> tuple[str, ...]:
    """The folders that Python, its packages and ours are imported from. Other folders on the path,
    such as those of scripts that this process ran, may hold any files."""
    given = [sys.prefix, sys.base_prefix, *filter(_holds_packages, sys.path)]
    here = str(Path.cwd())
    found = {os.path.realpath(folder) for folder in given if os.path.isdir(folder)}
    return tuple(sorted(folder for folder in found if folder not in (here, "/")))


def _holds_packages(folder: str) -> bool:
    """Whether packages are installed in a folder, or it is one of our sources."""
    installed = Path(folder).name in ("site-packages", "dist-packages")
    return installed or (bool(folder) and any(Path(folder).glob("tile_*/__init__.py")))
