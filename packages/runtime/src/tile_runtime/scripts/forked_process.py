"""Call a function in a process of its own, with a limit of time. Processes are forked from a server
that has imported torch and the compiler already, so that one starts in some milliseconds.

`answer_forked` waits for one answer. The process leads a session of its own, which ends with all it
started when the process answers, when its time is up, and when the server or its owner ends.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from multiprocessing import connection
from multiprocessing.context import ForkServerContext
from typing import Any

from tile_ir.quick_dataclasses import dataclass
from tile_ir.switches import OVERRIDES, SWITCHES, override
from tile_runtime.options.code_generators import GENERATORS
from tile_runtime.scripts.end_with_parent import end_with_parent

# What the server imports before it forks, besides the module of the first function.
_PRELOADED = (
    "torch", "tile_frontend", "tile_passes.explain.explanations", *GENERATORS.values(),
    "tile_runtime.jit_kernels.jit_compile", "tile_runtime.source_kernels.simulate",
)  # fmt: skip
# Seconds beyond the limit, in which a process has to start and says where it was.
_GRACE = 60.0
# Of what a process prints, so many bytes from the end are kept.
_KEPT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ForkedAnswer:
    """The result of the function (None if its process ended early), the printed text, and whether
    its time was up."""

    value: str | None
    printed: str
    late: bool = False


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """The surroundings of a process: a folder for its answer and output, its working folder,
    environment, switches, and its time."""

    scratch: str
    folder: str
    environment: Mapping[str, str]
    overrides: Mapping[str, Any]
    switches: Mapping[str, Any]
    seconds: float

    @property
    def printed(self) -> str:
        return os.path.join(self.scratch, "printed")

    @property
    def answered(self) -> str:
        return os.path.join(self.scratch, "answered")

    def answer(self, late: bool = False) -> ForkedAnswer:
        """Read the answer of a process that has ended."""
        printed = _tail(self.printed)
        if not os.path.exists(self.answered):
            return ForkedAnswer(None, printed, late or "Timeout (" in printed)
        with open(self.answered, encoding="utf-8", errors="replace") as file:
            return ForkedAnswer(file.read(), printed)


def answer_forked(
    function: Callable[..., str],
    *arguments: Any,
    seconds: float,
    folder: str = "",
    switches: Mapping[str, Any] | None = None,
) -> ForkedAnswer:
    """Call a function of a module in a process of its own, in a folder and with switches of its own
    besides those here. Standard input is empty; what it prints is in the answer."""
    context = _context(function.__module__)
    # The answer is a file: what the process starts may keep a pipe open for ever.
    with tempfile.TemporaryDirectory(prefix="tile-ascend-") as scratch:
        place = _Surroundings(
            scratch,
            folder or os.getcwd(),
            dict(os.environ),
            OVERRIDES.get(),
            switches or {},
            seconds,
        )
        process = context.Process(target=_answer, args=(place, function, arguments))
        process.start()
        try:
            ended = connection.wait([process.sentinel], seconds + _GRACE)
        finally:
            _end(process.pid)
            process.join()
            process.close()
        return place.answer(late=not ended)


@cache
def _context(module: str) -> ForkServerContext:
    """The context whose server this process starts with its first call."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*_PRELOADED, module])
    return context


def _end(pid: int | None) -> None:
    """End a process and all that it started."""
    if pid is not None:
        for end in (os.killpg, os.kill):  # it may not lead a session yet
            with suppress(ProcessLookupError, PermissionError):
                end(pid, signal.SIGKILL)


def _tail(path: str) -> str:
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _KEPT_BYTES))
            return file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""


# In the processes --------------------------------------------------------------------------------


def _answer(place: _Surroundings, function: Callable[..., str], arguments: tuple[Any, ...]) -> None:
    os.setsid()
    end_with_parent()
    _keep_descriptors()
    _redirect(place.printed)
    os.environ.clear()
    os.environ.update(place.environment)
    # Threads and processes of a script see the environment only.
    chosen = {SWITCHES[name].variable: _word(value) for name, value in place.switches.items()}
    os.environ.update(chosen)
    os.chdir(place.folder)
    sys.setrecursionlimit(10_000)
    faulthandler.dump_traceback_later(place.seconds, exit=True)
    with override(**{**place.overrides, **place.switches}):
        answer = function(*arguments)
    faulthandler.cancel_dump_traceback_later()
    sys.stdout.flush()
    sys.stderr.flush()
    with open(f"{place.answered}.part", "w", encoding="utf-8", errors="replace") as file:
        file.write(answer)
    os.replace(file.name, place.answered)
    os._exit(0)


def _keep_descriptors() -> None:
    """Hand none of the descriptors of the server to programs that the process starts."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            with suppress(OSError):  # that of the list itself is closed again
                os.set_inheritable(int(name), False)


def _word(value: Any) -> str:
    """The value of a switch as a variable has it."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def _redirect(output: str) -> None:
    """Make standard input empty, and standard output and error a file."""
    for number, name, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, output, os.O_WRONLY | os.O_CREAT | os.O_APPEND),
    ):
        opened = os.open(name, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    os.dup2(1, 2)
    faulthandler.enable()
