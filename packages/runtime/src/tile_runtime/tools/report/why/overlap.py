"""Find pipes that wait for each other where none is busy most of the time, and the change that
would let them overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tile_runtime.tools.report.kernel_facts import SourceLoop
from tile_runtime.tools.report.timed_run import Place, place_text
from tile_runtime.tools.report.why.decisive_path import PathPart
from tile_runtime.tools.report.why.finding import Cause, percents
from tile_runtime.tools.report.why.measures import Measures
from tile_runtime.tools.report.why.room_for_tiles import larger_tiles

# Both kinds of core have at least this share of the critical path where they take turns.
BOTH_KINDS = 0.15


def waiting_findings(m: Measures) -> Iterator[Cause]:
    """One finding: cores that take turns, or pipes of one core that do."""
    whole = m.path.cycles
    kinds = m.path.sums(lambda p: p.core)
    busiest = m.loads[0].busy / whole
    if len(kinds) == 2 and min(kinds.values()) >= BOTH_KINDS * whole and m.path.crossings > 1:
        cube = _places(m, lambda part: part.core == "aic")
        places = cube[:1] + _places(m, lambda part: part.core == "aiv")[:1]
        yield Cause(
            "turns of cores",
            "cube and vector cores that take turns",
            f"the critical path goes from one to the other "
            f"{m.path.crossings} times in {_chain(m)}, {percents(kinds['aic'] / whole)} of it on "
            f"the cube core, {percents(kinds['aiv'] / whole)} on the vector cores, and no pipe is "
            f"busy more than {percents(busiest)} of the time",
            _let_cores_overlap(m, places),
            1 - busiest,
            tuple(places),
        )
        return
    shares = list(m.path.sums(lambda p: (p.core, p.pipe)).items())[:3]
    parts = [
        (pipe, cycles / whole, _places_of(m, core, pipe)[:1])
        for (core, pipe), cycles in shares
        if cycles >= 0.05 * whole
    ]
    turns = ", ".join(
        f"{pipe} {percents(share)}" + (f" ({m.line_text(at[0])})" if at else "")
        for pipe, share, at in parts
    )
    places = [place for *_, at in parts for place in at]
    yield Cause(
        "no overlap",
        "pipes that wait for each other",
        f"none is busy more than {percents(busiest)} of the time, "
        f"and on the critical path they take turns: {turns}",
        _let_pipes_overlap(m, places, shares[0][0][0]),
        1 - busiest,
        tuple(places),
    )


def _chain(m: Measures) -> str:
    count = len(m.chains.last)
    return "one block" if count == 1 else f"{count} blocks"


def _places_of(m: Measures, core: str, pipe: str) -> list[Place]:
    return _places(m, lambda part: (part.core, part.pipe) == (core, pipe))


def _places(m: Measures, wanted: Callable[[PathPart], bool]) -> list[Place]:
    """The lines that have most of some parts of the path."""
    sums = m.path.sums(lambda part: m.run.shown_place(part.place) if wanted(part) else None)
    return [place for place in sums if place is not None]


def _let_cores_overlap(m: Measures, places: list[Place]) -> str:
    loop = _loop(m, places)
    if not m.run.facts.ordered:
        return (
            "let the cube core work on the next tile while the vector cores have this one: two "
            "slots in each workspace, or leave the order to the compiler and use T.Pipelined"
        )
    if loop is None:
        return "give each block several tiles in a T.Pipelined loop, so that the cores work on two"
    if loop.kind != "pipelined":
        return f"give {_name(loop)} stages: T.Pipelined(..., num_stages=2)"
    return (
        f"{_name(loop)} has num_stages={loop.stages} and not all of its work overlaps: try "
        f"num_stages={loop.stages + 1}, or larger tiles; its schedule says what must wait"
    )


def _let_pipes_overlap(m: Measures, places: list[Place], core: str) -> str:
    loop = _loop(m, places)
    if not m.run.facts.ordered:
        return (
            "give each tile two slots and let flags order them, one for each slot, not barriers; "
            "or leave the order to the compiler and use T.Pipelined"
        )
    if loop is None and m.run.facts.dealt:
        return (
            "a pipelined loop runs the blocks of a core already: smaller tiles give it more "
            f"iterations; or {larger_tiles(m, 'aiv', 'V')}"
        )
    if loop is None:
        return (
            "let a block go over several tiles in a loop with T.Pipelined(..., num_stages=2), so "
            "that it loads the next one while it works on this one"
        )
    if loop.kind != "pipelined" and m.run.facts.overlaps(loop):
        return (
            f"iterations of {_name(loop)} overlap already: more of them in each block, or "
            f"{larger_tiles(m, core, 'S')}"
        )
    if loop.kind != "pipelined":
        return (
            f"give {_name(loop)} stages: T.Pipelined(..., num_stages=2), so that it loads the next "
            "tile while it works on this one"
        )
    return (
        f"{_name(loop)} is pipelined with num_stages={loop.stages}: try num_stages="
        f"{loop.stages + 1}, more iterations of it in each block, or {larger_tiles(m, core, 'S')}"
    )


def _loop(m: Measures, places: list[Place]) -> SourceLoop | None:
    """The loop of the first line that is in one whose iterations could load and store ahead."""
    loops = (m.run.facts.loop_around(*place, moves=True) for place in places)
    return next((loop for loop in loops if loop is not None), None)


def _name(loop: SourceLoop) -> str:
    return f"the loop at {place_text((loop.file, loop.first))}"
