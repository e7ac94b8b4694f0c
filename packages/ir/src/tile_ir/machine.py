"""Name the parts of an AI core, and the cores that a part belongs to (docs/hardware/index.md).

`target` says which parts a chip has, and all else that differs from chip to chip.
"""

from __future__ import annotations

from enum import Enum


class Word(Enum):
    """Its members are single objects: they are hashed as such, by no code of Python's."""

    __hash__ = object.__hash__


class Memory(Word):
    """Where a buffer lives. SHARED and FRAGMENT are open until memory inference."""

    GM = "gm"
    L1 = "l1"
    UB = "ub"
    L0A = "l0a"
    L0B = "l0b"
    L0C = "l0c"
    BT = "bt"
    VAR = "var"
    SHARED = "shared"
    FRAGMENT = "fragment"


class Pipe(Word):
    """An instruction queue of a core; ALL stands for every queue in a barrier."""

    S = "s"
    V = "v"
    M = "m"
    MTE1 = "mte1"
    MTE2 = "mte2"
    MTE3 = "mte3"
    FIX = "fix"
    ALL = "all"


class Core(Word):
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
    Memory.BT: Core.CUBE,
}

# What an open memory may turn out to be (docs/language/rules.md#open-memories). Tiles that only the
# vector cores use are in ub, whichever allocator the kernel calls.
CHOICES_OF_OPEN = {
    Memory.SHARED: frozenset({Memory.UB, Memory.L1}),
    Memory.FRAGMENT: frozenset({Memory.L0A, Memory.L0B, Memory.L0C, Memory.UB}),
}


# Where elements may be that share bytes: what moves them moves bytes, and the units of both cores
# take some. Accumulators, tables and scalars have none.
PACKED_MEMORIES = frozenset(
    {Memory.GM, Memory.UB, Memory.L1, Memory.L0A, Memory.L0B, Memory.SHARED, Memory.FRAGMENT}
)


def possible(memory: Memory) -> frozenset[Memory]:
    """The memories that an open memory may become; any other memory is itself."""
    return CHOICES_OF_OPEN.get(memory, frozenset({memory}))


# Pipes that serve one unit; the others serve whichever core they are in.
CORE_OF_PIPE = {
    Pipe.V: Core.VECTOR,
    Pipe.M: Core.CUBE,
    Pipe.MTE1: Core.CUBE,
    Pipe.FIX: Core.CUBE,
}


class Layout(Enum):
    """Order of elements in an L1 matrix (docs/language/rules.md#products)."""

    ZN = "zn"
    NZ = "nz"
