"""Devices that run one kernel together: the number of a rank and of all ranks, and tensors that
every rank has an instance of (docs/language/rules.md#symmetric-tensors).

A symmetric tensor of shape S is a buffer of shape (all_ranks, *S): its first index says whose
instance an element belongs to, so that whatever compares places compares ranks as well.
"""

from __future__ import annotations

from dataclasses import replace

from tile_ir.expr import Buffer, Const, Expr, Load, Var
from tile_ir.regions import Region, Slice

# The number of the device that runs the kernel, from 0, and how many run it. No user's name.
RANK = Var("own_rank")
RANKS = Var("all_ranks")
NUMBERS_OF_RANKS = frozenset({RANK, RANKS})
# What a launch counts its calls by, from 1 on, and within a call the turns of a list of tasks: what
# blocks and ranks tell each other grows with it, and nothing is set back between calls.
STEP = Var("own_step")
NUMBERS_OF_LAUNCH = NUMBERS_OF_RANKS | {STEP}


def is_symmetric(buffer: Buffer) -> bool:
    """Whether every rank has an instance of the buffer that the others reach."""
    return bool(buffer.shape) and buffer.shape[0] == RANKS


def instance(buffer: Buffer) -> Buffer:
    """A symmetric buffer as one rank has it."""
    return replace(buffer, shape=buffer.shape[1:])


def own(buffer: Buffer) -> Region:
    """All of the instance of the rank that runs."""
    inner = (Slice(Const(0), size) for size in buffer.shape[1:])
    return Region(buffer, (Slice(RANK, Const(1)), *inner))


def on_rank(region: Region, rank: Expr) -> Region:
    """The same part of the instance of another rank."""
    return Region(region.buffer, (Slice(rank, Const(1)), *region.dims[1:]))


def inside_instance(region: Region) -> Region:
    """A part of a symmetric buffer as a part of the instance that it lies in."""
    return Region(instance(region.buffer), region.dims[1:])


def rank_of(place: Region | Load) -> Expr:
    """The rank whose instance of a symmetric buffer a part or an element lies in."""
    return place.indices[0] if isinstance(place, Load) else place.dims[0].offset


def is_far(region: Region) -> bool:
    """Whether a part of a symmetric buffer is named as that of a rank, which may be another one.
    Only `T.quiet` and words order such an access with those of the own instance
    (docs/language/rules.md#what-is-ordered); the order between the cores of a block does not."""
    return is_symmetric(region.buffer) and rank_of(region) != RANK
