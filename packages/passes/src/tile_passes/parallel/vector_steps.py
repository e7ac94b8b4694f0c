"""Define the interface of a vector statement for the modules that compute some of its expressions,
and request their operands from it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from tile_ir import DType, Expr, Region, cast, walk_expr
from tile_passes.parallel.accesses import variables_in
from tile_passes.parallel.nest import Domain
from tile_passes.parallel.operators import is_foreign
from tile_passes.parallel.tile_steps import TileSteps

Value = Region | Expr


class VectorSteps(TileSteps, ABC):
    """A value over a domain is a region, or a scalar expression; `into` is where it may be put."""

    @abstractmethod
    def typed(self, e: Expr, dtype: DType, domain: Domain, into: Region | None) -> Value:
        """The expression as values of the type: a region, or a scalar expression as it stands."""

    @abstractmethod
    def apply(
        self, name: str, left: Expr, right: Expr, dtype: DType, domain: Domain, into: Region | None
    ) -> Region:
        """An operation of two expressions, of which one may be a scalar."""

    @abstractmethod
    def spread(
        self, vector: Region, line: Domain, domain: Domain, into: Region | None = None
    ) -> Region:
        """The values of a line of the domain, repeated over all of it."""

    @abstractmethod
    def convert(self, value: Region, dtype: DType, domain: Domain, into: Region | None) -> Region:
        """The values in another type."""

    def is_scalar(self, e: Expr, domain: Domain) -> bool:
        """Whether the scalar unit computes the expression once for all elements."""
        return not variables_in(e, domain) and not any(map(is_foreign, walk_expr(e)))

    def filled(self, scalar: Expr, dtype: DType, domain: Domain) -> Region:
        tile = self.tile(dtype, domain)
        self.emit("fill", tile, cast(scalar, dtype))
        return tile
