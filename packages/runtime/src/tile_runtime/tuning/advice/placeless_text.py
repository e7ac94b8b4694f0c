"""The text of a function without the places it was written at: equal for equal kernels."""

from __future__ import annotations

import re

from tile_ir import Func, print_func

_PLACE = re.compile(r" @\d+:\d+:\d+")


def placeless_text(func: Func) -> list[str]:
    """Its lines."""
    lines = print_func(func).splitlines()
    return [_PLACE.sub("", line) for line in lines if not line.startswith("file ")]
