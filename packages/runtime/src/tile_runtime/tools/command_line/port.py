"""`tile-ascend port`: what becomes of the names in a script, before anything is compiled."""

from __future__ import annotations

import argparse
import ast
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tile_frontend._dialects.porting import ORDER, PortedName, porting_list
from tile_ir import KernelError, Loc

_DESCRIPTION = """\
List, by line, what becomes of the names of the language in a script written for GPUs: errors with
what to write instead, hints without effect, and what has another form here. The script is read
alone, not imported or run. The exit code is 1 when something must be changed, else 0.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.add_argument("script", type=Path)
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def run(options: argparse.Namespace) -> int:
    found = porting_list(_parsed(options.script))
    print((_json if options.json else _text)(str(options.script), found))
    return int(any(f.outcome == "error" for f in found))


def _parsed(path: Path) -> ast.Module:
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        return ast.parse(text)
    except SyntaxError as error:
        place = Loc(str(path), error.lineno or 1, error.offset or 1)
        raise KernelError("script-syntax", f"the script is no Python: {error.msg}", place) from None


def _text(file: str, found: Sequence[PortedName]) -> str:
    counts = Counter(f.outcome for f in found)
    total = ", ".join(f"{counts[outcome]} {_PLURALS[outcome]}" for outcome in ORDER)
    return "\n".join([*(f"{file}:{f.line}:{f.column}: {f}" for f in found), total])


_PLURALS = {"error": "to change", "no effect": "without effect", "lowered": "in another form"}


def _json(file: str, found: Sequence[PortedName]) -> str:
    counts = Counter(f.outcome for f in found)
    whole = {
        "version": 1,
        "file": file,
        "names": [asdict(f) for f in found],
        "counts": {outcome: counts[outcome] for outcome in ORDER},
    }
    return json.dumps(whole, indent=2)
