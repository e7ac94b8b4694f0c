"""Know the thread of a GPU's block that an iteration of a loop over the threads is."""

from __future__ import annotations

from dataclasses import field

from tile_ir import Store, Var
from tile_ir.quick_dataclasses import dataclass


@dataclass(eq=False, slots=True)
class OneThread:
    """The number of the thread, and the assignments to elements that it makes."""

    number: Var
    assigned: list[Store] = field(default_factory=list)
