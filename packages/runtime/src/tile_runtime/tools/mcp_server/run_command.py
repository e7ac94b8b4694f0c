"""Run one command of `tile-ascend` on a source in a process of its own, with a limit of time."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from tile_ir import Diagnostic, TileError
from tile_runtime.scripts.forked_process import answer_forked
from tile_runtime.tools.command_line import command_parser
from tile_runtime.tools.command_line.finding_formats import Found, finding_data, found_by

# Stands for the path of the source in the words of a command.
SOURCE = "{source}"
# Of what a command prints, so many characters are handed on.
_LONGEST = 200_000


def command_answer(
    words: Sequence[str], file: str, text: str | None, name: str, seconds: float
) -> dict[str, Any]:
    """Run a command on a file, or on a text that is kept under a name for it.

    `ok` is whether its exit code is 0. `findings` are the errors that it reports, in the form of
    `tile-ascend sim --json`; `output` is what it prints, as data if that is JSON.
    """
    if text is None:
        return _answered(words, file, seconds, "")
    with tempfile.TemporaryDirectory(prefix="tile-ascend-") as folder:
        path = Path(folder) / name
        path.write_text(text, encoding="utf-8")
        return _answered(words, str(path), seconds, folder)


def _answered(words: Sequence[str], file: str, seconds: float, folder: str) -> dict[str, Any]:
    filled = [word.replace(SOURCE, file) for word in words]
    answer = answer_forked(run_command, filled, seconds=seconds, folder=folder)
    if answer.value is None:
        if answer.late:
            said = f"`tile-ascend {words[0]}` was still running after {seconds:g} s"
            problem = Diagnostic("time-limit", said, hint="ask for more seconds")
        else:
            said = f"the process of `tile-ascend {words[0]}` ended without an answer"
            problem = Diagnostic("run-failed", said)
        return _answer(1, [Found(problem)], "", answer.printed[-_LONGEST:])
    data: dict[str, Any] = json.loads(answer.value)
    return data


def run_command(words: Sequence[str]) -> str:
    """Run a command in this process; its answer as JSON."""
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
            code = 1
            found = [Found(Diagnostic("python-error", f"{type(error).__name__}: {error}"))]
    return json.dumps(_answer(code, found, printed.getvalue(), complained.getvalue()))


def _answer(code: int, found: Sequence[Found], printed: str, complained: str) -> dict[str, Any]:
    output: Any = printed[:_LONGEST]
    with suppress(ValueError):
        output = json.loads(printed)
    return {
        "ok": code == 0,
        "findings": [finding_data(each) for each in found],
        "output": output,
        "messages": complained[-_LONGEST:],
    }
