"""Load a part of a tensor ahead of the tasks that read it: `T.prefetch`.

The loads are a task of their own, which keeps its place in the list. It leaves nothing but lines in
L2, so results stay the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tile_frontend._megakernels.calls import LoadAhead, Part, TaskCall
from tile_frontend._megakernels.dependences import TaskUse
from tile_frontend._tracing.faults import Fault
from tile_ir import (
    BLOCK_BYTES,
    OPS,
    Alloc,
    Automatic,
    Buffer,
    Const,
    Core,
    Diagnostic,
    Expr,
    For,
    Func,
    Launch,
    LoopKind,
    Memory,
    Op,
    Phase,
    Region,
    Section,
    Slice,
    Var,
    ceildiv,
    constant_value,
    minimum,
    round_up,
    simplify,
)
from tile_ir.ranks import is_symmetric

# Bytes of a piece, and its columns where calls decide how many there are.
_BYTES, _COLUMNS = 32 * 1024, 1024


def loading(ahead: LoadAhead, calls: Sequence[TaskCall], lanes: int) -> TaskCall:
    """The task that loads; the tensor has the shape that the first of `calls` with it says, and a
    block so many vector cores."""
    shapes = (p for call in calls for p, tensor in call.tied() if tensor == ahead.tensor)
    func = _Loads(ahead, next(shapes), lanes).func()
    return TaskCall(func.name, func, (ahead.tensor,), ahead.loc, ahead=True)


def needless(
    ahead: LoadAhead, place: int, calls: Sequence[TaskCall], uses: Sequence[TaskUse]
) -> Diagnostic | None:
    """A remark if the loads mean nothing in front of the task with number `place`."""
    name = ahead.tensor
    tensors = dict.fromkeys(tensor for call in calls for _, tensor in call.tied())
    if name not in tensors:
        hint = f"the tensors are {', '.join(tensors)}"
        raise Fault("task-region", f"T.prefetch: no task has a tensor `{name}`", hint)
    writers = [call.name for call, use in zip(calls, uses, strict=True) if name in use.writes]
    if any(is_symmetric(p) for call in calls for p, tensor in call.tied() if tensor == name):
        reason = f"other ranks write `{name}`"
    elif writers:
        reason = f"task `{writers[0]}` writes `{name}`"
    elif not any(name in use.reads for use in uses[place:]):
        reason = f"no task behind T.prefetch reads `{name}`"
    else:
        return None
    message, hint = f"{reason}: no block loads it ahead", "leave T.prefetch out"
    return Diagnostic("task-prefetch", message, ahead.loc, hint, "warning")


class _Loads:
    """Builds the kernel whose vector cores load the pieces in turn."""

    def __init__(self, ahead: LoadAhead, tensor: Buffer, lanes: int) -> None:
        self.ahead, self.tensor, self.lanes = ahead, tensor, lanes
        self.loc = ahead.loc
        self.sides = self._sides()
        most, block = map(tensor.dtype.elements_in, (_BYTES, BLOCK_BYTES))
        self.columns = min(constant_value(self.sides[-1][1]) or _COLUMNS, most)
        pitch = round_up(self.columns, block)  # rows in ub begin at blocks
        self.rows = max(1, most // pitch) if tensor.rank > 1 else 1
        shape = (Const(self.rows), Const(pitch))
        self.tile = Buffer("tile", Memory.UB, tensor.dtype, shape, self.loc)
        self.steps = [*[1] * (tensor.rank - 2), self.rows, self.columns][-tensor.rank :]

    def func(self) -> Func:
        pieces: Expr = Const(1)
        for (_, extent), step in zip(self.sides, self.steps, strict=True):
            pieces = simplify(pieces * ceildiv(extent, Const(step)))
        block, lane, turn = (Var(name) for name in ("block", "lane", "turn"))
        of_blocks = simplify(ceildiv(pieces, Const(self.lanes)))
        blocks = of_blocks if self.ahead.blocks is None else Const(self.ahead.blocks)
        first = simplify(block * self.lanes + (lane if self.lanes > 1 else 0))
        stride = simplify(blocks * self.lanes)
        load = self._load(simplify(turn * stride + first))
        iterations = simplify(ceildiv(pieces - first, stride))
        loop = For(turn, Const(0), iterations, LoopKind.SERIAL, (load,), self.loc)
        threads = None if self.lanes > 1 else 1
        section = Section(Core.VECTOR, (loop,), self.loc)
        allocs = (Alloc(self.tile, self.loc),)
        launch = Launch(blocks, block, lane, threads, allocs, (section,), self.loc)
        return Func(
            f"prefetch_{self.ahead.tensor}", (self.tensor,), launch, Phase.BUILT, self.loc,
            frozenset({Automatic.SYNC}), {self.loc.file: self.ahead.source},
        )  # fmt: skip

    def _sides(self) -> list[tuple[int, Expr]]:
        """The first index and the extent of the part along each dimension."""
        region, name = self.ahead.region, self.ahead.tensor
        whole: list[Part] = [(0, None)] * (self.tensor.rank - len(region))
        if len(region) > self.tensor.rank:
            message = f"T.prefetch: `{name}` has {self.tensor.rank} dimensions, and the region "
            raise Fault("task-region", f"{message}{len(region)}", "leave the others out")
        found = []
        for (start, stop), dim in zip((*region, *whole), self.tensor.shape, strict=True):
            size = constant_value(dim)
            if size is not None and not 0 <= start < (size if stop is None else stop) <= size:
                shown = f"{start}:{'' if stop is None else stop}"
                message = f"T.prefetch: {shown} is no part of a dimension of `{name}` of size "
                raise Fault("task-region", f"{message}{size}", "write a slice that lies inside")
            end = dim if stop is None else minimum(dim, Const(stop))
            found.append((start, simplify(end - start)))
        return found

    def _load(self, piece: Expr) -> Op:
        """Load the piece with a number, by the digits of which it lies along each dimension."""
        dims: list[Slice] = []
        for (start, extent), step in zip(reversed(self.sides), reversed(self.steps), strict=True):
            count = simplify(ceildiv(extent, Const(step)))
            at = simplify(piece % count * step)
            piece = simplify(piece // count)
            size = constant_value(extent)
            whole = step == 1 or (size is not None and size % step == 0)
            here = Const(step) if whole else minimum(Const(step), extent - at)
            dims.insert(0, Slice(simplify(at + start), simplify(here)))
        rows = dims[-2].extent if len(dims) > 1 else Const(1)
        target = Region(self.tile, (Slice(Const(0), rows), Slice(Const(0), dims[-1].extent)))
        copy = OPS["copy"]
        attrs: tuple[Any, ...] = tuple(attr.default for attr in copy.attrs)
        return Op(copy, (Region(self.tensor, tuple(dims)), target), attrs, self.loc)
