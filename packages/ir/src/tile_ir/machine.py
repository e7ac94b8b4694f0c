"""Words for the parts of an AI core: memories, pipes, core kinds (hardware.md, sections 1-2).

Sizes and counts are not here: they belong to a chip and stand in `target`.
"""

from __future__ import annotations

from enum import Enum


class Memory(Enum):
    """Where a buffer lives. SHARED and FRAGMENT are open until memory inference."""

    GM = "gm"
    L1 = "l1"
    UB = "ub"
    L0A = "l0a"
    L0B = "l0b"
    L0C = "l0c"
    VAR = "var"
    SHARED = "shared"
    FRAGMENT = "fragment"


class Pipe(Enum):
    """An instruction queue of a core; ALL stands for every queue in a barrier."""

    S = "s"
    V = "v"
    M = "m"
    MTE1 = "mte1"
    MTE2 = "mte2"
    MTE3 = "mte3"
    FIX = "fix"
    ALL = "all"


class Core(Enum):
    """Which kind of core runs something."""

    CUBE = "cube"
    VECTOR = "vector"
    EITHER = "either"


CORE_OF_MEMORY = {
    Memory.UB: Core.VECTOR,
    Memory.L1: Core.CUBE,
    Memory.L0A: Core.CUBE,
    Memory.L0B: Core.CUBE,
    Memory.L0C: Core.CUBE,
}

PIPES_OF_CORE = {
    Core.CUBE: (Pipe.S, Pipe.M, Pipe.MTE1, Pipe.MTE2, Pipe.MTE3, Pipe.FIX),
    Core.VECTOR: (Pipe.S, Pipe.V, Pipe.MTE2, Pipe.MTE3),
}


class Layout(Enum):
    """Order of elements in an L1 matrix (language.md, section 7.2)."""

    ZN = "zn"
    NZ = "nz"
