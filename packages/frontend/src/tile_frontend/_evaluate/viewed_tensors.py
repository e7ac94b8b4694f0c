"""Check that a tensor with several names is written under one of them only."""

from __future__ import annotations

from tile_ir import Buffer, Func, KernelError, Loc, Memory, Op, Store, accesses, buffers_of, walk


def check_views(func: Func) -> None:
    """Raise KernelError for a tensor that is written under one name and used under another: order
    between pipes and cores is kept by the name of a tensor."""
    root = {
        a.buffer: a.alias_of
        for a in func.launch.allocs
        if a.alias_of is not None and a.buffer.memory is Memory.GM
    }
    if not root:
        return
    names: dict[Buffer, dict[Buffer, Loc]] = {}
    written: dict[Buffer, Loc] = {}
    for stmt in walk(func.launch.body):
        for buffer in buffers_of(stmt):
            if buffer.memory is Memory.GM:
                names.setdefault(root.get(buffer, buffer), {}).setdefault(buffer, stmt.loc)
        changed = [stmt.buffer] if isinstance(stmt, Store) else []
        if isinstance(stmt, Op):
            changed = [region.buffer for region, access in accesses(stmt) if access.writes]
        for buffer in changed:
            if buffer.memory is Memory.GM:
                written.setdefault(root.get(buffer, buffer), stmt.loc)
    for tensor, used in names.items():
        if len(used) > 1 and tensor in written:
            _, (other, loc) = list(used.items())[:2]
            raise KernelError(
                "operand-memory",
                f"`{other.name}` and `{next(iter(used)).name}` are the same tensor, which is "
                f"written in line {written[tensor].line}",
                loc,
                "use a tensor that is written under one name only",
                sources=func.sources,
            )
