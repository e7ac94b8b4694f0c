"""Find tensors in gm by which the cores of a block hand values to each other, and pair each access
with its partner.

A tensor is a handover by its use, whatever it is called: one core writes it and the other reads it,
and the text from top to bottom can not be the order. Either the reader stands before the writer, or
one loop of one core writes the same bytes in every iteration and one of the other reads them
(docs/language/rules.md#handovers). Then the n-th access of one core goes with the n-th of the
other. The workspace of a copy between the cores is none where it is written first: both halves
stand where the text means them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tile_ir import Buffer, Core, Expr, KernelError, Var
from tile_ir.analysis import apart, common_path
from tile_ir.quick_dataclasses import dataclass
from tile_passes.streams.items import GmAccess
from tile_passes.streams.loops_in_step import Meanings, loops_in_step


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """A write, and the read of the other core that takes its value."""

    writer: GmAccess
    reader: GmAccess


@dataclass(frozen=True, slots=True)
class Handover:
    """A tensor with its pairs. `by_place` says that only the place of the reader before the writer
    speaks for it."""

    buffer: Buffer
    pairs: tuple[Pair, ...]
    by_place: bool


def find_handovers(found: Sequence[GmAccess], values: Mapping[Var, Expr]) -> list[Handover]:
    """The handovers among all accesses of a kernel, given in the order of the text.

    Raises KernelError where the accesses of both cores do not pair up.
    """
    by_buffer: dict[Buffer, list[GmAccess]] = {}
    for access in found:
        by_buffer.setdefault(access.buffer, []).append(access)
    meanings = Meanings(values, written_in(found))
    result = []
    for buffer, its in by_buffer.items():
        writers = [a for a in its if a.writes]
        readers = [a for a in its if not a.writes]
        taken = [r for r in readers if any(_takes(r, w) for w in writers)]
        if not taken:
            continue
        first = its.index(taken[0])
        early = not any(a.writes for a in its[:first])
        if not early and _of_one_copy(buffer, its):
            continue
        if early or any(_in_step(w, r, meanings) and _takes(r, w) for w in writers for r in taken):
            pairs = _pairs(its)
            if pairs is not None:
                result.append(Handover(buffer, pairs, early))
            elif not early:
                raise _unpaired(its)
    return result


def _of_one_copy(buffer: Buffer, its: Sequence[GmAccess]) -> bool:
    """Whether a tensor was made for one copy: all that is done to it comes from the place in the
    source that it comes from itself."""
    return all(a.stmt.loc == buffer.loc for a in its)


def _takes(reader: GmAccess, writer: GmAccess) -> bool:
    """Whether one core may read a byte that another one writes."""
    if writer.core is reader.core:
        return False
    return not apart(writer.region, reader.region, (), {})


def _in_step(writer: GmAccess, reader: GmAccess, meanings: Meanings) -> bool:
    """Whether loops of both touch the same bytes in every iteration, and may be meant to take one
    iteration for each of the other. Merging reports it if they do not."""
    outside = len(common_path(writer.path, reader.path))
    loops = loops_in_step(writer, reader, outside, meanings)
    return loops is not None and (loops.equally_often or loops.unknown)


def written_in(found: Sequence[GmAccess]) -> frozenset[Buffer]:
    """The tensors that a kernel writes."""
    return frozenset(a.buffer for a in found if a.writes)


def _pairs(its: Sequence[GmAccess]) -> tuple[Pair, ...] | None:
    """The n-th access of the cube core with the n-th of the vector cores; None where the two
    sequences do not fit."""
    cube = [a for a in its if a.core is Core.CUBE]
    vector = [a for a in its if a.core is Core.VECTOR]
    if len(cube) == len(vector) and all(
        a.writes != b.writes for a, b in zip(cube, vector, strict=True)
    ):
        return tuple(
            Pair(a, b) if a.writes else Pair(b, a) for a, b in zip(cube, vector, strict=True)
        )
    # One direction only: every reader takes what all writers have left.
    writers = [a for a in its if a.writes]
    readers = [a for a in its if not a.writes]
    if len({a.core for a in writers}) == 1 and all(r.core is not writers[0].core for r in readers):
        return tuple(Pair(w, r) for w in writers for r in readers)
    return None


def _unpaired(its: Sequence[GmAccess]) -> KernelError:
    cube = next(a for a in its if a.core is Core.CUBE)
    vector = next(a for a in its if a.core is Core.VECTOR)
    return KernelError(
        "handover-unclear",
        f"`{cube.buffer.name}` hands values between the cores, but the accesses of the cube core "
        f"(first in line {cube.stmt.loc.line}) and of the vector cores (first in line "
        f"{vector.stmt.loc.line}) do not pair up",
        vector.stmt.loc,
        "use one workspace for each value that is handed over",
    )
