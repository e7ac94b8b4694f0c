"""The process that the judge forks its children from: all is imported, and no candidate runs in it.

`python -m tile_runtime.tools.judge.child_server DESCRIPTOR` serves one judge.

A request is a message with two descriptors: the channel of the child, and where it prints. Each
child has a keeper, which puts the fence up, waits, and ends what the child has started.
"""

from __future__ import annotations

import gc
import os
import resource
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from typing import Any, NoReturn

from tile_ir.quick_dataclasses import replace
from tile_runtime.scripts.end_with_parent import end_with_parent
from tile_runtime.tools.judge.fence import (
    OUT_OF_MEMORY,
    Fence,
    enter_fence,
    is_out_of_memory,
    isolate,
)
from tile_runtime.tools.judge.frames import read_frame, write_frame

# Requests are as large as scripts and the text of kernels.
_MOST_REQUEST = 256 << 20
_SECONDS_TO_ASK = 60.0


def main() -> None:
    """Import everything, say so, and fork a child for each request until the judge is gone."""
    control = socket.socket(fileno=int(sys.argv[1]))
    import tile_runtime.tools.judge.jobs as jobs

    jobs.warm_up()
    sys.dont_write_bytecode = True  # what children import later they may write nowhere
    gc.collect()
    gc.freeze()
    # Keepers end by themselves, and nothing waits for them here.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control.send(b"ready")
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 16, 2)
        if not message:
            os._exit(0)
        if len(descriptors) == 2 and not os.fork():
            control.close()
            _keep(*descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _keep(channel: int, printed: int) -> NoReturn:
    """Read the request, start the child behind its fence, wait for its end and report it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    try:
        asked = read_frame(channel, time.monotonic() + _SECONDS_TO_ASK, _MOST_REQUEST)
        if asked is None:
            os._exit(0)
        request, data, _ = asked
        fence = Fence(**request["fence"])
        isolated, missing = isolate(fence)
        if "processes" in isolated and not os.fork():
            _be_first()
        child = os.fork()
        if not child:
            _run(channel, printed, request, data, fence, isolated, missing)
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
    """The status of the child, which is ended when the judge closes the channel."""
    watched = os.pidfd_open(child)
    judge = select.poll()
    judge.register(watched, select.POLLIN)
    # Nobody writes to a keeper: it only sees that the other end is closed.
    judge.register(channel, select.POLLRDHUP)
    judge.poll()
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
    request: dict[str, Any],
    data: bytes,
    fence: Fence,
    isolated: list[str],
    missing: dict[str, str],
) -> NoReturn:
    """Do a job in this process, the child."""
    import tile_runtime.tools.judge.jobs as jobs

    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    os.dup2(channel, 3)
    os.closerange(4, max(channel, printed, nothing) + 64)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    try:
        if fence.starts_programs:
            fence = replace(fence, readable=(*fence.readable, *jobs.readable()))
        in_force, lacking = enter_fence(fence)
        report = {"in_force": [*isolated, *in_force], "missing": {**missing, **lacking}}
        write_frame(3, {"event": "fence", **report})
        jobs.do(request["job"], request, data, 3)
        with suppress(Exception):  # whatever the candidate has put in their places
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
    main()
