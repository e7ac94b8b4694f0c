"""`T.Persistent`: tiles dealt out to a fixed number of blocks, in column panels
(docs/rules/kernels.md#persistent-loops).

Plain arithmetic, and a bijection for every group size: the last panel may be narrower.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from tile_frontend.tracing.faults import Fault, outside_kernel
from tile_frontend.tracing.scalars import Scalar, known_integer, scalar_expr, unexpected
from tile_frontend.tracing.trace import Trace
from tile_ir import Const, Expr, For, Loc, LoopKind, ceildiv, constant_value, minimum


@dataclass(frozen=True, slots=True)
class PersistentLoop:
    domain: tuple[Expr, ...]
    wave_size: Expr
    index: Expr
    group: int

    def __iter__(self) -> NoReturn:
        """As of other loops."""
        outside_kernel("for ... in T.Persistent(...)")


def Persistent(
    domain: Sequence[Any], wave_size: Any, index: Any, group_size: int = 8
) -> PersistentLoop:
    """Block `index` of `wave_size` visits its share of the tiles of `domain`."""
    if not isinstance(domain, (list, tuple)) or not domain:
        raise unexpected("the domain", domain, "a list of extents", slug="loop-bound")
    group = known_integer(group_size)
    if group is None or group < 1:
        wanted = "a Python int of at least 1"
        raise unexpected("group_size", group_size, wanted, slug="loop-bound")
    extents = tuple(scalar_expr(d) for d in domain)
    size, position = scalar_expr(wave_size), scalar_expr(index)
    named = [*((e, "domain") for e in extents), (size, "wave_size"), (position, "index")]
    for expr, name in named:
        if not expr.dtype.is_integer:
            raise Fault("loop-bound", f"{name} is {expr.dtype}, expected integers", argument=name)
    return PersistentLoop(extents, size, position, group)


def product(extents: Sequence[Expr]) -> Expr:
    total: Expr = Const(1)
    for e in extents:
        total = total * e
    return total


def run_persistent(
    trace: Trace, loop: PersistentLoop, names: tuple[str, ...], loc: Loc,
    run: Callable[[tuple[Scalar, ...]], None],
) -> None:  # fmt: skip
    """One loop over the waves in which the block has a tile. Where not all blocks have one in the
    last, a minimum tells those who look at intervals which tiles there are."""
    total = product(loop.domain)
    count, size = constant_value(total), constant_value(loop.wave_size)
    even = count is not None and size is not None and count % size == 0
    wave = trace.loop_variable("wave")
    number = wave * loop.wave_size + loop.index
    with trace.block() as body:
        tile = trace.let("tile", number if even else minimum(number, total - 1), loc).expr
        coordinates = tile_coordinates(loop.domain, loop.group, tile)
        run(tuple(
            trace.let("i" if name == "_" else name, value, loc)
            for name, value in zip(names, coordinates, strict=True)
        ))  # fmt: skip
    waves = total // loop.wave_size if even else ceildiv(total - loop.index, loop.wave_size)
    trace.emit(For(wave, Const(0), waves, LoopKind.SERIAL, tuple(body), loc))


def tile_coordinates(domain: Sequence[Expr], group: int, tile: Expr) -> tuple[Expr, ...]:
    """The tile with a linear number: panels of `group` columns of the last dimension, and inside a
    panel the column fastest, then the other dimensions from the last to the first."""
    *others, last = domain
    width = constant_value(last)
    if width is not None and group >= width:
        panel_start: Expr = Const(0)
        inside, columns = tile, last
    else:
        panel_size = product(others) * group
        panel = tile // panel_size
        inside, panel_start = tile % panel_size, panel * group
        exact = width is not None and width % group == 0
        columns = Const(group) if exact else minimum(Const(group), last - panel_start)
    result = [panel_start + inside % columns]
    rest = inside // columns
    for extent in reversed(others[1:]):
        result.append(rest % extent)
        rest = rest // extent
    if others:
        result.append(rest)
    return tuple(reversed(result))
