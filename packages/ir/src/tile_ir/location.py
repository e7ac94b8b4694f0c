"""Where something stands in the user's Python. Data only; rendering is in `diagnostics`."""

from __future__ import annotations

from dataclasses import field

from tile_ir.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Loc:
    """A place in a source file. Lines and columns count from 1, as editors show them.

    `generated` marks the origin of a statement: the compiler added it for the statement at this
    place, and orders it even where the author orders the core. It is no part of the place.
    """

    file: str
    line: int
    column: int
    generated: bool = field(default=False, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"
