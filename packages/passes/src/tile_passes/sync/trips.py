"""Whether a loop surely runs, from its bounds and from the loops around it. Into how many
residues it is taken apart is in `modulus`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tile_ir import For
from tile_ir.analysis.affine import resolved, simplify
from tile_ir.analysis.intervals import Ranges, interval
from tile_ir.expr import Expr, Load, Var, walk


def surely_runs(
    loop: For, around: Iterable[For], values: Mapping[Var, Expr], known: Ranges
) -> bool:
    """Whether the body runs at least once: for all `known` values, or because it has at least as
    many rounds as a loop `around`, which runs while it does."""
    trips = _trips(loop, values)
    if trips is None:
        return False
    if interval(trips, known).low >= 1:
        return True
    outer = (_trips(each, values) for each in around)
    return any(t is not None and interval(simplify(trips - t), known).low >= 0 for t in outer)


def _trips(loop: For, values: Mapping[Var, Expr]) -> Expr | None:
    """How many rounds, if nothing that the number is made of can change in between."""
    found = simplify(resolved(loop.stop - loop.start, values))
    return None if any(isinstance(e, Load) for e in walk(found)) else found
