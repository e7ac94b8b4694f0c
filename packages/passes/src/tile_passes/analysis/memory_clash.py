"""Says which uses of a buffer can not go together, where they stand, and what to do about it."""

from __future__ import annotations

from itertools import product

from tile_ir import (
    Buffer,
    Core,
    Diagnostic,
    KernelError,
    Loc,
    Memory,
    Problem,
    Target,
    check_op,
    possible,
)
from tile_ir.opdef import words
from tile_ir.ops.movement import route, ways
from tile_passes.analysis.memory_choice import Clash, Memories
from tile_passes.analysis.memory_demands import Demand, choices, in_memories, is_open


def clash_error(clash: Clash, target: Target) -> KernelError:
    """The error at the later of the uses, with a note at the others."""
    if len(clash.demand.buffers) == 2:
        return _no_way(clash, target)
    (buffer,) = clash.demand.buffers
    if not clash.earlier:
        return _wrong_kind(clash.demand, buffer)
    first, second = sorted((clash.demand, clash.earlier[0]), key=_place)
    message = (
        f"`{buffer.name}` has to be {_demanded(second, buffer)}, "
        f"but {_demanded(first, buffer)} in {_line(first.loc, second.loc)}"
    )
    hint = _two_buffers(buffer, first.of(buffer), second.of(buffer))
    notes = [] if first.loc == second.loc else [_note(first, buffer)]
    return KernelError("memory-conflict", message, second.loc, hint, notes=notes)


def _wrong_kind(demand: Demand, buffer: Buffer) -> KernelError:
    """An allocation whose kind does not go with a use at all."""
    return KernelError(
        "memory-conflict",
        f"`{buffer.name}` has to be {_demanded(demand, buffer)}, but a {buffer.memory.value} "
        f"buffer of {buffer.dtype} is in {words(choices(buffer))}",
        demand.loc,
        _other_allocator(buffer, demand.of(buffer)),
    )


def _no_way(clash: Clash, target: Target) -> KernelError:
    """The error for a tile that can not be moved: there is no path, none for this operation, or
    none in the section."""
    demand = clash.demand
    between = _likeliest(clash, target)
    exists = between in ways(target)
    src, dst = (f"{m.value} (`{b.name}`)" for m, b in zip(between, demand.buffers, strict=True))
    notes = [_note(d, b) for d in clash.earlier for b in d.buffers if b in demand.buffers]
    problem = _told_by_its_record(clash, between, target)
    if problem is not None:
        return KernelError(problem.slug, problem.message, demand.loc, problem.hint, notes=notes)
    if demand.core is not None and exists:
        here, there = ("C", "V") if demand.core is Core.CUBE else ("V", "C")
        return KernelError(
            "wrong-scope",
            f'{demand.word} from {src} to {dst} can not stand in T.Scope("{here}")',
            demand.loc,
            f'move it to a T.Scope("{there}") block',
            notes=notes,
        )
    return KernelError(
        "copy-direction",
        f"{demand.word}: there is no path from {src} to {dst}",
        demand.loc,
        "T.copy has one: move the tile with it" if exists else route(between),
        notes=notes,
    )


def _likeliest(clash: Clash, target: Target) -> tuple[Memory, Memory]:
    """One of the pairs of memories that were left, best one with a path between them."""
    ends = (sorted(left, key=lambda m: m.value) for left in clash.left)
    pairs = [(a, b) for a, b in product(*ends)]
    return min(pairs, key=lambda pair: pair not in ways(target))


def _told_by_its_record(
    clash: Clash, between: tuple[Memory, Memory], target: Target
) -> Problem | None:
    """The problem that the op table reports for the operation between two memories."""
    op = clash.demand.op
    if op is None:
        return None
    return check_op(in_memories(op, clash.demand.buffers, between), target)


def _demanded(demand: Demand, buffer: Buffer) -> str:
    return f"in {words(demand.of(buffer))} as {demand.role_of(buffer)}"


def _note(demand: Demand, buffer: Buffer) -> Diagnostic:
    text = f"`{buffer.name}` has to be {_demanded(demand, buffer)} here"
    return Diagnostic("", text, demand.loc, severity="note")


def _two_buffers(buffer: Buffer, first: Memories, second: Memories) -> str:
    if {Memory.L0C, Memory.UB} <= first | second:
        return (
            f"T.copy `{buffer.name}` to a T.alloc_shared buffer first: "
            "results of the cube core reach the vector cores by way of a copy"
        )
    if {Memory.L1, Memory.UB} <= first | second:
        return (
            "use two buffers: the vector cores work in ub, the cube core reads from l1; "
            "T.copy leads from ub to l1"
        )
    return "use a buffer of its own for each, with T.copy between them"


def _other_allocator(buffer: Buffer, wanted: Memories) -> str | None:
    for kind, name in ((Memory.SHARED, "T.alloc_shared"), (Memory.FRAGMENT, "T.alloc_fragment")):
        if kind is not buffer.memory and is_open(buffer) and wanted & possible(kind):
            return f"allocate it with {name}"
    return None


def _place(demand: Demand) -> tuple[str, int, int]:
    return demand.loc.file, demand.loc.line, demand.loc.column


def _line(loc: Loc, other: Loc) -> str:
    if loc == other:
        return "the same line"
    return f"line {loc.line}" if loc.file == other.file else f"{loc.file}:{loc.line}"
