"""Define the events of a core that matter to other ranks, one after the other."""

from __future__ import annotations

from tile_checkers.ranks.core_numbers import Figure
from tile_checkers.touched import Flag
from tile_ir import Buffer, Op, Stmt
from tile_ir.opdef import Among
from tile_ir.quick_dataclasses import dataclass

# An instance of a symmetric tensor, and the place of one word in it.
Word = tuple[Buffer, int, tuple[Figure, ...]]


@dataclass(frozen=True, slots=True)
class Reach:
    """An access to bytes of the instance of a rank: from `lows` to before `highs` in each
    dimension. It is not `certain` where data decide whether it happens, or where. Two `unordered`
    ones need no order. A `word` is touched by a signal or a wait, and is no store that is under way
    for long. A `far` one names the instance by its rank, which may be the own one. An access of an
    `engine` lasts until the core waits for the engine."""

    stmt: Stmt
    pipe: int
    buffer: Buffer
    rank: int
    lows: tuple[Figure, ...]
    highs: tuple[Figure, ...]
    writes: bool
    unordered: bool
    certain: bool
    word: bool
    far: bool
    engine: bool


@dataclass(frozen=True, slots=True)
class PipeFlag:
    """A flag between pipes of the core is set, or waited for."""

    flag: Flag
    sets: bool


@dataclass(frozen=True, slots=True)
class PipeWait:
    """Wait for the operations that one pipe has begun, or all pipes. `arrives` says whether stores
    to other ranks are complete then, and `fences` whether they come before later ones to the same
    rank."""

    pipe: int | None
    arrives: bool = False
    fences: bool = False


@dataclass(frozen=True, slots=True)
class AwaitEngine:
    """Wait for all copies that the core has given to the engine."""


@dataclass(frozen=True, slots=True)
class Tell:
    """A word is set, or added to."""

    op: Op
    word: Word
    value: Figure
    adds: bool


@dataclass(frozen=True, slots=True)
class Await:
    """The core waits until a word compares."""

    op: Op
    word: Word
    value: Figure
    until: str


@dataclass(frozen=True, slots=True)
class Meet:
    """The core waits for others to be here too."""

    op: Op
    among: Among
    cubes: bool


@dataclass(frozen=True, slots=True)
class Raise:
    """Raise a counter of other cores once a pipe has completed the operations it has begun."""

    op: Op
    pipe: int
    mode: int
    number: int


@dataclass(frozen=True, slots=True)
class Lower:
    """The core waits until its counter can be lowered."""

    op: Op
    number: int


CoreEvent = Reach | PipeFlag | PipeWait | AwaitEngine | Tell | Await | Meet | Raise | Lower

__all__ = [
    "Await",
    "AwaitEngine",
    "CoreEvent",
    "Lower",
    "Meet",
    "PipeFlag",
    "PipeWait",
    "Raise",
    "Reach",
    "Tell",
    "Word",
]
