"""The record that holds everything known about one operation, and questions asked of it.

The records themselves stand in `ops/<family>.py`, one family a file. Whoever needs a fact about
an operation (wrapper, verifier, pass, interpreter, emitter, docs) asks its record; nobody compares
operation names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

from tile_ir.dtypes import DType
from tile_ir.expr import Const, Expr
from tile_ir.geometry import Clipped
from tile_ir.machine import CHOICES_OF_OPEN, CORE_OF_MEMORY, Core, Memory, Pipe, possible
from tile_ir.nodes import AttrValue, Op, Operand, Region
from tile_ir.overlap import Overlap, overlap
from tile_ir.target import Target
from tile_ir.timing import FULL_RATE


class Access(Enum):
    READ = "r"
    WRITE = "w"
    READ_WRITE = "rw"

    @property
    def reads(self) -> bool:
        return self is not Access.WRITE

    @property
    def writes(self) -> bool:
        return self is not Access.READ


class Effect(Enum):
    """What an operation does besides moving data; the interpreter and the passes match on it."""

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


class Composite(Enum):
    """Whether the hardware runs the operation as it stands or a pass must take it apart."""

    NO = "no"
    YES = "yes"


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an operation is not legal, which operand is to blame, and what to do about it."""

    slug: str
    message: str
    operand: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class OperandDef:
    """One operand. `memories` empty means it is a scalar; `scalar` means it may be one. `dtypes`
    empty means all of whole bytes, `packed` adds those that share some; the rest get the `hint`."""

    name: str
    access: Access
    memories: frozenset[Memory] = frozenset()
    dtypes: tuple[DType, ...] = ()
    scalar: bool = False
    optional: bool = False
    variadic: bool = False
    packed: bool = False
    hint: str = "cast it with T.tile.cast first"


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
class Scratch:
    """Working memory an operation needs: `elements` of `dtype` in `memory`."""

    memory: Memory
    dtype: DType
    elements: int


Rule = Callable[[Op, Target], Problem | None]
# Labels of the dimensions of every operand that is a region (`ops/axes.py` says what they mean).
Axes = tuple["tuple[int | None, ...] | None", ...]
AxesRule = Callable[[Op], Axes]


def _no_problem(op: Op, target: Target) -> Problem | None:
    return None


@dataclass(frozen=True, slots=True, eq=False)
class OpDef:
    """One operation.

    `operands` then `attrs` in the order a script passes them; operands named in `hidden` are added
    by the compiler. `namespace` is where the language has it: `tile` for `T.tile.x`, empty for
    `T.x`, None for operations that only passes create. `placement` says core and pipe; `meaning`
    gives the value written, from the values of the operands, in NumPy. For `cost`, those of vectors
    have a `rate`, elements a cycle of 2 and of 4 bytes, and a number of `instructions`.
    `elementwise` operations treat every region as the same sequence of elements. `clip` is for
    operations whose regions may hang over the edge of a tensor. `parameters` is
    the order of arguments in scripts where it differs from operands followed by attributes.
    `flat` operations take every region of ub as one run of elements, so that lowering moves
    regions that are none to a run of their own. `uses` says how many elements of an operand take
    part where a script may name a larger buffer: the language cuts it to its first elements.
    `unavailable` says what an operation needs that no back end has; such operations are checked and
    printed, but not lowered. The meaning of one that `reads_deq_scale` gets the factor of the last
    `set_deq_scale` behind its operands. `overwrites` is the condition under which an operation
    leaves nothing of what the operands held that it reads and writes: what they held is then not
    read. Where the condition does not hold, it is added to, and must have a value before. None
    means that some of it stays whatever happens. An operation that is `in_order` starts after all
    earlier work of its own pipe is complete: the pipe, or the code of the operation, sees to that.
    What `atomic` operations write to gm may meet what others of them write there, in any order.
    `paths` is for operations that carry their first operand to their second: the pairs of memories
    that what is asked for exists between. `axes` says which dimensions of the operands run along
    together, so that the operation on a part of them is that part of its result; every record
    declares it. `scratch_elsewhere`: other implementations of the language need working memory.
    `staged` operations may write into what they read, as lowering writes elsewhere first.
    """

    name: str
    family: str
    doc: str
    ascend_c: str
    operands: tuple[OperandDef, ...]
    placement: Callable[[Op], tuple[Core, Pipe]]
    meaning: Callable[..., Any]
    attrs: tuple[AttrDef, ...] = ()
    namespace: str | None = "tile"
    effect: Effect = Effect.DATA
    composite: Composite = Composite.NO
    elementwise: bool = False
    may_alias: bool = False
    dtype_rule: Rule = _no_problem
    shape_rule: Rule = _no_problem
    scratch: Callable[[Op], tuple[Scratch, ...]] = lambda op: ()
    rate: tuple[float, float] = FULL_RATE
    instructions: Callable[[Op], int] = lambda op: 1
    hidden: tuple[str, ...] = ()
    clip: Callable[[Op], Clipped] | None = None
    parameters: tuple[str, ...] = ()
    flat: bool = False
    uses: Callable[[Op], Mapping[str, Expr]] | None = None
    unavailable: str = ""
    reads_deq_scale: Callable[[Op], bool] = lambda op: False
    overwrites: Callable[[Op], Expr | None] = lambda op: None
    in_order: bool = False
    atomic: bool = False
    paths: Callable[[Op, Target], frozenset[tuple[Memory, Memory]]] | None = None
    axes: AxesRule | None = None
    scratch_elsewhere: bool = False
    staged: bool = False

    def call_order(self) -> tuple[str, ...]:
        """Names of operands and attributes in the order a script passes them."""
        names = tuple(o.name for o in self.operands) + tuple(a.name for a in self.attrs)
        return self.parameters or tuple(n for n in names if n not in self.hidden)

    def operand_index(self, name: str) -> int:
        for i, o in enumerate(self.operands):
            if o.name == name:
                return i
        raise KeyError(f"{self.name} has no operand {name}")

    def attr_index(self, name: str) -> int:
        for i, a in enumerate(self.attrs):
            if a.name == name:
                return i
        raise KeyError(f"{self.name} has no attribute {name}")

    def operand_def(self, position: int) -> OperandDef:
        """The definition of the operand at a position; the last one may repeat."""
        return self.operands[min(position, len(self.operands) - 1)]


