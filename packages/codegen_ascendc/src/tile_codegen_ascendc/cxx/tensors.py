"""Spell tensors in C++: by name, or by the expression that finds the instance of another rank."""

from __future__ import annotations

from collections.abc import Callable

from tile_codegen_ascendc.cxx.names import cxx_name
from tile_ir import Buffer, Expr
from tile_ir.ranks import RANK


def tensor_on(buffer: Buffer, rank: Expr, spelt: Callable[[Expr], str]) -> str:
    """The tensor object of the instance of a rank, whose number `spelt` writes in C++."""
    name = cxx_name(buffer.name)
    return name if rank == RANK else f"tile::on_rank({name}, {spelt(rank)})"
