"""Names that stop a kernel, by the reason why."""

from __future__ import annotations

from tile_ir.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NameGroup:
    """Names that stop a kernel for one reason: `says` is the reason, `write` the replacement."""

    says: str
    write: str
    names: tuple[str, ...]

    @staticmethod
    def of(says: str, write: str, text: str) -> NameGroup:
        """The group of the names that stand in a text."""
        return NameGroup(says, write, tuple(text.split()))
