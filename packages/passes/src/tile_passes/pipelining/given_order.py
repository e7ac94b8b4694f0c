"""Take the order and the stages that the author of a loop gives for statements of its text, or
report what they break. Lowering has made several statements of each."""

from __future__ import annotations

from tile_ir import For, Given, KernelError, Let, Loc, Stmt
from tile_passes.pipelining.dependence_graph import Iteration, Unit
from tile_passes.pipelining.modulo_schedule import Arrangement, broken

_HINT = (
    "`order` is each statement's place in a new iteration, `stage` how many iterations it is behind"
)


def given_order(iteration: Iteration) -> Arrangement:
    """The arrangement that the loop gives. Raises KernelError where it breaks a dependence."""
    said = _said(iteration.loop)
    of_unit = {unit: _of(unit, said) for unit in iteration.units}
    units = tuple(sorted(iteration.units, key=lambda u: of_unit[u].order))
    found = Arrangement(units, {u: of_unit[u].stage for u in units})
    wrong = broken(iteration, found)
    if wrong is None:
        return found
    first, then, distance, buffer = wrong
    iterations = "of an earlier iteration" if distance else "of an iteration"
    raise KernelError(
        "loop-schedule",
        f"line {_loc(then).line} comes after line {_loc(first).line} {iterations}, as both use "
        f"`{buffer.name}` and one of them writes it; by these lists it comes first",
        _loc(then),
        _HINT,
    )


def _said(loop: For) -> dict[Stmt, Given]:
    """The given order and stage of the statement that each of these was lowered from. They stand in
    its order, and at places in its text: of the statements from the last one on, that which begins
    last of those that begin no later. Statements of a nest are at places inside the nest."""
    found: dict[Stmt, Given] = {}
    at, places = 0, [(g.loc.line, g.loc.column) for g in loop.given]
    for stmt in loop.body:
        if not isinstance(stmt, Let):
            loc = stmt.loc
            before = (
                i
                for i in range(at, len(places))
                if loop.given[i].loc.file == loc.file and places[i] <= (loc.line, loc.column)
            )
            at = max(before, key=places.__getitem__, default=at)
            found[stmt] = loop.given[at]
    return found


def _of(unit: Unit, said: dict[Stmt, Given]) -> Given:
    """That of a unit: the first of its statements, which all have one stage."""
    given = [said[s] for s in unit.stmts if s in said]
    names = [s.var.name for s in unit.stmts if isinstance(s, Let)]
    why = f"`{names[-1]}` is loaded for both" if names else "they share working memory"
    for other in given:
        if other.stage != given[0].stage:
            raise KernelError(
                "loop-schedule",
                f"lines {given[0].loc.line} and {other.loc.line} stay together, as {why}, "
                f"but have stages {given[0].stage} and {other.stage}",
                other.loc,
                "give both one stage",
            )
    return min(given, key=lambda g: g.order, default=Given(_loc(unit), 0, 0))


def _loc(unit: Unit) -> Loc:
    return next((s.loc for s in unit.stmts if not isinstance(s, Let)), unit.stmts[0].loc)
