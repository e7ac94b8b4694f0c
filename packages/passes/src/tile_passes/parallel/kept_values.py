"""Keep the value of every element of a nest in a tile, until the end of the nest."""

from __future__ import annotations

from tile_ir import Buffer, DType, Expr, For, Load, Loc, Store
from tile_ir.analysis import Ranges, loop_range
from tile_ir.quick_dataclasses import dataclass
from tile_passes.parallel.nest import domain_of
from tile_passes.parallel.private_values import as_kept, kept_in, read_back
from tile_passes.parallel.temporaries import Temporaries
from tile_passes.parallel.tile_steps import most_extents


@dataclass(frozen=True, slots=True)
class KeptValues:
    """For one function, whose tiles the values are kept in."""

    temporaries: Temporaries

    def keep(
        self, known: Ranges, value: Expr, loops: tuple[For, ...], loc: Loc
    ) -> tuple[Store, Expr]:
        """A tile for the value of every element, and how it is read. Raises Unsuitable."""
        domain = domain_of(loops)
        tile = self.spread(known, value, loops, loc, kept_in(value.dtype))
        places = tuple(v - start for v, start in zip(domain.vars, domain.starts, strict=True))
        kept = Store(tile, places, as_kept(value), loc)
        return kept, read_back(Load(tile, places), value.dtype)

    def spread(
        self,
        known: Ranges,
        value: Expr,
        loops: tuple[For, ...],
        loc: Loc,
        kind: DType | None = None,
    ) -> Buffer:
        """A tile for the value of every element until the end of the nest. Raises Unsuitable."""
        domain = domain_of(loops)
        for loop in loops:
            known = {**known, loop.var: loop_range(loop, known)}
        most = most_extents(domain, known)
        return self.temporaries.keep(kind or value.dtype, domain.extents, most, value, loc)
