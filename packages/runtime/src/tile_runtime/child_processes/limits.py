"""Limits of a child process."""

from __future__ import annotations

from tile_ir.quick_dataclasses import dataclass

# For a child that runs what its owner trusts: bounded by the machine.
UNLIMITED_MB = 1 << 20


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """Limits of a child: wall-clock seconds, memory it may add to that of an idle process (None for
    no limit), and bytes it may answer with."""

    seconds: float = 60.0
    memory_mb: int | None = 2048
    answer_mb: int = 512

    @staticmethod
    def of_time(seconds: float) -> ChildLimits:
        """A limit of time alone."""
        return ChildLimits(seconds, None, UNLIMITED_MB)