def pipe_of(op: Op) -> Pipe:
    return op.opdef.placement(op)[1]


def core_of(op: Op) -> Core:
    return op.opdef.placement(op)[0]


def element_limit(op: Op) -> Expr | None:
    """The `count` operand, if there is one: only that many first elements take part, and the rest
    of what is written keeps its values."""
    for definition, operand in zip(op.opdef.operands, op.operands, strict=False):
        if definition.name == "count" and isinstance(operand, Expr):
            return operand
    return None


def accesses(op: Op) -> list[tuple[Region, Access]]:
    """Every region the operation touches, with the direction."""
    return [
        (operand, op.opdef.operand_def(i).access)
        for i, operand in enumerate(op.operands)
        if isinstance(operand, Region)
    ]


def overwriting(op: Op) -> bool | None:
    """Whether the operation overwrites what it reads and writes or adds to it, where that is
    certain."""
    condition = op.opdef.overwrites(op)
    return bool(condition.value) if isinstance(condition, Const) else None


def core_of_region(region: Region) -> Core:
    return CORE_OF_MEMORY.get(region.memory, Core.EITHER)


def words(memories: frozenset[Memory]) -> str:
    """Memories as a sentence lists them."""
    names = sorted(m.value for m in memories)
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " or " + names[-1]


@lru_cache(maxsize=16384)
def check_op(op: Op, target: Target) -> Problem | None:
    """The first rule of its record that the operation breaks on a chip, or None. Operations never
    change."""
    return (
        check_form(op)
        or op.opdef.dtype_rule(op, target)
        or op.opdef.shape_rule(op, target)
        or _check_overlap(op)
    )


def check_form(op: Op) -> Problem | None:
    """Whether operands and attributes are of the kinds the record names: its rules may ask for
    them then."""
    return _check_operands(op) or _check_attrs(op)


def _check_operands(op: Op) -> Problem | None:
    opdef = op.opdef
    variadic = bool(opdef.operands) and opdef.operands[-1].variadic
    if len(op.operands) != len(opdef.operands) and not (
        variadic and len(op.operands) >= len(opdef.operands) - 1
    ):
        return Problem(
            "arity",
            f"{opdef.name} has {len(opdef.operands)} operands, found {len(op.operands)}",
        )
    for i, operand in enumerate(op.operands):
        problem = _check_operand(opdef, opdef.operand_def(i), operand)
        if problem:
            return problem
    return None


