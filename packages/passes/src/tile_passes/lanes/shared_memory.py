"""Memory that both lanes reach, gm and l1: only a barrier of all cores orders the lanes there, so
what one stores the other must neither store nor read before the next one."""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir import (
    CACHE_LINE_BYTES,
    INT32,
    INT64,
    Access,
    Buffer,
    Effect,
    Expr,
    For,
    Load,
    Loc,
    Memory,
    Op,
    Region,
    Store,
    Var,
    constant_value,
    linear_form,
    simplify,
    strides,
    walk_expr,
)
from tile_ir.analysis import Interval
from tile_ir.quick_dataclasses import dataclass
from tile_ir.ranks import is_far
from tile_passes.lanes.choice import Choice
from tile_passes.lanes.places import Touch, resolved, trips
from tile_passes.lanes.relations import Dim, Node, Reason, Relations, Site

SHARED = (Memory.GM, Memory.L1)


@dataclass(frozen=True, slots=True)
class Share:
    """The places of one lane along a dimension: `count` steps of `step`, half of them a lane's,
    from `start` on. `exact` is whether other iterations of other loops reach the same places only
    in the same lane."""

    dim: int
    count: int
    step: int
    start: tuple[frozenset[tuple[Expr, int]], int]
    exact: bool


@dataclass(frozen=True, slots=True)
class SharedAccess:
    """An access to shared memory; `share` is None where each lane that runs it does all of it."""

    site: Site
    touch: Touch
    node: Node | None
    share: Share | None

    @property
    def atomic(self) -> bool:
        return isinstance(self.site.stmt, Op) and self.site.stmt.opdef.atomic

    @property
    def loc(self) -> Loc:
        return self.site.stmt.loc


@dataclass(frozen=True, slots=True)
class Conflict:
    """The reason why lanes can not share a tensor: a node that had better stay whole, or None where
    only one lane can do all the work."""

    node: Node | None
    reason: Reason


def find_conflict(found: Relations, choice: Choice) -> Conflict | None:
    """The first tensor whose lanes would meet, between two barriers of all cores. A put to other
    ranks does not meet an access to the own instance: words order these, for both lanes."""
    by_buffer: dict[tuple[Buffer, int, bool], list[SharedAccess]] = {}
    for site in found.sites:
        for access in _accesses(site, found, choice):
            touch = access.touch
            far = is_far(Region(touch.buffer, touch.slices))
            by_buffer.setdefault((touch.buffer, site.meetings, far), []).append(access)
    for (buffer, _, _), accesses in by_buffer.items():
        conflict = _conflict(buffer, accesses)
        if conflict is not None:
            return conflict
    return None


def _accesses(site: Site, found: Relations, choice: Choice) -> Iterator[SharedAccess]:
    if not site.is_lanes or _by_engine(site):
        return
    node = choice.of(site)
    for touch in site.touches:
        if touch.buffer.memory in SHARED:
            share = None
            if isinstance(node, Dim):
                share = _by_label(site, touch, node, found, choice)
            elif node is not None:
                share = _by_iteration(site, touch, node, found)
            yield SharedAccess(site, touch, node, share)


def _by_engine(site: Site) -> bool:
    """Whether an engine touches memory, not a lane: the cores of a block meet before the request
    and behind the wait for it, and between the two no lane may touch the same."""
    return isinstance(site.stmt, Op) and site.stmt.opdef.effect is Effect.ENGINE


def _by_label(
    site: Site, touch: Touch, node: Dim, found: Relations, choice: Choice
) -> Share | None:
    """Rows of a tile: the dimension with the label that is split."""
    if touch.operand is None or not site.labels:
        return None
    label = next(n for n, dim in site.along.items() if dim == node)
    own = site.labels[touch.operand]
    dim = own.index(label) if own is not None and label in own else None
    if dim is None:
        return None
    s = touch.slices[dim]
    form = _split_form(s.offset, site)
    return _share(site, dim, choice.sizes[node], s.stride, *form, found.unknown)


def _by_iteration(site: Site, touch: Touch, node: For, found: Relations) -> Share | None:
    """A dimension in which iterations are far enough apart for what each of them touches."""
    for dim, s in enumerate(touch.slices):
        terms, constant = _split_form(s.offset, site)
        step = terms.pop(node.var, 0)
        extent = constant_value(s.extent)
        if step <= 0 or extent is None:
            continue
        inner = site.loops[site.loops.index(node) + 1 :]
        reach = _reach(terms, node, inner, found.unknown)
        if reach is not None and reach + (extent - 1) * s.stride + 1 <= step:
            around = {loop.var for loop in inner}
            terms = {t: f for t, f in terms.items() if t not in around}
            return _share(site, dim, found.sizes[node], step, terms, constant, found.unknown)
    return None


