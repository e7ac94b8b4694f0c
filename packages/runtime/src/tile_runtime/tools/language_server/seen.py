"""Hold the facts of a script: findings, kernels, and factories without sizes. They go as JSON from
the process that looks at the script to the server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tile_ir.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SeenNote:
    """Another place that matters to a finding; a place has no file where it has no line."""

    file: str
    line: int
    column: int
    message: str


@dataclass(frozen=True, slots=True)
class SeenFinding:
    """A diagnostic of the compiler, or an exception of the script."""

    file: str
    line: int
    column: int
    severity: str
    slug: str
    message: str
    hint: str
    notes: tuple[SeenNote, ...] = ()


@dataclass(frozen=True, slots=True)
class SeenBuffer:
    """A buffer by the line that allocates it. `places` says where its bytes lie, once for each of
    its parts; `lanes` and `reason` are the words of `explain`, or empty."""

    name: str
    line: int
    dtype: str
    shape: str
    places: tuple[str, ...]
    lanes: str
    reason: str


@dataclass(frozen=True, slots=True)
class SeenWork:
    """The cost of a line on one pipe of one kind of core, in a block."""

    line: int
    core: str
    pipe: str
    instructions: int
    cycles: float
    microseconds: float
    gm_bytes: int
    assumed: bool


@dataclass(frozen=True, slots=True)
class SeenKernel:
    """A kernel for certain arguments, from its first line to its last."""

    name: str
    first: int
    last: int
    blocks: str
    chip: str
    buffers: tuple[SeenBuffer, ...]
    work: tuple[SeenWork, ...]


@dataclass(frozen=True, slots=True)
class SeenFactory:
    """A factory that no call in its file says sizes for."""

    name: str
    line: int
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SeenScript:
    findings: tuple[SeenFinding, ...] = ()
    kernels: tuple[SeenKernel, ...] = ()
    unsized: tuple[SeenFactory, ...] = ()


def as_json(seen: SeenScript) -> str:
    return json.dumps(asdict(seen))


def from_json(text: str) -> SeenScript:
    """Read the JSON of `as_json`. ValueError, KeyError or TypeError if it is something else."""
    whole = json.loads(text)
    return SeenScript(
        tuple(_finding(f) for f in whole["findings"]),
        tuple(_kernel(k) for k in whole["kernels"]),
        tuple(SeenFactory(f["name"], f["line"], tuple(f["missing"])) for f in whole["unsized"]),
    )


def _finding(data: Mapping[str, Any]) -> SeenFinding:
    return SeenFinding(**{**data, "notes": tuple(SeenNote(**n) for n in data["notes"])})


def _kernel(data: Mapping[str, Any]) -> SeenKernel:
    buffers = tuple(SeenBuffer(**{**b, "places": tuple(b["places"])}) for b in data["buffers"])
    work = tuple(SeenWork(**w) for w in data["work"])
    return SeenKernel(**{**data, "buffers": buffers, "work": work})
