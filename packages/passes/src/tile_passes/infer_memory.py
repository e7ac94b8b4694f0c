"""Decides the memory of `alloc_shared` and `alloc_fragment` buffers."""

from __future__ import annotations

from tile_ir import For, Func, KernelError, LoopKind, Memory, Phase, Store, Target
from tile_ir.nodes import Body
from tile_ir.verifier import REGISTERS
from tile_ir.walk import bodies, loads
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.BUILT, gives=Phase.TYPED)
def infer_memory(func: Func, target: Target) -> Func:
    """Give every open buffer a memory.

    Needs: BUILT. Gives: TYPED. Limits: inference is not here yet, so open buffers and
    compiler-split lanes are errors at their line.
    """
    for alloc in func.launch.allocs:
        if alloc.buffer.memory in (Memory.SHARED, Memory.FRAGMENT):
            raise KernelError(
                "not-lowered-yet",
                f"`{alloc.buffer.name}` is a {alloc.buffer.memory.value} buffer: "
                "memory inference is not available yet",
                alloc.loc,
                "name the memory: T.alloc_ub, T.alloc_L1, T.alloc_L0C",
            )
    if func.launch.threads == 2:
        raise KernelError(
            "not-lowered-yet",
            "threads=2 leaves the split over both vector cores to the compiler, "
            "which is not available yet",
            func.launch.loc,
            "use the two-index form: with T.Kernel(n, is_npu=True) as (cid, vid)",
        )
    _check_elements(func.launch.body)
    return func


def _check_elements(body: Body) -> None:
    """Elements of the cube core's registers only stand in T.Parallel, where they become a copy."""
    for stmt in body:
        if isinstance(stmt, For) and stmt.kind is LoopKind.PARALLEL:
            continue
        touched = [load.buffer for load in loads(stmt)]
        if isinstance(stmt, Store):
            touched.append(stmt.buffer)
        for buffer in touched:
            if buffer.memory in REGISTERS:
                raise KernelError(
                    "scalar-access",
                    f"the scalar unit cannot access elements of `{buffer.name}` in "
                    f"{buffer.memory.value}",
                    stmt.loc,
                    "copy it to gm with T.copy, and read it there",
                )
        for inner in bodies(stmt):
            _check_elements(inner)