def _check_operand(opdef: OpDef, definition: OperandDef, operand: Operand) -> Problem | None:
    where = f"{opdef.name}: {definition.name}"
    if operand is None:
        if definition.optional:
            return None
        return Problem("operand-missing", f"{where} is missing", definition.name)
    if isinstance(operand, Expr):
        if definition.scalar or not definition.memories:
            return None
        return Problem(
            "operand-kind",
            f"{where} is a scalar, expected a buffer in {words(definition.memories)}",
            definition.name,
        )
    if not definition.memories:
        return Problem(
            "operand-kind",
            f"{where} is the buffer `{operand.buffer.name}`, expected a scalar",
            definition.name,
        )
    if operand.memory not in definition.memories and not (
        operand.memory in CHOICES_OF_OPEN and possible(operand.memory) & definition.memories
    ):
        return Problem(
            "operand-memory",
            f"{where} `{operand.buffer.name}` is in {operand.memory.value}, "
            f"expected {words(definition.memories)}",
            definition.name,
            _memory_hint(operand, definition),
        )
    if definition.dtypes and operand.dtype not in definition.dtypes:
        return Problem(
            "operand-dtype",
            f"{where} `{operand.buffer.name}` is {operand.dtype}, expected "
            + _one_of([d.name for d in definition.dtypes]),
            definition.name,
            definition.hint,
        )
    if not definition.dtypes and not definition.packed and not operand.dtype.whole_bytes:
        return Problem(
            "operand-dtype",
            f"{where} `{operand.buffer.name}` is {operand.dtype}, expected a type of whole bytes",
            definition.name,
            f"T.tile.cast converts {operand.dtype} from and to float16; its bytes have a name of "
            "their own where T.reinterpretcast gives them one",
        )
    return None


def _memory_hint(operand: Region, definition: OperandDef) -> str | None:
    if operand.memory is Memory.GM:
        target = sorted(m.value for m in definition.memories)[0]
        return f"copy it to {target} with T.copy first"
    if operand.memory in CHOICES_OF_OPEN:
        other = next(o for o in CHOICES_OF_OPEN if o is not operand.memory)
        if possible(other) & definition.memories:
            return f"allocate it with T.alloc_{other.value}"
    return None


def _check_overlap(op: Op) -> Problem | None:
    """What is written is no other operand, unless the record allows the very same elements: later
    pieces would read what earlier ones have written (docs/hardware/vector.md#repeats)."""
    if op.opdef.effect is not Effect.DATA or op.opdef.staged:
        return None
    touched = list(
        zip(op.operands, map(op.opdef.operand_def, range(len(op.operands))), strict=True)
    )
    for target, written in touched:
        if not isinstance(target, Region) or not written.access.writes:
            continue
        for other, read in touched:
            if read is written or not isinstance(other, Region):
                continue
            shared = overlap(target, other)
            if shared is Overlap.PARTIAL or (shared is Overlap.SAME and not op.opdef.may_alias):
                how = "is" if shared is Overlap.SAME else "overlaps"
                return Problem(
                    "operand-overlap",
                    f"{op.opdef.name}: {read.name} {how} {written.name} "
                    f"(both in `{target.buffer.name}`)",
                    read.name,
                    "write to another buffer"
                    + (", or to exactly the elements that are read" if op.opdef.may_alias else ""),
                )
    return None


def _one_of(names: list[str]) -> str:
    return names[0] if len(names) == 1 else "one of " + ", ".join(names)


def _check_attrs(op: Op) -> Problem | None:
    opdef = op.opdef
    if len(op.attrs) != len(opdef.attrs):
        return Problem("arity", f"{opdef.name} has {len(opdef.attrs)} attributes")
    for definition, value in zip(opdef.attrs, op.attrs, strict=True):
        if value is None and definition.default is None:
            continue
        kinds = (float, int) if definition.type is float else definition.type
        bool_for_number = isinstance(value, bool) and definition.type is not bool
        if bool_for_number or not isinstance(value, kinds):
            return Problem(
                "attribute-type",
                f"{opdef.name}: {definition.name} is {value!r}, "
                f"expected a Python {definition.type.__name__}",
                definition.name,
            )
        if definition.choices and value not in definition.choices:
            return Problem(
                "attribute-value",
                f"{opdef.name}: {definition.name} is {value!r}, "
                f"expected {_one_of([repr(c) for c in definition.choices])}",
                definition.name,
            )
    return None
