"""Lets the rows of tiles start at whole blocks of ub where something is done by rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import field

from tile_ir import (
    OPS,
    Automatic,
    Body,
    Buffer,
    Effect,
    For,
    Func,
    Memory,
    Op,
    Phase,
    Target,
    accesses,
    buffers_of,
    check_op,
    is_constant,
    is_contiguous,
    replace_buffers,
    replace_own_buffers,
    walk_expr,
    walk_ops,
)
from tile_ir.ops.movement import misaligned_rows
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.analysis.nest_elements import NestElement, nest_elements
from tile_passes.graphs import nx
from tile_passes.lowering.alignment import starts_at_blocks, with_padded_rows
from tile_passes.passdef import ir_pass
from tile_passes.retiling.block_axis import fixed_buffers

# What an author sees of a tile: elements in the order of the text.
_SHOWN = (Effect.PRINT, Effect.DUMP)


@ir_pass(needs=Phase.TYPED, optional=True)
def pad_rows(func: Func, target: Target) -> Func:
    """Give tiles of ub a pitch of whole blocks where rows would begin inside blocks.

    Needs, gives: TYPED. Idea: transfers and instructions start at blocks of 32 bytes
    (docs/hardware/units.md#rows-of-ub). A statement takes a tile by rows if it has a row of it, one
    value for each row, or a part of a row of a tensor. Rows that begin inside blocks cost it a move
    of all elements; other statements take no longer on rows of whole blocks. So all tiles that meet
    in statements get longer rows where one of these takes rows. A tile that is converted as it is
    read or written meets the others in that type, whose rows may be whole blocks. No index changes,
    and the elements behind a row are never used. The pass does this only where the compiler decides
    where tiles lie (`Automatic.PITCHES`). Limits: rows of more than one block; tiles without a
    second name, a fixed place, or an operation that takes all of a tile as one sequence. Packed
    rows stay where only values of columns meet them: these are repeated once, and the transfer is
    one run.
    """
    if Automatic.PITCHES not in func.automatic:
        return func
    wider = _wider(func)
    if not wider:
        return func
    uses = _RowUses(target, wider)
    uses.of_body(func.launch.body)
    chosen = {t: wider[t] for tiles in uses.components() for t in tiles}
    if not chosen:
        return func
    allocs = tuple(replace(a, buffer=chosen.get(a.buffer, a.buffer)) for a in func.launch.allocs)
    return func.with_body(replace_buffers(func.launch.body, chosen), allocs=allocs)


def _wider(func: Func) -> dict[Buffer, Buffer]:
    """The tiles of several rows that may get longer ones."""
    fixed = fixed_buffers(func)
    tiles = (a.buffer for a in func.launch.allocs if a.buffer.memory is Memory.UB)
    rows = (t for t in tiles if t not in fixed and not all(is_constant(n, 1) for n in t.shape[:-1]))
    return {t: new for t in rows if (new := with_padded_rows(t)) is not None}


@dataclass(frozen=True, slots=True)
class _RowUses:
    """Which of the tiles meet in statements (`meet`), which are taken by rows, and which can not be
    wider."""

    target: Target
    wider: Mapping[Buffer, Buffer]
    meet: list[frozenset[Buffer]] = field(default_factory=list)
    by_rows: set[Buffer] = field(default_factory=set)
    narrow: set[Buffer] = field(default_factory=set)

    def components(self) -> Iterator[Set[Buffer]]:
        """The tiles that meet, directly or by others, if some are taken by rows and none is
        narrow."""
        if not self.by_rows:
            return
        graph: nx.Graph[Buffer] = nx.Graph()
        graph.add_nodes_from(self.wider)
        for tiles in self.meet:
            nx.add_path(graph, tiles)
        for found in nx.connected_components(graph):
            if found & self.by_rows and not found & self.narrow:
                yield found

    def of_body(self, body: Body) -> None:
        for op in walk_ops(body):
            tiles = frozenset(b for b in buffers_of(op) if b in self.wider)
            self._meets(tiles, self.takes_rows(op))
            if tiles and self._is_refused(op):
                self.narrow.update(tiles)
        for loops, elements in nest_elements(body):
            if len(loops) == 1:
                rows = frozenset(e.buffer for e in elements if _is_in_row(e, loops[0]))
                self._meets(rows & self.wider.keys(), True)
                continue
            tiles = frozenset(e.buffer for e in elements if not e.fills_blocks)
            by_rows = any(_takes_rows(e, loops) for e in elements)
            self._meets(tiles & self.wider.keys(), by_rows)

    def _meets(self, tiles: frozenset[Buffer], by_rows: bool) -> None:
        self.meet.append(tiles)
        if by_rows:
            self.by_rows.update(tiles)

    def takes_rows(self, op: Op) -> bool:
        """Whether an operation does not run over all elements as one sequence."""
        regions = [region for region, _ in accesses(op)]
        if op.opdef is OPS["copy"] and Memory.GM in {r.memory for r in regions}:
            inside = (not starts_at_blocks(r, self.target) for r in regions)
            src, dst = op.region("src"), op.region("dst")
            return misaligned_rows(src, dst, self.target) or any(inside)
        sequence = op.opdef.elementwise or op.opdef is OPS["copy"]
        return not sequence or not all(is_contiguous(r) for r in regions)

    def _is_refused(self, op: Op) -> bool:
        """Whether an operation needs its tiles as they are."""
        if op.opdef.flat or op.opdef.uses is not None or op.opdef.effect in _SHOWN:
            return True
        if any(r.memory not in (Memory.UB, Memory.GM) for r, _ in accesses(op)):
            return True
        new = replace_own_buffers(op, self.wider, {})
        assert isinstance(new, Op), "only its buffers are others"
        return check_op(new, self.target) is not None and check_op(op, self.target) is None


def _is_in_row(e: NestElement, loop: For) -> bool:
    """Whether a loop follows a row of several."""
    return len(e.indices) > 1 and loop.var in walk_expr(e.indices[-1])


def _takes_rows(e: NestElement, loops: Sequence[For]) -> bool:
    """Whether an element is the value of a row, or in a part of rows of a tensor. The value of a
    column, and all elements of a tile in any order, are no rows."""
    variables = [loop.var for loop in loops]
    used = {v for index in e.indices for v in walk_expr(index) if v in variables}
    if not used:
        return False
    if len(used) < len(variables):
        return variables[-1] not in used
    if e.buffer.memory is not Memory.GM:
        return False
    inner = loops[1:] if len(e.indices) >= len(variables) else ()
    sizes = e.buffer.shape[len(e.buffer.shape) - len(inner) :]
    return not inner or not all(
        index == loop.var and is_constant(loop.start, 0) and loop.stop == size
        for index, loop, size in zip(e.indices[-len(inner) :], inner, sizes, strict=True)
    )
