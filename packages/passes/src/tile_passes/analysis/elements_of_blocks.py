"""Find tensors of which a block stores elements and reads them again, and the parts it uses."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import lru_cache

from tile_ir import (
    Automatic,
    Body,
    Buffer,
    Const,
    Expr,
    For,
    Func,
    LoopKind,
    Memory,
    Store,
    Var,
    bodies,
    constant_value,
    linear_form,
    reads_memory,
    simplify,
    walk,
    walk_expr,
)
from tile_ir.analysis import Ranges, interval
from tile_ir.analysis.intervals import Interval
from tile_ir.quick_dataclasses import dataclass
from tile_passes.analysis.index_digits import fixed_by
from tile_passes.analysis.lane_dependence import is_of_one_lane
from tile_passes.analysis.own_lines import OwnLines
from tile_passes.analysis.uses_in_text import ElementUse, used_in_parts, uses_in_text
from tile_passes.own_order import left_with
from tile_passes.parallel.attempts import elements_read


def leaves_stores(func: Func) -> bool:
    """Whether a kernel leaves it to the compiler how elements reach gm, and has several blocks."""
    launch = func.launch
    ours = launch.threads == 2 or Automatic.CORES in func.automatic
    left = left_with(func) if ours else func.automatic
    if launch.threads is None or not {Automatic.SYNC, Automatic.MEMORY} <= left:
        return False
    return constant_value(launch.blocks) != 1


@lru_cache(maxsize=8)
def updated_elements(func: Func) -> tuple[Buffer, ...]:
    """The tensors of which the scalar unit reads elements that it stores too, in lines of its data
    cache that may hold elements of other blocks."""
    stores = [s for s in _scalar_stores(func.launch.body) if s.buffer.memory is Memory.GM]
    again = {s.buffer for s in stores} & elements_read(func)
    if not again:
        return ()
    lines = OwnLines.in_function(func)
    left = {s.buffer for s in stores if not lines.has(s, func.launch.threads == 1)}
    return tuple(t for t in func.tensors if t in again & left)


def _scalar_stores(body: Body) -> Iterator[Store]:
    for stmt in body:
        if isinstance(stmt, Store):
            yield stmt
        if not (isinstance(stmt, For) and stmt.kind is LoopKind.PARALLEL):
            for inner in bodies(stmt):
                yield from _scalar_stores(inner)


@dataclass(frozen=True, slots=True)
class IndexSpan:
    """The values of one index in a block: from `base + low` to `base + high`, with the same base in
    all uses. `var` counts from `low` on."""

    base: Expr
    low: int
    high: int
    var: Var

    @property
    def start(self) -> Expr:
        return simplify(self.base + self.low)

    @property
    def index(self) -> Expr:
        """The index as an expression of the block and of `var`."""
        return simplify(self.start + self.var) if self.high > self.low else self.start


def spans_of(
    tensor: Buffer, uses: Sequence[ElementUse], func: Func, inside: Set[Var] = frozenset()
) -> list[IndexSpan | None]:
    """The values of each index of a tensor; None where their number is not known. With loops, whose
    variables are `inside`: in an iteration of them, otherwise in a block."""
    same = {func.launch.block, *func.params, *func.symbols, *inside}
    return [
        _span([(use.indices[dim], use.around.known) for use in uses], dim, extent, same)
        for dim, extent in enumerate(tensor.shape)
    ]


def known_inside(spans: Iterable[IndexSpan], uses: Sequence[ElementUse]) -> Ranges:
    """The ranges of the names in the indices of spans."""
    known: dict[Var, Interval] = dict(uses[0].around.known)
    return known | {span.var: Interval(0, span.high - span.low) for span in spans}


def are_of_block(spans: Sequence[IndexSpan], uses: Sequence[ElementUse], func: Func) -> bool:
    """Whether no two blocks use one element."""
    return _fix({func.launch.block}, spans, uses, func.launch.block)


def _fix(
    wanted: Set[Var], spans: Sequence[IndexSpan], uses: Sequence[ElementUse], *varying: Var
) -> bool:
    """Whether an element belongs to one value of each of the names."""
    indices = [span.index for span in spans]
    variant = {*varying, *(span.var for span in spans)}
    return wanted <= fixed_by(indices, known_inside(spans, uses), variant)


@lru_cache(maxsize=8)
def tensors_of_cores(func: Func) -> frozenset[Buffer]:
    """The tensors of which each core uses elements of its own, and no parts. None where elements
    outside of a tensor are an error: a copy of more elements than are stored may reach them."""
    if Automatic.BOUNDS not in func.automatic:
        return frozenset()
    others = used_in_parts(func)
    return frozenset(
        buffer
        for buffer, uses in uses_in_text(func).items()
        if buffer.memory is Memory.GM and buffer not in others and _are_of_core(buffer, uses, func)
    )


def _are_of_core(buffer: Buffer, uses: Sequence[ElementUse], func: Func) -> bool:
    launch = func.launch
    first, *rest = (use.around.loops for use in uses)
    shared = [loop for loop in first if all(loop in loops for loops in rest)]
    loops = {loop.var for loop in shared if isinstance(loop, For)}
    spans = [s for s in spans_of(buffer, uses, func, {*loops, launch.lane}) if s is not None]
    wanted = {launch.lane} if any(_both_lanes_meet(use, func) for use in uses) else set()
    if constant_value(launch.blocks) != 1:
        wanted.add(launch.block)
    return _fix(wanted, spans, uses, launch.block, launch.lane, *loops)


def _both_lanes_meet(use: ElementUse, func: Func) -> bool:
    """Whether both vector cores of a block run the nest of T.Parallel around a use. A branch inside
    it does not keep one away: all elements are loaded before a condition is looked at."""
    loops = use.around.loops
    nest = next((s for s in loops if isinstance(s, For) and s.kind is LoopKind.PARALLEL), None)
    inside = set() if nest is None else set(walk(nest.body))
    return func.launch.threads != 1 and not any(
        is_of_one_lane(stmt, number, func.launch.lane)
        for stmt, number in use.around.sides
        if stmt not in inside
    )


def _span(
    indices: Iterable[tuple[Expr, Ranges]], dim: int, extent: Expr, same: Set[Buffer | Var]
) -> IndexSpan | None:
    bases: dict[Expr, None] = {}
    low: float = math.inf
    high: float = -math.inf
    for index, known in indices:
        base, rest = _parts(index, same)
        bases[base] = None
        span = interval(rest, known)
        low, high = min(low, span.low), max(high, span.high)
    if len(bases) != 1:
        return None
    (base,) = bases
    size = constant_value(extent)
    if base == Const(0, base.dtype) and size is not None:
        low, high = max(low, 0), min(high, size - 1)
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        return None
    return IndexSpan(base, int(low), int(high), Var(f"%{dim}", base.dtype))


def _parts(index: Expr, same: Set[Buffer | Var]) -> tuple[Expr, Expr]:
    """The terms of an index that are of these names alone, and the others."""
    terms, _ = linear_form(simplify(index))
    base: Expr = Const(0, index.dtype)
    for atom, factor in terms.items():
        names = {e for e in walk_expr(atom) if isinstance(e, Var)}
        if names <= same and not reads_memory(atom):
            base += atom * factor
    base = simplify(base)
    return base, simplify(index - base)
