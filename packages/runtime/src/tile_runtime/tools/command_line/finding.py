"""What the doctor says of one thing it looked at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """One thing looked at. `needed`: without it kernels can not run on the simulator. `later`: the
    first use makes it."""

    name: str
    works: bool
    detail: str
    fix: str | None = None
    needed: bool = True
    later: bool = False
