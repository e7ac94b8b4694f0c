"""One answer from a child process that is trusted as its owner is: both sides pickle."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable
from typing import Any, TypeVar

from tile_runtime.child_processes.child_server import ChildServer, EndedChild
from tile_runtime.child_processes.frames import Message
from tile_runtime.child_processes.limits import ChildLimits
from tile_runtime.child_processes.surroundings import Surroundings
from tile_runtime.options.code_generators import GENERATORS

Answer = TypeVar("Answer")

WARM_UP = f"{__name__}:import_compiler"
_JOB = f"{__name__}:send_answer"
_ANSWER = "answer"


def answer_apart(
    server: ChildServer,
    job: Callable[[], Answer],
    seconds: float,
    show: Callable[[str], object] | None = None,
) -> Answer | EndedChild:
    """The result of a job that pickles, in a child with the surroundings of this process; the end
    of the child where there is no result. `show` gets what the child has printed."""
    limits = ChildLimits.of_time(seconds)
    here = Surroundings.here()
    ended = server.run(_JOB, {}, limits, place=here, data=pickle.dumps(job))
    if show is not None and ended.printed:
        show(ended.printed)
    for message, data in ended.messages:
        if message.get("event") == _ANSWER:
            found: Answer = pickle.loads(data)
            return found
    return ended


def send_answer(request: Message, data: bytes, send: Callable[..., None]) -> None:
    """Do a pickled job in this process, a child, and send the result."""
    job: Callable[[], Any] = pickle.loads(data)
    send({"event": _ANSWER}, pickle.dumps(job()))


def import_compiler() -> None:
    """Import what compiles kernels and runs them."""
    for name in ("torch", *GENERATORS.values(), "tile_runtime.jit_kernels.jit_compile"):
        importlib.import_module(name)