def _split_form(offset: Expr, site: Site) -> tuple[dict[Expr, int], int]:
    place = resolved(offset, site.names)
    if place.dtype not in (INT32, INT64):
        return {place: 1}, 0
    terms, constant = linear_form(place)
    return dict(terms), constant


def _reach(
    terms: dict[Expr, int], node: For, inner: tuple[For, ...], unknown: set[Var]
) -> int | None:
    """How far inner loops move the place; None where that is not known."""
    ranges: dict[Expr, Interval] = {
        loop.var: Interval(0, count - 1) for loop in inner if (count := trips(loop)) is not None
    }
    variables = {node.var, *(loop.var for loop in inner), *unknown}
    reach = 0.0
    for term, factor in terms.items():
        if not any(p in variables or isinstance(p, Load) for p in walk_expr(term)):
            continue
        if term not in ranges:
            return None
        reach += abs(factor) * ranges[term].high
    return int(reach)


def _share(
    site: Site,
    dim: int,
    count: int,
    step: int,
    terms: dict[Expr, int],
    constant: int,
    unknown: set[Var],
) -> Share:
    """`exact` where all that changes while a block runs moves the place by whole periods."""
    period = count * step
    changing = unknown | {loop.var for loop in site.loops}
    exact, fixed = True, set()
    for term, factor in terms.items():
        if any(isinstance(p, Load) or p in changing for p in walk_expr(term)):
            exact = exact and factor % period == 0
        else:
            fixed.add((term, factor))
    return Share(dim, count, step, (frozenset(fixed), constant % period), exact)


def _conflict(buffer: Buffer, accesses: list[SharedAccess]) -> Conflict | None:
    stores = [a for a in accesses if a.touch.access.writes and not a.atomic]
    for a in stores:
        if a.node is not None and a.share is None:
            text = f"which part of `{buffer.name}` a row is stored to is not known"
            return Conflict(a.node, Reason(a.loc, text))
        if a.share is not None and isinstance(a.site.stmt, Store) and not _own_lines(buffer, a):
            text = f"two cores would store elements of `{buffer.name}` to one line of the cache"
            return Conflict(a.node, Reason(a.loc, text))
    written = any(a.touch.access.writes for a in accesses)
    if not written or buffer.memory is Memory.L1 or all(a.atomic for a in accesses):
        return None
    return _meeting(buffer, accesses)


def _own_lines(buffer: Buffer, access: SharedAccess) -> bool:
    """Whether the scalar units of the lanes store to lines of their own: a line goes back to gm
    whole. Each place has whole lines, or each half has."""
    share = access.share
    assert share is not None, "asked of what is shared out"
    unit = constant_value(simplify(strides(buffer)[share.dim] * buffer.dtype.bits))
    if unit is None:
        return False

    def whole(places: int) -> bool:
        return places * unit % (8 * CACHE_LINE_BYTES) == 0

    if whole(share.step):
        return True
    terms, constant = share.start
    begins = share.exact and whole(constant) and all(whole(factor) for _, factor in terms)
    return begins and share.count % 2 == 0 and whole(share.count // 2 * share.step)


def _meeting(buffer: Buffer, accesses: list[SharedAccess]) -> Conflict | None:
    """A tensor that is stored to: all its accesses must be shared out in the same way."""
    first = next(a for a in accesses if a.touch.access.writes)
    for other in accesses:
        if other.share is not None and not other.share.exact:
            text = f"its rows of `{buffer.name}` meet those of other iterations"
            return Conflict(other.node, Reason(other.loc, text))
        reads = other.touch.access is Access.READ
        if other is first:
            continue
        if other.node is None and first.node is None and not reads:
            continue  # both on the first lane
        odd = reads and first.share is not None and first.share.count % 2
        if other.share == first.share and first.share is not None and not odd:
            continue
        text = f"`{buffer.name}` is stored at line {first.loc.line}, and " + (
            f"{'read' if reads else 'stored'} at line {other.loc.line}"
        )
        node = first.node if first.share is not None else None
        node = node or (other.node if other.share is not None else None)
        return Conflict(node, Reason(first.loc, text))
    return None
