"""Define the parts of a record of the op table, and the problem of an illegal operation.

The parts are operands and attributes, their accesses, and effects besides data.
"""

from __future__ import annotations

from collections.abc import Container
from enum import Enum
from typing import Any

from tile_ir.dtypes import DType
from tile_ir.expr import Buffer
from tile_ir.machine import Memory, Word
from tile_ir.quick_dataclasses import dataclass
from tile_ir.regions import AttrValue


class Access(Word):
    READ = "r"
    WRITE = "w"
    READ_WRITE = "rw"

    def __init__(self, directions: str) -> None:
        self.reads, self.writes = "r" in directions, "w" in directions


class Effect(Word):
    """The effect of an operation besides moving data, for the interpreter and the passes."""

    DATA = "data"
    SET_FLAG = "set_flag"
    WAIT_FLAG = "wait_flag"
    BARRIER = "barrier"
    SET_CROSS_FLAG = "set_cross_flag"
    WAIT_CROSS_FLAG = "wait_cross_flag"
    SYNC_ALL = "sync_all"
    PRINT = "print"
    DUMP = "dump"
    ASSERT = "assert"
    SET_DEQ_SCALE = "set_deq_scale"
    CACHE = "cache"
    SIGNAL = "signal"
    AWAIT_SIGNAL = "await_signal"
    ENGINE = "engine"
    AWAIT_ENGINE = "await_engine"


class Among(Enum):
    """Whose cores meet at a barrier of several cores, or whose memory one of a core completes."""

    BLOCK = "block"
    LAUNCH = "launch"
    RANKS = "ranks"


class Composite(Word):
    """Whether the hardware runs the operation as it stands or a pass must take it apart."""

    NO = "no"
    YES = "yes"


@dataclass(frozen=True, slots=True)
class Problem:
    """The reason why an operation is not legal, the operand with the fault, and the hint."""

    slug: str
    message: str
    operand: str | None = None
    hint: str | None = None


def no_tile(where: str, memories: str, operand: str) -> Problem:
    """The problem of a scalar in the place of a tile."""
    message = f"{where} is a scalar, expected a buffer in {memories}"
    hint = f"pass a tile or a slice such as x[0:1] for {operand}"
    return Problem("operand-kind", message, operand, hint)


def no_scalar(where: str, buffer: Buffer, operand: str) -> Problem:
    """The problem of a buffer in the place of a scalar."""
    message = f"{where} is the buffer `{buffer.name}`, expected a scalar"
    element = f"{buffer.name}[{', '.join('0' for _ in buffer.shape)}]"
    return Problem("operand-kind", message, operand, f"pass a number, or one element: {element}")


@dataclass(frozen=True, slots=True)
class OperandDef:
    """One operand. `memories` empty means it is a scalar; `scalar` means it may be one. `dtypes`
    empty means all of whole bytes, `packed` adds those that share some; the rest get the `hint`.
    With `as_bytes` a script may give a tile of wider elements, of which it takes the bytes."""

    name: str
    access: Access
    memories: frozenset[Memory] = frozenset()
    dtypes: tuple[DType, ...] = ()
    scalar: bool = False
    optional: bool = False
    variadic: bool = False
    packed: bool = False
    as_bytes: bool = False
    hint: str = "cast it with T.tile.cast first"

    @property
    def default(self) -> Any:
        """The default of an operand; REQUIRED if there is none."""
        return None if self.optional else () if self.variadic else REQUIRED


class _Required(Enum):
    REQUIRED = "required"


REQUIRED = _Required.REQUIRED
TOLD = (Effect.PRINT, Effect.DUMP, Effect.ASSERT)  # the user sees each time that one of these runs


@dataclass(frozen=True, slots=True)
class AttrDef:
    """A compile-time argument. `choices` lists the legal strings, compared in lower case."""

    name: str
    type: type
    default: AttrValue | _Required = REQUIRED
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ArgumentDef:
    """One parameter of a call, where it is more than the operand or attribute of its name.

    `parts` are the operands and attributes it gives a value: one, or several, of which it is a
    list. Without parts it has no effect, and must be one of `choices` if there are any, or only
    the adapter of the language reads it. If it is left out, `default` stands for it, or the
    argument named `same_as` does.
    """

    name: str
    parts: tuple[str, ...] = ()
    default: Any = REQUIRED
    same_as: str = ""
    choices: Container[Any] | None = None
    expected: str = ""
    hint: str | None = None
