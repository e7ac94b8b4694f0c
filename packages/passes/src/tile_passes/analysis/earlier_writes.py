"""Find the values that an on-chip buffer may hold where a statement stands: written by other
statements, or by earlier iterations of the loops around it."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

from tile_ir import (
    Access,
    Buffer,
    For,
    Func,
    If,
    Let,
    Load,
    Op,
    Overlap,
    Region,
    Stmt,
    Var,
    While,
    bodies,
    walk,
    walk_expr,
)
from tile_ir.analysis import regions_of
from tile_ir.layout.overlap import overlap
from tile_passes.analysis.gen_kill import GenKill, storages_of
from tile_passes.analysis.path_context import Path, PathContext, paths


class _Use(NamedTuple):
    """An access of a region by the last statement of a path, the `at`-th of the text."""

    region: Region
    access: Access
    at: int
    path: Path

    @property
    def stmt(self) -> Stmt:
        return self.path[-1][0]


class EarlierWrites:
    """Answers for the statements of one function; of others nothing is known."""

    def __init__(self, func: Func) -> None:
        self.func = func
        self.roots = {a.buffer: a.alias_of or a.buffer for a in func.launch.allocs}

    def before(self, op: Op, part: Region) -> list[tuple[Stmt, Region]]:
        """Writes that may leave a value in `part`, a region of a result of `op`, which is still
        there and still wanted when `op` starts. Earlier iterations of `op` itself are among them
        where it writes in other places then."""
        if part.buffer not in self.roots:
            return []
        writes = [u for u in self._uses[self.roots[part.buffer]] if u.access.writes]
        here = next((w for w in writes if w.stmt is op), None)
        return [
            (w.stmt, w.region)
            for w in writes
            if _may_meet(w.region, part) and (here is None or self._reaches(w, here))
        ]

    def fill(self, buffer: Buffer) -> bool:
        """Whether a buffer is read, and all that is read of it was surely written before."""
        root = self.roots.get(buffer)
        if root is None or not any(use.access.reads for use in self._uses[root]):
            return False
        return root not in self._read_unwritten

    @cached_property
    def _read_unwritten(self) -> frozenset[Buffer]:
        storages = storages_of(self.func.launch.allocs)
        effects = GenKill.of(storages, self.func.launch.body, {})
        found = effects.block(self.func.launch.body, PathContext()).exposed.parts
        return frozenset(b for b, s in storages.items() if s in found)

    @cached_property
    def _uses(self) -> dict[Buffer, list[_Use]]:
        """The accesses of each buffer in the order of the text."""
        found: dict[Buffer, list[_Use]] = defaultdict(list)
        for at, path in enumerate(paths(self.func.launch.body)):
            for region, access, _, _ in regions_of(path[-1][0]):
                if region.buffer in self.roots:
                    found[self.roots[region.buffer]].append(_Use(region, access, at, path))
        return found

    def _reaches(self, write: _Use, here: _Use) -> bool:
        """Whether what is written may be there, and be wanted, when the statement starts."""
        pairs = zip(write.path, here.path, strict=False)
        shared = list(takewhile(lambda pair: pair[0][0] is pair[1][0], pairs))
        loops = [s for (s, _), _ in shared if isinstance(s, (For, While))]
        if write.stmt is here.stmt:
            return any(_varies(write.region, loop) for loop in loops)
        in_other_branch = any(isinstance(a[0], If) and a != b for a, b in shared)
        if write.at < here.at and not in_other_branch:
            return True
        return bool(loops) and not self._made_anew(write, here, loops[-1])

    def _made_anew(self, write: _Use, here: _Use, loop: Stmt) -> bool:
        """Whether each iteration of a loop writes the same elements again behind the statement,
        before any statement reads them."""
        return (
            write.at > here.at
            and write.path[-2][0] is loop
            and not _varies(write.region, loop)
            and not any(
                use.access.reads
                and here.at < use.at <= write.at
                and _may_meet(use.region, write.region)
                for use in self._uses[self.roots[write.region.buffer]]
            )
        )


def _may_meet(a: Region, b: Region) -> bool:
    """Regions of one buffer that surely share nothing do not meet; under another name it is not
    looked at."""
    return a.buffer is not b.buffer or overlap(a, b) is not Overlap.NONE


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
