"""Read the sizes of `--vary`: `M=256:8192:x2`, `M,N=256:1024:+256`, `M=1,2,3`."""

from __future__ import annotations

import ast
import re
from typing import Any

from tile_ir import CallError

_RANGE = re.compile(r"(\d+):(\d+):([x+])(\d+)")
# More would be a mistyped step.
_MOST = 200


def vary_argument(text: str) -> list[dict[str, Any]]:
    """Return the sizes, each as arguments by name; several names have equal values. CallError for
    what is no list and no range."""
    left, equals, right = text.partition("=")
    names = left.split(",")
    if not equals or not all(name.isidentifier() for name in names):
        raise _wrong(text, "it has no name")
    return [dict.fromkeys(names, value) for value in _values(text, right)]


def _values(text: str, right: str) -> list[Any]:
    if ":" not in right:
        if not all(right.split(",")):
            raise _wrong(text, "a value is missing")
        return [_literal(word) for word in right.split(",")]
    match = _RANGE.fullmatch(right)
    if match is None:
        raise _wrong(text, f"{right!r} is no range")
    at, last, step = int(match[1]), int(match[2]), int(match[4])
    if at < 1 or (step < 2 if match[3] == "x" else step < 1):
        raise _wrong(text, "it does not grow")
    values = []
    while at <= last:
        values.append(at)
        at = at * step if match[3] == "x" else at + step
    if not values or len(values) > _MOST:
        raise _wrong(text, f"it gives {len(values) or 'no'} sizes")
    return values


def _literal(word: str) -> Any:
    try:
        return ast.literal_eval(word)
    except (ValueError, SyntaxError):
        return word


def _wrong(text: str, why: str) -> CallError:
    return CallError(
        "kernel-arguments",
        f"--vary {text}: {why}",
        hint="give FIRST:LAST:xFACTOR, FIRST:LAST:+STEP or values: --vary M=256:8192:x2",
    )
