"""Order by flags alone, as many as there are: between any two statements of a vector core every pipe
waits for every other. Slow and never wrong; what the harness says of flags is tested with it."""

from __future__ import annotations

from dataclasses import replace

from fuzz.barriers import barriers_everywhere, read_before
from tile_ir import DEFAULT_TARGET, OPS, Core, Func, Op, Phase, Section
from tile_ir.expr import Const
from tile_ir.location import Loc
from tile_ir.nodes import Body, Break, Stmt
from tile_ir.traversal import bodies, with_bodies

PIPES = ("v", "mte2", "mte3")


def flags_everywhere(func: Func, sets_first: bool = False) -> Func:
    """A PLANNED function as a SYNCED one. With `sets_first` a gap begins with all its sets, which
    then may come before the waits of the gap before."""
    sections = tuple(
        replace(s, body=_ordered(s.body, sets_first))
        if isinstance(s, Section) and s.core is Core.VECTOR
        else s
        for s in func.launch.body
    )
    if all(s.core is Core.VECTOR for s in sections if isinstance(s, Section)):
        return func.with_body(sections).at_phase(Phase.SYNCED)
    return barriers_everywhere(func)


def _ordered(body: Body, sets_first: bool) -> Body:
    result: list[Stmt] = []
    for old in body:
        lets, stmt = read_before(old)
        for let in lets:
            result += [let, *_gap(let.loc, sets_first)]
        inner = tuple(
            (*_gap(stmt.loc, sets_first), *_ordered(b, sets_first)) if b else b
            for b in bodies(stmt)
        )
        result.append(with_bodies(stmt, inner))
        if not isinstance(stmt, Break):
            result += _gap(stmt.loc, sets_first)
    return tuple(result)


def _gap(loc: Loc, sets_first: bool) -> list[Stmt]:
    barriers: list[Stmt] = [Op(OPS["pipe_barrier"], (), (p,), loc) for p in PIPES]
    # The pairs from and to the scalar unit come last: nothing is handed out before it is done.
    found = DEFAULT_TARGET.flag_pairs[Core.VECTOR]
    pairs = sorted(((a.value, b.value) for a, b in found), key=lambda pair: ("s" in pair, pair))
    sets = [Op(OPS["set_flag"], (Const(0),), pair, loc) for pair in pairs]
    waits = [Op(OPS["wait_flag"], (Const(0),), pair, loc) for pair in pairs]
    if sets_first:
        return [*barriers, *sets, *waits]
    return [*barriers, *(op for both in zip(sets, waits, strict=True) for op in both)]
