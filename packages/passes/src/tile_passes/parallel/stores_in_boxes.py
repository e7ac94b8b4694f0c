"""Stores over parts of a domain that conditions leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tile_ir import Memory, Stmt, Store, written_buffers
from tile_ir.analysis import Ranges
from tile_passes.parallel.nest import Leaf, Unsuitable
from tile_passes.parallel.parts_of_rows import Steps
from tile_passes.parallel.serial_forms import under
from tile_passes.parallel.temporaries import Temporaries


def in_boxes(
    parts: Sequence[Leaf],
    known: Ranges,
    steps_of: Steps,
    otherwise: Callable[[Leaf], list[Stmt]],
    temporaries: Temporaries,
) -> list[Stmt] | None:
    """Stores over parts of a domain. None where a choice between two values is better: for tiles,
    whose parts may start inside blocks. Parts of gm are stored `otherwise`."""
    made = len(temporaries.allocs)
    steps: list[Stmt] = []
    try:
        for part in parts:
            assert isinstance(part.stmt, Store), "the parts are stores"
            steps += under(part.guards, steps_of(part.stmt, part, known), part.stmt.loc)
            temporaries.give_back_all()
    except Unsuitable:
        temporaries.forget_since(made)
        stores = tuple(p.stmt for p in parts)
        if any(b.memory is not Memory.GM for b in written_buffers(stores)):
            return None
        return [step for part in parts for step in otherwise(part)]
    return steps
