"""Findings of a run as data: JSON of our own, and SARIF 2.1.0, which code hosts show at the lines
of a pull request (docs/use/checks.md#findings-as-data)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from tile_ir import Diagnostic, Loc, TileError
from tile_ir.quick_dataclasses import dataclass

# Of the JSON: raised when a name goes or changes its meaning, not when one is added.
VERSION = 1
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


@dataclass(frozen=True, slots=True)
class Found:
    """A finding and the other places it is about; block, core and API of the simulated call, where
    it is one."""

    diagnostic: Diagnostic
    notes: tuple[Diagnostic, ...] = ()
    block: int | None = None
    core: str = ""
    api: str = ""


def found_by(error: TileError) -> list[Found]:
    """The text of an error, and the further ones of its run. Those of simulated kernels name the
    call."""
    found = []
    for each in (error, *getattr(error, "others", ())):
        fault = getattr(each, "fault", None)
        call = (fault.block, fault.core, fault.api) if fault is not None and fault.core else ()
        found.append(Found(each.diagnostic, each.notes, *call))
    return found


def finding_data(found: Found) -> dict[str, Any]:
    """One finding as data."""
    diagnostic = found.diagnostic
    return {
        "kind": diagnostic.slug,
        "severity": diagnostic.severity,
        **_place(diagnostic.loc),
        "message": diagnostic.message,
        "hint": diagnostic.hint,
        "block": found.block,
        "core": found.core or None,
        "api": found.api or None,
        "places": [{**_place(n.loc), "message": n.message} for n in found.notes],
    }


def as_json(found: Sequence[Found], kernel: str, check: str, exit_code: int, **more: Any) -> str:
    """One object: what ran, how it ended, its findings, and what `more` names."""
    findings = [finding_data(each) for each in found]
    whole = {
        "version": VERSION, "kernel": kernel, "check": check, "exit_code": exit_code,
        "findings": findings, **more,
    }  # fmt: skip
    return json.dumps(whole, indent=2)


def found_in(whole: Mapping[str, Any]) -> list[Found]:
    """The findings of such an object. KeyError or TypeError if it is another one."""
    return [
        Found(
            Diagnostic(
                each["kind"], each["message"], _loc(each), each["hint"], each["severity"]
            ),
            tuple(
                Diagnostic("", note["message"], _loc(note), severity="note")
                for note in each["places"]
            ),
            each["block"], each["core"] or "", each["api"] or "",
        )
        for each in whole["findings"]
    ]  # fmt: skip


def as_sarif(found: Sequence[Found]) -> str:
    """One run of one tool, with a rule for each kind."""
    kinds = sorted({each.diagnostic.slug for each in found})
    rules = [{"id": kind, "name": kind} for kind in kinds]
    driver = {"name": "tile-ascend", "version": version("tile-runtime"), "rules": rules}
    results = [
        {
            "ruleId": each.diagnostic.slug,
            "ruleIndex": kinds.index(each.diagnostic.slug),
            "level": each.diagnostic.severity,
            "message": {"text": _text(each.diagnostic)},
            "locations": list(_locations(each.diagnostic)),
            "relatedLocations": [
                {**place, "message": {"text": note.message}}
                for note in each.notes
                for place in _locations(note)
            ],
        }
        for each in found
    ]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _text(diagnostic: Diagnostic) -> str:
    hint = f"\nhint: {diagnostic.hint}" if diagnostic.hint else ""
    return diagnostic.message + hint


def _place(loc: Loc | None) -> dict[str, Any]:
    if loc is None:
        return {"file": None, "line": None, "column": None}
    return {"file": loc.file, "line": loc.line, "column": loc.column}


def _loc(place: Mapping[str, Any]) -> Loc | None:
    if place["file"] is None:
        return None
    return Loc(place["file"], place["line"], place["column"])


def _locations(diagnostic: Diagnostic) -> Iterator[dict[str, Any]]:
    loc = diagnostic.loc
    if loc is not None:
        region = {"startLine": max(loc.line, 1), "startColumn": max(loc.column, 1)}
        artifact = {"uri": loc.file.replace("\\", "/")}
        yield {"physicalLocation": {"artifactLocation": artifact, "region": region}}
