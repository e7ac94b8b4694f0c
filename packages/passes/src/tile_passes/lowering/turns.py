"""Which loops take slots in turn, one after the other by their counter: those whose turns the
compiler orders phase by phase. How it finds the phases is in `sync.modulus`."""

from __future__ import annotations

import math

from tile_ir import Automatic, For, Func
from tile_ir.analysis.residues import MOST_RESIDUES, modulus_of
from tile_ir.expr import Var
from tile_ir.nodes import Break
from tile_ir.walk import walk

SLOTS = 2


def turn_of(loop: For, func: Func) -> Var | None:
    """The counter of the loop, if what its turns do in slots `counter % SLOTS` is ordered slot by
    slot: a break, or a period of the user's that would make too many residues, leave no slots."""
    if Automatic.SYNC not in func.automatic:
        return None
    if any(isinstance(stmt, Break) for stmt in walk(loop.body)):
        return None
    return loop.var if math.lcm(modulus_of(loop, {}), SLOTS) <= MOST_RESIDUES else None
