"""Whether the iterations of a nest are independent, so that its statements may run one after
another over all elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations

from tile_ir import (
    Alloc,
    Buffer,
    Expr,
    Var,
    linear_form,
    share_bytes,
    simplify,
    substitute,
    walk_expr,
)
from tile_ir.analysis import Interval, constant_trips
from tile_passes.analysis.index_digits import fixed_by
from tile_passes.parallel.accesses import step_of
from tile_passes.parallel.accumulation import meets_at_an_element
from tile_passes.parallel.element_uses import Use, uses_of
from tile_passes.parallel.nest import Leaf, Unsuitable


def check_independent(leaves: Sequence[Leaf], allocs: Sequence[Alloc]) -> None:
    """Raise Unsuitable, naming the element that one iteration writes and another one uses."""
    uses = list(uses_of(leaves))
    variant = {loop.var for use in uses for loop in use.loops}
    writes = [use for use in uses if use.writes]
    shared = overlapping(allocs)
    for write in writes:
        for other in (*writes, *(use for use in uses if not use.writes)):
            if (write.buffer, other.buffer) in shared:
                raise Unsuitable(
                    f"`{write.buffer.name}` and `{other.buffer.name}` share bytes", other.loc
                )
            if write.buffer is other.buffer and not independent(write, other, variant):
                raise Unsuitable(reason_of(write, other), other.loc)


def reason_of(write: Use, other: Use) -> str:
    """The reason why the iterations of a nest are not independent, from their indices."""
    used = {p for i in write.indices for p in walk_expr(i)}
    missing = [v for v in write.leaf.vars if v not in used]
    name = write.buffer.name
    if missing:
        return meets_at_an_element(name)
    return f"an iteration may use an element of `{name}` that another iteration writes"


def overlapping(allocs: Sequence[Alloc]) -> set[tuple[Buffer, Buffer]]:
    """Pairs of different buffers that name the same bytes: by fixed addresses, or as aliases."""
    names: dict[Buffer, list[Buffer]] = {}
    for alloc in allocs:
        names.setdefault(alloc.alias_of or alloc.buffer, []).append(alloc.buffer)
    aliases = {pair for same in names.values() for pair in permutations(same, 2)}
    fixed = [a for a in allocs if a.address is not None and a.buffer.static_shape() is not None]
    return aliases | {
        (a.buffer, b.buffer) for a in fixed for b in fixed if a is not b and share_bytes(a, b)
    }


def independent(write: Use, other: Use, variant: set[Var]) -> bool:
    """Whether two accesses never meet in different iterations of the loops they share."""
    pairs = list(zip(write.indices, other.indices, strict=True))
    extents = {loop.var: constant_trips(loop) for loop in write.leaf.loops}
    if any(_apart(a, b, variant, extents) for a, b in pairs):
        return True
    common = [v for v in write.leaf.vars if v in other.leaf.vars]
    # Variables that count from 0: how far they go is known better than from where.
    counted = {loop.var: loop.start + loop.var for loop in write.leaf.loops}
    known = {
        var: Interval(0, math.inf if trips is None else max(trips - 1, 0))
        for var, trips in extents.items()
    }
    same = (substitute(a, counted) for a, b in pairs if simplify(a) == simplify(b))
    return fixed_by(same, known, variant).issuperset(common)


def _apart(a: Expr, b: Expr, variant: set[Var], extents: dict[Var, int | None]) -> bool:
    """Whether two indices of one dimension differ whatever the iterations are."""
    terms, constant = linear_form(a)
    others, more = linear_form(b)
    distance = abs(constant - more)
    if terms != others or not distance:
        return False
    used = {p for atom in terms for p in walk_expr(atom) if p in variant}
    if not used:
        return True
    steps = [f for atom, f in terms.items() if any(p in variant for p in walk_expr(atom))]
    if distance % math.gcd(*steps):  # even places and odd ones
        return True
    if len(used) > 1:
        return False
    (var,) = used
    extent = extents.get(var) if isinstance(var, Var) else None
    step = abs(step_of(a, var))
    return extent is not None and step > 0 and distance > step * (extent - 1)
