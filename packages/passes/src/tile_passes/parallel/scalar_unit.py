"""Check that the scalar unit can run a statement that no vector operation reaches."""

from __future__ import annotations

from tile_ir import Binary, KernelError, Memory, Stmt, Store, expressions, walk, walk_expr
from tile_ir.verification.own_parts import REGISTERS
from tile_passes.parallel.nest import loads_of
from tile_passes.parallel.operators import is_foreign, is_vector_only


def has_foreign_functions(stmt: Stmt) -> bool:
    """Whether the scalar unit lacks an instruction for some part."""
    return any(
        is_foreign(part)
        for inner in walk((stmt,))
        for e in expressions(inner)
        for part in walk_expr(e)
    )


def check_scalar_unit(stmt: Stmt, reason: str, overflow: KernelError | None = None) -> None:
    """Raise KernelError for a loop that neither unit can run: `overflow`, if the vector unit only
    lacks the room for it."""
    for inner in walk((stmt,)):
        for load in loads_of(inner):
            if load.buffer.memory in REGISTERS:
                raise KernelError(
                    "parallel-access",
                    f"`{load.buffer.name}` in {load.buffer.memory.value} can only be copied to gm: "
                    f"{reason}",
                    inner.loc,
                    "copy it to gm, or through gm to ub, with T.copy",
                )
        if isinstance(inner, Store) and inner.buffer.memory in (Memory.L1, *REGISTERS):
            raise KernelError(
                "parallel-access",
                f"`{inner.buffer.name}` in {inner.buffer.memory.value} is no place for single "
                f"elements: {reason}",
                inner.loc,
                "fill it with T.copy from gm",
            )
        for e in expressions(inner):
            function = next((p for p in walk_expr(e) if is_vector_only(p)), None)
            if isinstance(function, Binary):
                if overflow is not None:
                    raise overflow
                raise KernelError(
                    "scalar-function",
                    f"the scalar unit has no {function.op}, and there is no vector form: {reason}",
                    inner.loc,
                    "compute it on a ub buffer with T.tile, or change what stands in the way",
                )
