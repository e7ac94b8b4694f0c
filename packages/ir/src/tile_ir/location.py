"""Where something stands in the user's Python. Data only; rendering is in `diagnostics`."""

from __future__ import annotations

from dataclasses import dataclass

from tile_ir.quick_init import quick_init


@quick_init
@dataclass(frozen=True, slots=True, order=True)
class Loc:
    """A place in a source file. Lines and columns count from 1, as editors show them."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"
