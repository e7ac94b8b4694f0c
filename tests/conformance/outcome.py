"""What became of a script, read from its exit code and what it printed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """Ends of a script, the good ones first."""

    PASS = "pass"
    NO_TEXT = "no test text"
    DEVELOPER = "developer mode"
    NEEDS_NPU = "needs NPU"
    NEEDS_PACKAGE = "needs a Python package"
    NEEDS_PORTING = "needs porting"
    DEFECT = "defect of the script"
    UNSUPPORTED = "unsupported"
    BUILD = "compiler failed"
    RACE = "race"
    FAULT = "fault on the device"
    TIMEOUT = "timeout"
    MEMORY = "out of memory"
    WRONG = "wrong result"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """`slug` is the error's; `place` the line it names; `detail` its message or the symbol."""

    kind: Kind
    slug: str = ""
    place: str = ""
    detail: str = ""


# A script is right if it says so in one of these ways (docs/language/index.md#kernel-objects).
_PASSED = re.compile(r"kernel output match|test passed!", re.IGNORECASE)
_DIAGNOSTIC = re.compile(
    r"(?:(?P<place>\S+?:\d+(?::\d+)?): )?error\[(?P<slug>[\w-]+)\]: (?P<message>.*)$", re.MULTILINE
)
_EXCEPTION = re.compile(r"^(?P<name>[\w.]*(?:Error|Exception|Exit|Interrupt)\b[^:\n]*):? ?(?P<message>.*)$",
                        re.MULTILINE)  # fmt: skip
_MISMATCH = re.compile(
    r"not close|not equal|mismatch|\bfailed\b|\bdiffer(s|ed|ent)?\b", re.IGNORECASE
)
# What scripts print, and catch, whose exit code counts otherwise.
_TOLD = re.compile(r"\u2717|not close|WARNING: .*\b(Error|mismatch)\b")
_MEMORY = re.compile(r"can't allocate memory|MemoryError|bad_alloc|Cannot allocate memory")
_SYMBOL = re.compile(r"`([^`]+)`")

_TIMED_OUT = 124
_UNSUPPORTED = frozenset({"unknown-name", "unsupported", "platform", "target"})
_DEVICE_FAULTS = frozenset(
    {
        "flag-set-twice", "flag-wait-without-set", "flag-left-set", "flag-overflow", "deadlock",
        "uninitialised-read", "out-of-bounds", "misaligned", "bad-argument", "stale-read",
        "store-not-written-back", "queue", "queue-full", "queue-empty", "queue-no-buffer",
        "events-exhausted", "unit-flag", "redundant-store", "event-id",
        "cut-short", "operand-overlap", "register-left-set", "register-not-set",
    }
)  # fmt: skip


def outcome_of(output: str, code: int, exit_code_counts: bool = False) -> Outcome:
    """Upstream passes a script whose text says so, whatever its exit code. Here the exit code must
    be 0 too: a script that says so for its first case may fail in the second."""
    if code == 0:
        if exit_code_counts and _TOLD.search(output):
            return Outcome(Kind.WRONG, detail=_line_with(_TOLD, output))
        if exit_code_counts or _PASSED.search(output):
            return Outcome(Kind.PASS)
        caught = _DIAGNOSTIC.search(output)
        if caught:
            return _diagnosed(caught)
        if _MISMATCH.search(output):
            return Outcome(Kind.WRONG, detail=_line_with(_MISMATCH, output))
        return Outcome(Kind.NO_TEXT)
    found = list(_DIAGNOSTIC.finditer(output))
    if found:
        return _diagnosed(found[-1])  # the one that was not caught
    if _MEMORY.search(output):
        return Outcome(Kind.MEMORY, detail=_line_with(_MEMORY, output))
    if code == _TIMED_OUT:
        return Outcome(Kind.TIMEOUT)
    raised = list(_EXCEPTION.finditer(output))
    if raised:
        name, message = raised[-1]["name"], raised[-1]["message"]
        if name == "ModuleNotFoundError" and "tilelang" not in message:
            return Outcome(Kind.NEEDS_PACKAGE, detail=message)
        wrong = name.startswith("AssertionError") and _MISMATCH.search(message)
        worst = _line_with(re.compile("Greatest absolute difference"), output) if wrong else ""
        kind = Kind.WRONG if wrong else Kind.FAILED
        return Outcome(kind, name.rpartition(".")[2], detail=worst or message)
    if _MISMATCH.search(output):
        return Outcome(Kind.WRONG, detail=_line_with(_MISMATCH, output))
    return Outcome(Kind.FAILED, detail=f"exit code {code}")


def passes_by_text(output: str) -> bool:
    """Upstream's own criterion."""
    return _PASSED.search(output) is not None


def _diagnosed(found: re.Match[str]) -> Outcome:
    slug, message = found["slug"], found["message"]
    return Outcome(_kind_of(slug), slug, found["place"] or "", _detail(slug, message))


def _kind_of(slug: str) -> Kind:
    if slug == "not-lowered-yet":
        return Kind.DEVELOPER
    if slug == "race":
        return Kind.RACE
    if slug in _DEVICE_FAULTS:
        return Kind.FAULT
    if slug in ("timeout", "time-out"):
        return Kind.TIMEOUT
    if slug.startswith("compiler"):
        return Kind.BUILD
    return Kind.UNSUPPORTED


def _detail(slug: str, message: str) -> str:
    """The symbol that is missing, or the whole message."""
    symbol = _SYMBOL.search(message) if slug in _UNSUPPORTED else None
    return symbol[1] if symbol else message


def _line_with(pattern: re.Pattern[str], output: str) -> str:
    return next((line.strip() for line in output.splitlines() if pattern.search(line)), "")
