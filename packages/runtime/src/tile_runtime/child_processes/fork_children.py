"""The process that children are forked from: all is imported, and no job runs in it.

`python -m tile_runtime.child_processes.fork_children MODULE:FUNCTION IDLE_SECONDS` calls the
function, which imports what children need, then serves its standard input, a socket.

A request is a message with two descriptors: the channel of the child, and where it prints. Each
child has a keeper, which puts the fence up, waits, and ends what the child has started.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import resource
import select
import signal
import socket
import sys
import time
from contextlib import nullcontext, suppress
from pkgutil import resolve_name
from typing import NoReturn

from tile_runtime.child_processes.end_with_parent import end_with_parent
from tile_runtime.child_processes.fence import (
    OUT_OF_MEMORY,
    Fence,
    enter_fence,
    is_out_of_memory,
    isolate,
    limit_memory,
)
from tile_runtime.child_processes.frames import Message, read_frame, write_frame
from tile_runtime.child_processes.limits import ChildLimits
from tile_runtime.child_processes.namespaces import adopt_orphans
from tile_runtime.child_processes.surroundings import Surroundings

# Requests are as large as tensors.
_MOST_REQUEST = 1 << 40
_SECONDS_TO_ASK = 60.0
# A child that is ended may take so many seconds to print where it was.
_LAST_SECONDS = 1.0


def main(warm_up: str, idle_seconds: float) -> None:
    """Import everything, then fork a child for each request until the owner ends, or sends none for
    so many seconds (0 for ever)."""
    control = socket.socket(fileno=os.dup(0))
    _become_empty(0)
    resolve_name(warm_up)()
    sys.dont_write_bytecode = True  # what children import later they may write nowhere
    gc.collect()
    gc.freeze()
    # Keepers end by themselves, and nothing waits for them here.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control.send(b"ready")
    control.settimeout(idle_seconds or None)
    while True:
        try:
            message, descriptors, _, _ = socket.recv_fds(control, 16, 2)
        except TimeoutError:
            # From now on the owner can send nothing; what it has sent before is still served.
            control.shutdown(socket.SHUT_RD)
            control.settimeout(0)
            continue
        except BlockingIOError:
            message = b""
        if not message:
            os._exit(0)
        if len(descriptors) == 2 and not os.fork():
            control.close()
            _keep(*descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _become_empty(descriptor: int) -> None:
    """Let a descriptor read nothing."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, descriptor)
    os.close(nothing)


def _keep(channel: int, printed: int) -> NoReturn:
    """Read the request, start the child behind its fence, wait for its end and report it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    adopt_orphans()
    try:
        asked = read_frame(channel, time.monotonic() + _SECONDS_TO_ASK, _MOST_REQUEST)
        if asked is None:
            os._exit(0)
        whole, data, _ = asked
        fence = Fence(**whole["fence"]) if whole["fence"] else None
        isolated, missing = isolate(fence) if fence else ([], {})
        if "processes" in isolated and not os.fork():
            _be_first()
        child = os.fork()
        if not child:
            _run(channel, printed, whole, data, fence, isolated, missing)
        os.close(printed)
        status = _wait(child, channel)
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        end = {"event": "end", "status": os.waitstatus_to_exitcode(status)}
        with suppress(OSError):
            write_frame(channel, {**end, "cpu_seconds": usage.ru_utime + usage.ru_stime})
    finally:
        os._exit(0)


def _be_first() -> NoReturn:
    """Be the first process of a namespace, which signals of its own do not end; all others of the
    namespace end with it, when the keeper ends it."""
    end_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        signal.pause()


def _wait(child: int, channel: int) -> int:
    """The status of the child, which is ended when the owner closes the channel."""
    watched = os.pidfd_open(child)
    owner = select.poll()
    owner.register(watched, select.POLLIN)
    # Nobody writes to a keeper: it only sees that the other end is closed.
    owner.register(channel, select.POLLRDHUP)
    owner.poll()
    owner.unregister(channel)
    if not owner.poll(0):
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGABRT)  # the child prints where it is
        owner.poll(_LAST_SECONDS * 1000)
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    _end_orphans()
    return status


def _end_orphans() -> None:
    """End what the child has started; this process is the one that adopts them."""
    path = f"/proc/self/task/{os.getpid()}/children"
    while True:
        try:
            with open(path) as file:
                found = [int(word) for word in file.read().split()]
        except OSError:
            return
        # Those that they have started become children of this process only now.
        for process in found:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        for process in found:
            with suppress(ChildProcessError):
                os.waitpid(process, 0)
        if not found:
            return


def _run(
    channel: int,
    printed: int,
    whole: Message,
    data: bytes,
    fence: Fence | None,
    isolated: list[str],
    missing: dict[str, str],
) -> NoReturn:
    """Do a job in this process, the child."""
    os.setpgid(0, 0)  # signals to the group of a child spare its keeper
    _become_empty(0)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    os.dup2(channel, 3)
    os.closerange(4, max(channel, printed) + 64)
    faulthandler.enable()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)

    def send(message: Message, data: bytes = b"") -> None:
        write_frame(3, message, data)

    try:
        end_with_parent()
        place = Surroundings(**whole["place"]).entered() if whole["place"] else nullcontext()
        limits = ChildLimits(**whole["limits"])
        limit_memory(limits)
        with place:
            if fence is not None:
                in_force, lacking = enter_fence(fence, limits)
                report = {"in_force": [*isolated, *in_force], "missing": {**missing, **lacking}}
                send({"event": "fence", **report})
            resolve_name(whole["job"])(whole["request"], data, send)
        with suppress(Exception):  # whatever the job has put in their places
            sys.stdout.flush()
            sys.stderr.flush()
    except BaseException as error:  # of whatever the child executed
        if is_out_of_memory(error):
            os._exit(OUT_OF_MEMORY)
        with suppress(BaseException):
            sys.excepthook(type(error), error, error.__traceback__)
            sys.stderr.flush()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
