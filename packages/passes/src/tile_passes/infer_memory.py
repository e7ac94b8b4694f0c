"""Decides the memory of `alloc_shared` and `alloc_fragment` buffers. The demands of uses, and their
solution, are in `analysis`."""

from __future__ import annotations

from tile_ir import (
    Alloc,
    Body,
    Buffer,
    Core,
    For,
    Func,
    KernelError,
    LoopKind,
    Op,
    Phase,
    Section,
    Store,
    Target,
    bodies,
    buffers_of,
    check_op,
    core_of,
    loads,
    replace_buffers,
)
from tile_ir.quick_dataclasses import replace
from tile_ir.verification.own_parts import REGISTERS
from tile_passes.analysis.memory_demands import is_open
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.BUILT, gives=Phase.TYPED)
def infer_memory(func: Func, target: Target) -> Func:
    """Give every open buffer a memory.

    Needs: BUILT. Gives: TYPED. Idea: every use restricts the memories of its buffers by the op
    table, and copies relate both sides. Restrictions propagate until a fixpoint. A buffer that
    stays open is in ub. Contradicting uses are an error at the later one
    (docs/language/rules.md#open-memories). Limits: a buffer has one memory for the whole kernel.
    """
    if any(is_open(a.buffer) for a in func.launch.allocs):
        func = _with_memories(func, target)
    _check_elements(func.launch.body)
    return func


def _with_memories(func: Func, target: Target) -> Func:
    # Only kernels that leave memories open pay for the import of networkx.
    from tile_passes.analysis.memory_choice import Clash, choose_memories
    from tile_passes.analysis.memory_clash import clash_error

    found = choose_memories(func, target)
    if isinstance(found, Clash):
        raise clash_error(found, target)
    new = {c.buffer: replace(c.buffer, memory=c.memory) for c in found}
    allocs = tuple(_renewed(a, new) for a in func.launch.allocs)
    body = replace_buffers(func.launch.body, new)
    _check_operations(body, None, set(new.values()), target)
    return func.with_body(body, allocs=allocs)


def _renewed(alloc: Alloc, new: dict[Buffer, Buffer]) -> Alloc:
    root = alloc.alias_of
    return replace(
        alloc,
        buffer=new.get(alloc.buffer, alloc.buffer),
        alias_of=new.get(root, root) if root is not None else None,
    )


def _check_operations(body: Body, core: Core | None, decided: set[Buffer], target: Target) -> None:
    """Rules that depend on memories hold now that those are known."""
    for stmt in body:
        if isinstance(stmt, Op) and not decided.isdisjoint(buffers_of(stmt)):
            problem = check_op(stmt, target)
            if problem is not None:
                raise KernelError(problem.slug, problem.message, stmt.loc, problem.hint)
            if core is not None and core_of(stmt) not in (core, Core.EITHER):
                raise _wrong_scope(stmt, core)
        for inner in bodies(stmt):
            within = stmt.core if isinstance(stmt, Section) else core
            _check_operations(inner, within, decided, target)


def _wrong_scope(op: Op, core: Core) -> KernelError:
    letter, other = ("C", "V") if core is Core.CUBE else ("V", "C")
    return KernelError(
        "wrong-scope",
        f'{op.opdef.name} runs on the {core_of(op).value} core, but stands in T.Scope("{letter}")',
        op.loc,
        f'move it to a T.Scope("{other}") block',
    )


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
