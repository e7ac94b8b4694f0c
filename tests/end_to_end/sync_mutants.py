"""Turns a correct source into one that holds all its mutants: each leaves out, renames or moves one
synchronisation, chosen at run time by the exported variable `tile_mutant`."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SYNC = re.compile(
    r"^(?P<indent>\s*)(?P<call>(?:AscendC::)?(?P<name>SetFlag|WaitFlag|PipeBarrier|CrossCoreSetFlag"
    r"|CrossCoreWaitFlag|SyncAll)(?:<(?P<template>[^;()]*)>)?\((?P<id>[^;]*)\));(?P<rest>.*)$"
)
# The pipe a statement of an emitted kernel works on; vector operations are all the others.
_PIPES = {
    "copy_gm_ub": "MTE2", "copy_gm_l1": "MTE2", "clear_l1": "MTE2", "copy_ub_gm": "MTE3",
    "copy_l1_l0a": "MTE1", "copy_l1_l0b": "MTE1", "mma": "M", "copy_l0c_gm": "FIX",
}  # fmt: skip
_STATEMENT = re.compile(r"^\s*(?:(?:tile|AscendC)::)?(?P<name>\w+)\(")

# Where the choice is made, and whether the run came by the change.
DECLARATION = 'extern "C" { extern __attribute__((visibility("default"))) int tile_mutant, tile_mutant_met; }\n'
DEFINITION = "int tile_mutant = 0, tile_mutant_met = 0;\n"


@dataclass(frozen=True)
class Mutant:
    """One change: its number at run time, what it does, and the line it changes."""

    number: int
    change: str
    line: str


def with_mutants(text: str, first: int) -> tuple[str, list[Mutant]]:
    """The text with every mutant in it, numbered from `first`."""
    lines = text.splitlines()
    mutants: list[Mutant] = []
    before: dict[int, list[str]] = {}

    def new(change: str, line: str) -> int:
        mutants.append(Mutant(first + len(mutants), change, line.strip()))
        return mutants[-1].number

    result = list(lines)
    for at, line in enumerate(lines):
        match = _SYNC.match(line)
        if match is None:
            continue
        call, name, event = match["call"], match["name"], match["id"].strip()
        absent = [new("delete", line)]
        if name in ("SetFlag", "WaitFlag"):
            other = new("rename", line)
            call = call.replace(
                f"({match['id']})",
                f"(tile_mutant == {other} ? (tile_mutant_met = 1, ({event}) ^ 1) : ({event}))",
            )
        if name == "SetFlag":
            producer = _producer(lines, at, str(match["template"]))
            if producer is not None:
                moved = new("move before producer", line)
                absent.append(moved)
                before.setdefault(producer, []).append(
                    f"if (tile_mutant == {moved}) {{ {match['call']}; }}"
                )
        guard = " && ".join(f"tile_mutant != {n}" for n in absent)
        result[at] = (
            f"{match['indent']}if ({guard}) {{ {call}; }} else {{ tile_mutant_met = 1; }}{match['rest']}"
        )
    for at, calls in before.items():
        result[at] = " ".join(calls) + " " + result[at].lstrip()
    return "\n".join(result), mutants


def _producer(lines: list[str], at: int, event: str) -> int | None:
    """The nearest statement above, in the same block, that works on the pipe that sets the flag."""
    pipe = event.rpartition("::")[2].split("_")[0]
    indent = len(lines[at]) - len(lines[at].lstrip())
    for index in range(at - 1, -1, -1):
        line = lines[index]
        if not line.strip() or len(line) - len(line.lstrip()) < indent:
            return None
        match = _STATEMENT.match(line)
        if match is None or _SYNC.match(line) or len(line) - len(line.lstrip()) > indent:
            continue
        if _PIPES.get(match["name"], "V") == pipe:
            return index
    return None
