"""Refuse tasks that surely read places of a temporary which no task before them writes.

Writes count as wide as they may be. A read counts only where its block surely reaches it and its
place is a number: the simulator checks places that data or sizes of calls decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise, product

from tile_ir import (
    Body,
    Break,
    Buffer,
    Const,
    Expr,
    For,
    Func,
    If,
    KernelError,
    Let,
    Loc,
    Region,
    Section,
    Stmt,
    Var,
    constant_value,
    simplify,
    substitute,
    walk,
)
from tile_ir.analysis import regions_of
from tile_passes.tasks.instances import MOST_BLOCKS, TaskAccess, accesses_of
from tile_passes.tasks.split import rooms

# Along each dimension, the first place and the one behind the last.
Box = tuple[tuple[float, float], ...]
# Iterations of a loop, statements of a task, and parts of a box that are looked at.
_ITERATIONS, _STATEMENTS, _PARTS = 32, 20_000, 200


def refuse_unwritten(func: Func, tasks: Sequence[Func]) -> None:
    """Raises KernelError `task-region` at the first such read; the tasks are in a valid order."""
    touched = [accesses_of(task) for task in tasks]
    for tensor in rooms(func):
        shape = [constant_value(dim) for dim in tensor.shape]
        whole = tuple((0.0, float(size)) for size in shape if size is not None)
        if len(whole) == len(shape):
            _refuse_in(tensor, whole, tasks, touched)


def _refuse_in(
    tensor: Buffer, whole: Box, tasks: Sequence[Func], touched: Sequence[Sequence[TaskAccess]]
) -> None:
    written: list[Box] = []
    for task, accesses in zip(tasks, touched, strict=True):
        for access in accesses:
            if access.tensor is tensor and access.writes:
                boxes = _boxes(access, task)
                if boxes is None:
                    return
                written += boxes
        if not _left(whole, written):
            return
        if any(access.tensor is tensor and not access.writes for access in accesses):
            for loc, box in _reads(task, tensor):
                if left := _left(box, written):
                    shown = ", ".join(f"{int(low)}:{int(high)}" for low, high in left[0])
                    message = f"task `{task.name}` reads {tensor.name}[{shown}], and no task before"
                    hint = "write these elements in an earlier task, or read fewer"
                    raise KernelError(
                        "task-region", f"{message} it writes there", loc, hint, sources=task.sources
                    )


def _boxes(access: TaskAccess, task: Func) -> list[Box] | None:
    """The boxes around the places of all blocks; None where they may be anywhere."""
    count = constant_value(task.launch.blocks)
    if count is None or count > MOST_BLOCKS or access.region.buffer is not access.tensor:
        return None
    places = (spans for number in range(count) for spans in access.places(number))
    return list(dict.fromkeys(tuple((s.low, s.high) for s in spans) for spans in places))


def _left(box: Box, written: Iterable[Box]) -> list[Box]:
    """The parts of a box outside of all others; none if there are too many to look at."""
    left = [box]
    for other in written:
        left = [part for old in left for part in _without(old, other)]
        if not left or len(left) > _PARTS:
            return []
    return left


def _without(box: Box, other: Box) -> Iterator[Box]:
    """The parts of a box outside of another one."""
    if any(b <= low or high <= a for (a, b), (low, high) in zip(box, other, strict=True)):
        yield box
        return
    for n, ((a, b), (low, high)) in enumerate(zip(box, other, strict=True)):
        cuts = sorted({a, min(max(low, a), b), max(min(high, b), a), b})
        inside = box[:n], box[n + 1 :]
        for first, last in pairwise(cuts):
            if last <= low or high <= first:
                yield (*inside[0], (first, last), *inside[1])
        box = (*inside[0], (max(a, low), min(b, high)), *inside[1])


def _reads(task: Func, tensor: Buffer) -> Iterator[tuple[Loc, Box]]:
    """The places of a tensor that blocks surely read, statement by statement."""
    launch = task.launch
    count = constant_value(launch.blocks)
    if count is None:
        return
    numbers = range(count) if count <= MOST_BLOCKS else (0, count - 1)
    lanes = range(1 if launch.threads == 1 else 2)
    for number, lane in product(numbers, lanes):
        here = {launch.block: Const(number), launch.lane: Const(lane)}
        for stmt, values in islice(_reached(launch.body, here), _STATEMENTS):
            for region, access, _, _ in regions_of(stmt):
                if access.reads and not access.writes and region.buffer is tensor:
                    box = _place(region, values)
                    if box is not None:
                        yield stmt.loc, box


def _reached(body: Body, values: Mapping[Var, Expr]) -> Iterator[tuple[Stmt, Mapping[Var, Expr]]]:
    """The statements that are surely reached, with the values of variables there."""
    here = dict(values)
    for stmt in body:
        match stmt:
            case Let(var=var, value=value):
                here[var] = simplify(substitute(value, here))
            case If(condition=condition, then=then, orelse=orelse):
                truth = _number(condition, here)
                if truth is not None:
                    yield from _reached(then if truth else orelse, here)
            case Section(body=inside):
                yield from _reached(inside, here)
            case For(var=var, start=start, stop=stop, body=inside):
                first, last = _number(start, here), _number(stop, here)
                ends = any(isinstance(s, Break) for s in walk(inside))
                if first is None or last is None or ends:
                    continue
                iterations = range(first, last)
                few = len(iterations) <= _ITERATIONS
                for n in iterations if few else (iterations[0], iterations[-1]):
                    yield from _reached(inside, {**here, var: Const(n, var.dtype)})
            case _:
                yield stmt, here


def _place(region: Region, values: Mapping[Var, Expr]) -> Box | None:
    found = []
    for part in region.dims:
        offset, extent = _number(part.offset, values), _number(part.extent, values)
        if offset is None or extent is None or (part.stride != 1 and extent > 1):
            return None
        found.append((float(offset), float(offset + extent)))
    return tuple(found) if all(low < high for low, high in found) else None


def _number(expr: Expr, values: Mapping[Var, Expr]) -> int | None:
    return constant_value(simplify(substitute(expr, values)))
