"""Random programs, as a person could have written them."""

from __future__ import annotations

import random

from . import cube_segments, parallel_segments, vector_segments
from .program import Program
from .tiled_programs import tiled_program
from .writer import Writer

VECTOR = (
    vector_segments.load, vector_segments.load, vector_segments.store, vector_segments.store,
    vector_segments.move, vector_segments.convert, vector_segments.atomic,
    vector_segments.elementwise, vector_segments.fill, vector_segments.reduction,
    vector_segments.gather, vector_segments.elements, vector_segments.variables, parallel_segments.parallel,
    parallel_segments.parallel, parallel_segments.parallel,
)  # fmt: skip


def random_program(seed: int) -> Program:
    """The program of a number, always the same one."""
    rng = random.Random(seed)
    if rng.random() < 0.12:
        return tiled_program(seed)
    style = rng.choice(["expert", "expert", "developer"])
    cube = rng.random() < 0.2
    writer = Writer(rng, style, cube=cube)
    if rng.random() < 0.35:
        writer.blocks = rng.choice([1, 2, 3])
        writer.lanes = style == "expert" and not cube
    segments = [cube_segments.product] if cube else rng.choices(VECTOR, k=rng.choice([1, 1, 2, 3]))
    for segment in segments:
        _wrapped(writer, segment, alone=cube)
    return writer.program(seed)


def _wrapped(w: Writer, segment, alone: bool) -> None:  # type: ignore[no-untyped-def]
    """A segment as it is, in a loop of one or more iterations, or under a condition."""
    kind = "plain" if alone else w.pick(["plain"] * 6 + ["loop", "branch", "both"])
    if kind == "plain":
        segment(w)
        return
    if kind in ("loop", "both"):
        variable = w.name("q")
        trips = w.pick([1, 1, 0])
        with w.inside(f"for {variable} in T.serial({w.number(trips, 0.7)}):"):
            w.loops[variable] = 0
            segment(w)
        del w.loops[variable]
        w.note(f"in a loop {w.style}")
    if kind in ("branch", "both"):
        value = w.pick([0, 1, 5])
        with w.inside(f"if {w.number(value, 1.0)} > {w.pick([0, 2])}:"):
            segment(w)
        w.note(f"in a branch {w.style}")
