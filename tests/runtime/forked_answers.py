"""Stands for `answer_forked` in tests: its processes are forked from the server of `forked_python`, which
other tests of a run have started already."""

from __future__ import annotations

import base64
import os
import pickle
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

from forked_python import run_python

from tile_ir.switches import OVERRIDES
from tile_runtime.scripts.forked_process import ForkedAnswer, _Surroundings

_CODE = """
import base64, pickle, sys
from tile_runtime.scripts.forked_process import _answer
_answer(*pickle.loads(base64.b64decode(sys.stdin.read())))
"""


def answer_forked(
    function: Callable[..., str],
    *arguments: Any,
    seconds: float,
    folder: str = "",
    switches: Mapping[str, Any] | None = None,
) -> ForkedAnswer:
    with tempfile.TemporaryDirectory() as scratch:
        place = _Surroundings(
            scratch,
            folder or os.getcwd(),
            dict(os.environ),
            OVERRIDES.get(),
            switches or {},
            seconds,
        )
        request = base64.b64encode(pickle.dumps((place, function, arguments)))
        run_python(["-c", _CODE], given=request.decode())
        return place.answer()
