"""The surroundings that a child takes over: folder, environment, imports, switches."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tile_ir.quick_dataclasses import dataclass
from tile_ir.switches import OVERRIDES, SWITCHES, override

# Kernels with deep expressions, and the compiler on them, need more than Python's own limit.
_DEEPEST = 10_000


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The working folder, the environment, the folders of imports, the switches that are overridden
    in the owner, and `switches` for the child alone."""

    folder: str
    environment: Mapping[str, str]
    path: tuple[str, ...]
    overrides: Mapping[str, Any]
    switches: Mapping[str, Any]

    @staticmethod
    def here(folder: str = "", switches: Mapping[str, Any] | None = None) -> Surroundings:
        """Those of this process, with another working folder and switches of its own."""
        return Surroundings(
            folder or os.getcwd(), dict(os.environ), (*map(os.path.abspath, sys.path),),
            dict(OVERRIDES.get()), dict(switches or {}),
        )  # fmt: skip

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Take them over in this process, for good but for the switches."""
        os.environ.clear()
        os.environ.update(self.environment)
        # Threads and processes of a script see the environment only.
        chosen = {SWITCHES[name].variable: _word(value) for name, value in self.switches.items()}
        os.environ.update(chosen)
        os.chdir(self.folder)
        sys.path[:] = self.path
        sys.setrecursionlimit(_DEEPEST)
        with override(**{**self.overrides, **self.switches}):
            yield


def _word(value: Any) -> str:
    """The value of a switch as a variable has it."""
    return str(int(value)) if isinstance(value, bool) else str(value)
