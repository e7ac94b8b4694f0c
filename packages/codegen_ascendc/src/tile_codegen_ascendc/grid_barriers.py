"""Barriers of all cores of a launch, and of all ranks: how they are written depends on which kinds
of core have them, as waiting for a kind that has none would never end."""

from __future__ import annotations

from collections.abc import Sequence

from tile_ir import Core, KernelError, Op, Section, walk_ops
from tile_ir.opdef import Among


def grid_barrier(op: Op, core: Core, sections: Sequence[Section], lanes: int) -> list[str]:
    """The lines of a barrier in the section of a core; a block has so many `lanes`. Raises
    KernelError for a barrier of ranks that only cube cores have."""
    alike = {
        s.core: [other for other in walk_ops(s.body) if other.opdef is op.opdef] for s in sections
    }
    synchronised = {kind for kind, found in alike.items() if found}
    if op.opdef.among is Among.RANKS:
        return [_of_ranks(op, synchronised)]
    if op.opdef.among is Among.BLOCK:
        cubes = op.attr("cubes") and len(synchronised) == 2
        if lanes == 1 and not cubes:
            return ["AscendC::PipeBarrier<PIPE_ALL>();"]
        return [f"tile::sync_block<{'true' if cubes else 'false'}>();"]
    if len(synchronised) == 2:
        return ["AscendC::SyncAll<false>();"]
    if core is Core.VECTOR:
        return ["AscendC::SyncAll<true>();"]
    return [
        "AscendC::PipeBarrier<PIPE_ALL>();",
        "AscendC::CrossCoreSetFlag<0, PIPE_FIX>(11);",
        "AscendC::CrossCoreWaitFlag(11);",
    ]


def _of_ranks(op: Op, synchronised: set[Core]) -> str:
    if len(synchronised) == 2:
        return "aclshmem_barrier_all();"
    if synchronised == {Core.VECTOR}:
        return "aclshmemx_barrier_all_vec();"
    raise KernelError(
        "barrier-of-cubes",
        "barrier: only the cube cores of this kernel have work, and the vector cores signal other "
        "ranks",
        op.loc,
        "let vector cores take part, or wait for words with T.wait_ge",
    )
