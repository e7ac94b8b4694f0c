"""Copy a whole tile to its twin in another memory."""

from __future__ import annotations

from tile_ir import OPS, Buffer, Loc, Op, Region, Stmt, generated


def handover(src: Buffer, dst: Buffer, loc: Loc) -> Stmt:
    """The copy, which the compiler adds for what stands at a place of the source."""
    sides = Region.whole(src), Region.whole(dst)
    return generated(Op(OPS["copy"], sides, (False, False, None), loc))
