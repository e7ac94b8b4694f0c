"""The order and the stages that the author of a pipelined loop gives, for the statements that
lowering has made of his: followed as they are, or an error that says what they break."""

from __future__ import annotations

from collections.abc import Sequence

from tile_ir import For, Given, KernelError, Let, Loc, Stmt, Var
from tile_passes.pipelining.modulo_schedule import Arrangement, broken
from tile_passes.pipelining.round_units import Round, Unit

_HINT = "`order` is each statement's place in a new round, `stage` how many rounds it is behind"


def given_order(round_: Round) -> Arrangement:
    """The arrangement that the loop gives. Raises KernelError where it breaks an order that the
    statements must keep."""
    said = _said(round_.loop)
    of_unit = {unit: _of(unit, said) for unit in round_.units}
    place = {unit: i for i, unit in enumerate(round_.units)}
    units = sorted(round_.units, key=lambda u: (of_unit[u].order, place[u]))
    found = Arrangement(tuple(units), {u: of_unit[u].stage for u in units})
    wrong = broken(round_, found)
    if wrong is None:
        return found
    first, then = _loc(wrong.first), _loc(wrong.then)
    rounds = "of a round" if wrong.distance == 0 else "of a round before"
    raise KernelError(
        "loop-schedule",
        f"line {then.line} comes after line {first.line} {rounds}, as both use "
        f"`{wrong.about.name}` and one of them writes it; by these lists it comes first",
        then,
        _HINT,
    )


def _said(loop: For) -> dict[Stmt, Given]:
    """What is said of the statement that each of these was made of: they stand in its order, at its
    place in the text."""
    found: dict[Stmt, Given] = {}
    at = 0
    for stmt in loop.body:
        if isinstance(stmt, Let):
            continue
        later = (i for i in range(at, len(loop.given)) if loop.given[i].loc == stmt.loc)
        at = next(later, at)
        found[stmt] = loop.given[at]
    return found


def _of(unit: Unit, said: dict[Stmt, Given]) -> Given:
    """That of a unit: the first of its statements, which all have one stage."""
    given = [said[s] for s in unit.stmts if s in said]
    for other in given:
        if other.stage != given[0].stage:
            raise KernelError(
                "loop-schedule",
                f"lines {given[0].loc.line} and {other.loc.line} stay together, as {_why(unit)}, "
                f"but have stages {given[0].stage} and {other.stage}",
                other.loc,
                "give both one stage",
            )
    return min(given, key=lambda g: g.order, default=Given(_loc(unit), 0, 0))


def _why(unit: Unit) -> str:
    names: Sequence[Var] = [s.var for s in unit.stmts if isinstance(s, Let)]
    return f"`{names[-1].name}` is loaded for both" if names else "they share working memory"


def _loc(unit: Unit) -> Loc:
    return next((s.loc for s in unit.stmts if not isinstance(s, Let)), unit.stmts[0].loc)


__all__ = ["given_order"]
