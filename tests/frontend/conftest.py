"""Shows built kernels as text, without the places of the statements."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import tile_ir
from tile_ir import Func

Show = Callable[[Func], list[str]]


def _statements(func: Func) -> list[str]:
    """The printed statements of the launch, indentation kept, allocations and places left out."""
    lines = tile_ir.print_func(func).splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("  launch"))
    shown = [re.sub(r" @\d+:\d+:\d+", "", line[4:]) for line in lines[first + 1 : -2]]
    shown = [re.sub(r"^( *)store ", r"\1", line) for line in shown]
    options = " {enable_relu=false, transpose=false, pad_value=none}"
    return [
        line.replace(options, "").replace("[]", "")
        for line in shown
        if not line.startswith("alloc ")
    ]


@pytest.fixture
def show() -> Show:
    return _statements
