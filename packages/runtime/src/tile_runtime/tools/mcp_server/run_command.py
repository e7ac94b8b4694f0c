"""Run one command of `tile-ascend` on a source in a child process, with limits, behind a fence."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from tile_ir import Diagnostic, TileError
from tile_ir.quick_dataclasses import dataclass
from tile_ir.switches import override
from tile_runtime.child_processes.child_server import ChildServer, EndedChild, readable_folders
from tile_runtime.child_processes.fence import Fence, is_out_of_memory
from tile_runtime.child_processes.frames import Message
from tile_runtime.child_processes.limits import ChildLimits
from tile_runtime.child_processes.surroundings import Surroundings
from tile_runtime.tools.command_line import command_parser
from tile_runtime.tools.command_line.finding_formats import Found, finding_data, found_by
from tile_runtime.tools.judge.jobs import compiling, fence_of_script
from tile_runtime.tools.judge.jobs import warm_up as warm_up_judge

# Stands for the path of the source in the words of a command.
SOURCE = "{source}"
# Of what a command prints, so many characters are handed on.
_LONGEST = 200_000


WARM_UP = f"{__name__}:warm_up"
_JOB = f"{__name__}:run_in_child"
# Whatever a command reports by itself.
_ENDS = {
    "time-limit": ("time-limit", "ask for more seconds"),
    "memory-limit": ("memory-limit", "make the tensors smaller, or leave some away"),
    "forbidden": ("forbidden", "compute only: no programs, no network, no other processes"),
}


@dataclass(frozen=True, slots=True)
class CommandSource:
    """The source of a command: a file, or a text that is kept under a name for it; none of both for
    a command without a source."""

    file: str
    text: str | None
    name: str


def command_answer(
    children: ChildServer, words: Sequence[str], source: CommandSource, seconds: float
) -> dict[str, Any]:
    """Run a command in a child behind a fence; SOURCE in its words stands for the source.

    `ok` is whether its exit code is 0. `findings` are the errors that it reports, in the form of
    `tile-ascend sim --json`; `output` is what it prints, as data if that is JSON. `fence` has the
    fences in force and those that are missing on this platform. OSError for a file that can not be
    read.
    """
    path = os.path.abspath(source.file or "source")
    if source.text is None and source.file:
        with open(path, "rb"):
            pass
    request = {"words": list(words), "file": path, "text": source.text, "name": source.name}
    fence = Fence(readable=readable_folders())
    if source.file:
        fence = fence_of_script(path, more=(path,))
    ended = children.run(
        _JOB, request, ChildLimits(seconds), fence=compiling(fence), place=Surroundings.here()
    )
    told = ended.event("fence") or {}
    return {**_answer_of(words[0], ended, seconds), "fence": {
        "in_force": told.get("in_force", []), "missing": told.get("missing", {}),
    }}  # fmt: skip


def _answer_of(command: str, ended: EndedChild, seconds: float) -> dict[str, Any]:
    match ended.event("answer"):
        case {"code": int(code), "findings": list(found), "output": str(output),
              "messages": str(messages)}:  # fmt: skip
            return _answer(code, [f for f in found if isinstance(f, dict)], output, messages)
    slug, hint = _ENDS.get(ended.how, ("run-failed", None))
    said = f"`tile-ascend {command}` ended without an answer: {ended.problem}"
    if ended.how == "time-limit":
        said = f"`tile-ascend {command}` was still running after {seconds:g} s"
    problem = finding_data(Found(Diagnostic(slug, said, hint=hint)))
    return _answer(1, [problem], "", ended.printed)


def run_in_child(request: Message, data: bytes, send: Callable[..., None]) -> None:
    """Run a command in this process, a child, and send its answer."""
    from tile_runtime.jit_kernels.quick_compiler import quick_compiler

    path, scratch = request["file"], request["scratch"]
    if request["text"] is not None:
        path = os.path.join(scratch, request["name"])
        Path(path).write_text(request["text"], encoding="utf-8")
    os.chdir(scratch)
    words = [word.replace(SOURCE, path) for word in request["words"]]
    with override(cache=False, cxx=quick_compiler()[0]):
        send({"event": "answer", **run_command(words)})


def warm_up() -> None:
    """Import what commands need, besides this module, and load the simulator."""
    warm_up_judge()
    command_parser(["opt"])


def run_command(words: Sequence[str]) -> dict[str, Any]:
    """Run a command in this process: its exit code, its findings, and what it prints."""
    printed, complained = io.StringIO(), io.StringIO()
    found: list[Found] = []
    with redirect_stdout(printed), redirect_stderr(complained):
        try:
            options = command_parser(words).parse_args(words)
            code = int(options.run(options))
        except TileError as error:
            code, found = 1, found_by(error)
        except SystemExit as stop:  # argparse, or the script
            code = stop.code if isinstance(stop.code, int) else 1
        except Exception as error:  # whatever the script raises is its own
            if is_out_of_memory(error):
                raise
            code = 1
            found = [Found(Diagnostic("python-error", f"{type(error).__name__}: {error}"))]
    return {
        "code": code,
        "findings": [finding_data(each) for each in found],
        "output": printed.getvalue(),
        "messages": complained.getvalue(),
    }


def _answer(
    code: int, found: Sequence[dict[str, Any]], printed: str, complained: str
) -> dict[str, Any]:
    output: Any = printed[:_LONGEST]
    with suppress(ValueError, RecursionError):
        output = json.loads(printed)
    return {
        "ok": code == 0,
        "findings": list(found),
        "output": output,
        "messages": complained[-_LONGEST:],
    }
