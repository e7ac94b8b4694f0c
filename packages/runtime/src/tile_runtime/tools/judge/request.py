"""A request to judge a kernel: what to judge, against what, on which sizes, within which limits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from tile_ir import CallError
from tile_ir.quick_dataclasses import dataclass
from tile_runtime.child_processes.limits import ChildLimits

# Functions of a file that give the right results, in the order in which they are looked for.
REFERENCES = ("reference", "ref_program")
# Sizes or arguments by name.
Named = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """A request to judge a kernel.

    `file` is the candidate; `text` stands for its content if it is not None. `kernel` names the
    kernel or factory in it; empty means the only one there. `arguments` go to the factory.
    `reference` is `file.py:function`, or the name of a function in the candidate; empty means the
    function `reference` or `ref_program` of the candidate, if it has one. `sizes` are further sizes
    to run with, each a set of factory arguments and symbols. `edges` adds sizes at the edges, and
    `random` so many random ones. With `every_size` a kernel has to be right for all sizes that its
    factory accepts; else the sizes that the request does not give decide nothing. `rtol`
    and `atol` of None mean those of the output's type.
    `advise` is how many changes to try for the advice. `readable` are files and folders that the
    candidate may read besides the Python files in its own folder.
    """

    file: str
    kernel: str = ""
    text: str | None = None
    arguments: Named = ()
    reference: str = ""
    sizes: tuple[Named, ...] = ()
    edges: bool = True
    every_size: bool = False
    random: int = 1
    seed: int | None = None
    rtol: float | None = None
    atol: float | None = None
    advise: int = 0
    readable: tuple[str, ...] = ()
    limits: ChildLimits = ChildLimits()

    def to_json(self) -> dict[str, Any]:
        """The request as `from_json` reads it."""
        data = {f.name: getattr(self, f.name) for f in fields(self)}
        limits = {f.name: getattr(self.limits, f.name) for f in fields(self.limits)}
        data["readable"] = list(self.readable)
        named = {"arguments": dict(self.arguments), "sizes": [dict(s) for s in self.sizes]}
        return {**data, **named, "limits": limits}

    @staticmethod
    def from_json(data: Any) -> JudgeRequest:
        """Raises CallError for what is no request: `data` may come from anywhere."""
        given = _checked(data, _TYPES, "a request")
        if "file" not in given:
            raise CallError("judge-request", "the request has no `file`, the script to judge")
        limits = ChildLimits(**_checked(given.pop("limits", {}), _LIMIT_TYPES, "limits"))
        for name in ("seconds", "memory_mb", "answer_mb"):
            if not 0 < getattr(limits, name) <= _MOST[name]:
                raise CallError(
                    "judge-request",
                    f"the limit {name} is {getattr(limits, name):g}, expected a number above 0 "
                    f"and up to {_MOST[name]}",
                )
        sizes = tuple(_named(s, "sizes") for s in given.pop("sizes", ()))
        arguments = _named(given.pop("arguments", {}), "arguments")
        readable = tuple(map(str, given.pop("readable", ())))
        for name, most in (("random", _MOST_CASES), ("advise", _MOST_TRIES)):
            if not 0 <= given.get(name, 0) <= most:
                raise CallError("judge-request", f"{name} is {given[name]}, expected 0 to {most}")
        return JudgeRequest(
            **given, arguments=arguments, sizes=sizes, readable=readable, limits=limits
        )

    @staticmethod
    def from_text(text: str | bytes) -> JudgeRequest:
        """The request of a JSON text. Raises CallError as above."""
        try:
            return JudgeRequest.from_json(json.loads(text))
        except CallError:
            raise
        except (ValueError, RecursionError) as error:
            raise CallError("judge-request", f"the request is no JSON: {error}") from None


_NUMBER = (int, float)
_TYPES: dict[str, Any] = {
    "file": str, "kernel": str, "text": (str, type(None)), "arguments": dict, "reference": str,
    "sizes": list, "edges": bool, "every_size": bool, "random": int, "seed": (int, type(None)),
    "rtol": (*_NUMBER, type(None)), "atol": (*_NUMBER, type(None)), "advise": int,
    "readable": list, "limits": dict,
}  # fmt: skip
_LIMIT_TYPES: dict[str, Any] = {"seconds": _NUMBER, "memory_mb": int, "answer_mb": int}
_MOST = {"seconds": 3600, "memory_mb": 1 << 20, "answer_mb": 1 << 14}
_MOST_CASES, _MOST_TRIES = 64, 256


def _checked(data: Any, types: Mapping[str, Any], what: str) -> dict[str, Any]:
    """A copy of an object whose values have these types. CallError names the one that has not."""
    if not isinstance(data, dict):
        raise CallError("judge-request", f"{what}: expected an object, found {_type(data)}")
    for name, value in data.items():
        if name not in types:
            known = ", ".join(types)
            raise CallError("judge-request", f"{what} has no `{name}`", hint=f"one of {known}")
        expected = types[name]
        is_flag = isinstance(value, bool) and expected is not bool
        if is_flag or not isinstance(value, expected):
            raise CallError("judge-request", f"{what}: `{name}` is of type {_type(value)}")
    return dict(data)


def _named(data: Any, what: str) -> Named:
    """Values by name that JSON can carry."""
    if not isinstance(data, dict):
        raise CallError("judge-request", f"{what}: expected an object, found {_type(data)}")
    return tuple(data.items())


def _type(value: Any) -> str:
    return type(value).__name__
