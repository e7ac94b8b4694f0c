"""Stands for `answer_forked` in tests: its processes are forked from the server of `forked_python`, which
other tests of a run have started already."""

from __future__ import annotations

import base64
import os
import pickle
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from forked_python import run_python

from tile_ir.switches import OVERRIDES
from tile_runtime.scripts.forked_process import ForkedAnswer, _Surroundings

_CODE = """
import base64, pickle, sys
from pathlib import Path
from tile_runtime.scripts.forked_process import _answer

class Connection:
    def __init__(self, path):
        self.send_bytes = Path(path).write_bytes

path, *request = pickle.loads(base64.b64decode(sys.stdin.read()))
_answer(Connection(path), *request)
"""


def answer_forked(
    function: Callable[..., str],
    *arguments: Any,
    seconds: float,
    folder: str = "",
    switches: Mapping[str, Any] | None = None,
) -> ForkedAnswer:
    with tempfile.TemporaryDirectory() as scratch:
        output, answer = Path(scratch, "printed"), Path(scratch, "answer")
        place = _Surroundings(
            str(output),
            folder or os.getcwd(),
            dict(os.environ),
            OVERRIDES.get(),
            switches or {},
            seconds,
        )
        request = pickle.dumps((str(answer), place, function, arguments))
        run_python(["-c", _CODE], given=base64.b64encode(request).decode())
        value = answer.read_text() if answer.exists() else None
        printed = output.read_text() if output.exists() else ""
    return ForkedAnswer(value, printed, value is None and "Timeout (" in printed)
