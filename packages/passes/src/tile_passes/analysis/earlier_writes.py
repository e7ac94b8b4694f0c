"""What an on-chip buffer may hold where a statement stands: values that other statements, or
earlier rounds of the loops around it, have written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tile_ir import (
    ONE,
    Body,
    Buffer,
    For,
    Func,
    If,
    Let,
    Load,
    Op,
    Overlap,
    Region,
    Slice,
    Stmt,
    Store,
    Var,
    While,
    accesses,
    bodies,
    loads,
    walk,
    walk_expr,
)
from tile_ir.layout.overlap import overlap


@dataclass(frozen=True, slots=True)
class _Use:
    """A statement that reads or writes a region, at a place of the text. `around` has the compound
    statements that hold it, outermost first, each with the number of its body."""

    region: Region
    stmt: Stmt
    at: int
    around: tuple[tuple[Stmt, int], ...]


class EarlierWrites:
    """Answers for the statements of one function; of others nothing is known."""

    def __init__(self, func: Func) -> None:
        self.func = func
        self.roots = {a.buffer: a.alias_of or a.buffer for a in func.launch.allocs}

    def before(self, op: Op, part: Region) -> list[tuple[Stmt, Region]]:
        """Writes that may leave a value in `part`, a region of what `op` writes, which is still
        there and still wanted when `op` starts. The rounds before of `op` itself are among them
        where it writes in other places then."""
        here = self._places.get(op)
        root = self.roots.get(part.buffer)
        return [
            (w.stmt, w.region)
            for w in self._writes.get(root, ())
            if _may_meet(w.region, part) and (here is None or self._reaches(w, here))
        ]

    @cached_property
    def _uses(self) -> tuple[list[_Use], list[_Use]]:
        """Writes and reads, in the order of the text."""
        writes: list[_Use] = []
        reads: list[_Use] = []
        for at, (stmt, around) in enumerate(_walk(self.func.launch.body, ())):
            found = [(_element(load), False) for load in loads(stmt)]
            match stmt:
                case Store(buffer=buffer, indices=indices):
                    place = Region(buffer, tuple(Slice(i, ONE) for i in indices))
                    found.append((place, True))
                case Op():
                    for region, access in accesses(stmt):
                        found += [(region, False)] if access.reads else []
                        found += [(region, True)] if access.writes else []
            for region, written in found:
                if region.buffer in self.roots:
                    (writes if written else reads).append(_Use(region, stmt, at, around))
        return writes, reads

    @cached_property
    def _writes(self) -> dict[Buffer | None, list[_Use]]:
        return self._by_root(0)

    @cached_property
    def _reads(self) -> dict[Buffer | None, list[_Use]]:
        return self._by_root(1)

    def _by_root(self, which: int) -> dict[Buffer | None, list[_Use]]:
        found: dict[Buffer | None, list[_Use]] = {}
        for use in self._uses[which]:
            found.setdefault(self.roots[use.region.buffer], []).append(use)
        return found

    @cached_property
    def _places(self) -> dict[Stmt, _Use]:
        return {use.stmt: use for use in self._uses[0]}

    def _reaches(self, write: _Use, here: _Use) -> bool:
        """Whether what is written may be there, and be wanted, when the statement starts."""
        shared = _shared(write, here)
        loops = [s for s, _ in shared if isinstance(s, (For, While))]
        if write.stmt is here.stmt:
            return any(_varies(write.region, loop) for loop in loops)
        if write.at < here.at and not _in_other_branch(write, here, len(shared)):
            return True
        return bool(loops) and not self._made_anew(write, here, loops[-1])

    def _made_anew(self, write: _Use, here: _Use, loop: Stmt) -> bool:
        """Whether each round of a loop writes the same elements again behind the statement, before
        anybody reads them."""
        inside = next(i for i, (s, _) in enumerate(write.around) if s is loop)
        read_between = any(
            here.at < read.at <= write.at and _may_meet(read.region, write.region)
            for read in self._reads.get(self.roots[write.region.buffer], ())
        )
        return (
            write.at > here.at
            and len(write.around) == inside + 1
            and not read_between
            and not _varies(write.region, loop)
        )


def _walk(
    body: Body, around: tuple[tuple[Stmt, int], ...]
) -> Iterator[tuple[Stmt, tuple[tuple[Stmt, int], ...]]]:
    for stmt in body:
        yield stmt, around
        for number, inner in enumerate(bodies(stmt)):
            yield from _walk(inner, (*around, (stmt, number)))


def _element(load: Load) -> Region:
    return Region(load.buffer, tuple(Slice(i, ONE) for i in load.indices))


def _may_meet(a: Region, b: Region) -> bool:
    """Regions of one buffer that surely share nothing do not meet; under another name it is not
    looked at."""
    return a.buffer is not b.buffer or overlap(a, b) is not Overlap.NONE


def _shared(a: _Use, b: _Use) -> tuple[tuple[Stmt, int], ...]:
    """The statements around both, up to where they part."""
    count = 0
    for x, y in zip(a.around, b.around, strict=False):
        if x[0] is not y[0]:
            break
        count += 1
    return a.around[:count]


def _in_other_branch(a: _Use, b: _Use, shared: int) -> bool:
    """Whether no execution of the statement around both does both."""
    return any(
        isinstance(x[0], If) and x[1] != y[1]
        for x, y in zip(a.around[:shared], b.around[:shared], strict=True)
    )


def _varies(region: Region, loop: Stmt) -> bool:
    """Whether a region may be another one from round to round of a loop."""
    (body,) = bodies(loop)
    named = {s.var for s in walk(body) if isinstance(s, (For, Let))}
    if isinstance(loop, For):
        named.add(loop.var)
    return any(
        (isinstance(part, Var) and part in named) or isinstance(part, Load)
        for s in region.dims
        for e in (s.offset, s.extent)
        for part in walk_expr(e)
    )


__all__ = ["EarlierWrites"]
