"""Define an operation, the record with all facts about it, and queries on that record.

The records stand in `ops/<family>.py`. Every fact about an operation comes from its record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

from tile_ir.costs.timing import FULL_RATE
from tile_ir.dtypes import DType
from tile_ir.expr import Const, Expr
from tile_ir.layout.overlap import Overlap, overlap
from tile_ir.layout.tile_copy import Clipped
from tile_ir.location import Loc
from tile_ir.machine import CHOICES_OF_OPEN, Core, Memory, Pipe, possible
from tile_ir.op_parts import REQUIRED as REQUIRED
from tile_ir.op_parts import TOLD as TOLD
from tile_ir.op_parts import Access as Access
from tile_ir.op_parts import Among as Among
from tile_ir.op_parts import ArgumentDef as ArgumentDef
from tile_ir.op_parts import AttrDef as AttrDef
from tile_ir.op_parts import Composite as Composite
from tile_ir.op_parts import Effect as Effect
from tile_ir.op_parts import OperandDef as OperandDef
from tile_ir.op_parts import Problem as Problem
from tile_ir.op_parts import no_scalar, no_tile
from tile_ir.quick_dataclasses import dataclass, replace
from tile_ir.regions import AttrValue, Operand, Region
from tile_ir.target import Target


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """One operation of the op table applied to operands."""

    opdef: OpDef
    operands: tuple[Operand, ...]
    attrs: tuple[AttrValue, ...]
    loc: Loc

    def operand(self, name: str) -> Operand:
        return self.operands[_operand_places(self.opdef)[name]]

    def region(self, name: str) -> Region:
        """The operand as a region; the verifier has made sure it is one."""
        value = self.operands[_operand_places(self.opdef)[name]]
        assert isinstance(value, Region), f"{self.opdef.name}.{name} is not a region"
        return value

    def attr(self, name: str) -> Any:
        return self.attrs[_attr_places(self.opdef)[name]]

    @property
    def scratch(self) -> Region | None:
        """The working memory of the operation; its previous contents do not matter."""
        place = _operand_places(self.opdef).get("scratch", len(self.operands))
        given = self.operands[place] if place < len(self.operands) else None
        return given if isinstance(given, Region) else None

    def problem(self, operand: str, slug: str, found: str, hint: str | None = None) -> Problem:
        """The problem of an operand that is a region; `found` describes the fault."""
        buffer = self.region(operand).buffer
        message = f"{self.opdef.called}: {operand} `{buffer.name}` {found}"
        return Problem(slug, message, operand, hint)

    def with_scratch(self, memory: Region | None) -> Op:
        """The operation with this working memory; its record has an operand for it."""
        place = _operand_places(self.opdef)["scratch"]
        return replace(self, operands=(*self.operands[:place], memory, *self.operands[place + 1 :]))


@dataclass(frozen=True, slots=True)
class Scratch:
    """Working memory an operation needs: `elements` of `dtype` in `memory`. One that gets along
    with less, more slowly, says how little in `least`."""

    memory: Memory
    dtype: DType
    elements: int
    least: int | None = None

    @property
    def needed(self) -> int:
        return self.elements if self.least is None else self.least


Rule = Callable[[Op, Target], Problem | None]
# Labels of the dimensions of every operand that is a region (`ops/axes.py` says what they mean).
Axes = tuple["tuple[int | None, ...] | None", ...]
AxesRule = Callable[[Op], Axes]


def _no_problem(op: Op, target: Target) -> Problem | None:
    return None


@dataclass(frozen=True, slots=True, eq=False)
class OpDef:
    """One operation.

    `operands` then `attrs` in the order a script passes them; the compiler adds the operand
    `scratch`. `namespace` is where the language has it: `tile` for `T.tile.x`, empty for `T.x`,
    None for operations that only passes create; messages call one of these that stands for an
    operation of the language by its `spelling` there. `placement` says core and pipe; `meaning`
    gives the value written, if any is, from the values of the operands, in NumPy. For `cost`, those
    of vectors have a `rate`, elements a cycle of 2 and of 4 bytes, and a number of `instructions`;
    `chained` says whether each of these reads the result of the one before. `elementwise`
    operations treat every region as the same sequence of elements; `by_rows` says whether the
    instruction also steps from row to row (`row_form.py`). `clip` is for operations whose regions
    may hang over the edge of a tensor. `parameters` are the arguments of a call if not operands,
    then attributes; `variant` names the operation it builds if operands decide. `flat` operations
    take every region of ub as one run of elements, so that lowering moves regions that are none to
    a run of their own. `uses` says how many elements of an operand take part where a script may
    name a larger buffer: the language cuts it to its first elements. The meaning of one that
    `reads_deq_scale` gets the factor of the last `set_deq_scale` behind its operands. `overwrites`
    is the condition under which an operation replaces all previous contents of the operands that it
    reads and writes: it does not read the contents then. Where the condition does not hold, it adds
    to the contents, which must have a value before. None means that some of the contents always
    stay. An operation that is `in_order` starts after all earlier work of its own pipe is complete:
    the pipe, or the code of the operation, sees to that. Writes of `atomic` operations to gm may
    meet writes of others, in any order. Those with `unit_flags` wait for each other by those of l0c
    (docs/hardware/units.md#unit-flag). `paths` is for operations that carry their first operand to
    their second: the pairs of memories between which this movement exists. `axes` says which
    dimensions of the operands run along together, so that the operation on a part of them is that
    part of its result; every record declares it. `scratch_elsewhere`: other implementations of the
    language need working memory. `staged` operations may write into their inputs, as lowering
    writes elsewhere first. `of_rows` names the operation that does it for each row of matrices,
    with the same operands. Regions of ub `inside_blocks` may start anywhere, and their elements lie
    apart.
    """

    name: str
    family: str
    doc: str
    ascend_c: str
    operands: tuple[OperandDef, ...]
    placement: Callable[[Op], tuple[Core, Pipe]]
    meaning: Callable[..., Any] = lambda op, *values: None
    attrs: tuple[AttrDef, ...] = ()
    namespace: str | None = "tile"
    spelling: str = ""
    effect: Effect = Effect.DATA
    composite: Composite = Composite.NO
    elementwise: bool = False
    by_rows: Callable[[Op], bool] = lambda op: False
    may_alias: bool = False
    dtype_rule: Rule = _no_problem
    shape_rule: Rule = _no_problem
    scratch: Callable[[Op], tuple[Scratch, ...]] = lambda op: ()
    rate: tuple[float, float] | Callable[[Op], tuple[float, float]] = FULL_RATE
    instructions: Callable[[Op], int] = lambda op: 1
    chained: bool = True
    clip: Callable[[Op], Clipped] | None = None
    parameters: tuple[str | ArgumentDef, ...] = ()
    variant: Callable[[Op], str] | None = None
    flat: bool = False
    uses: Callable[[Op], Mapping[str, Expr]] | None = None
    reads_deq_scale: Callable[[Op], bool] = lambda op: False
    overwrites: Callable[[Op], Expr | None] = lambda op: None
    in_order: bool = False
    atomic: bool = False
    unit_flags: bool = False
    paths: Callable[[Op, Target], frozenset[tuple[Memory, Memory]]] | None = None
    axes: AxesRule | None = None
    scratch_elsewhere: bool = False
    staged: bool = False
    of_rows: str = ""
    inside_blocks: bool = False
    among: Among = Among.LAUNCH

    @property
    def called(self) -> str:
        """Its name in messages."""
        return self.spelling or self.name

    @property
    def hidden(self) -> tuple[str, ...]:
        """Operands that the compiler adds."""
        return tuple(o.name for o in self.operands if o.name == "scratch")

    def call_order(self) -> tuple[str, ...]:
        """Names of arguments in the order a script passes them."""
        return tuple(a.name for a in call_arguments(self))

    def operand_def(self, position: int) -> OperandDef:
        """The definition of the operand at a position; the last one may repeat."""
        return self.operands[min(position, len(self.operands) - 1)]


@cache
def _operand_places(opdef: OpDef) -> Mapping[str, int]:
    return {o.name: i for i, o in enumerate(opdef.operands)}


@cache
def _attr_places(opdef: OpDef) -> Mapping[str, int]:
    return {a.name: i for i, a in enumerate(opdef.attrs)}


@lru_cache(maxsize=16384)
def _placement(op: Op) -> tuple[Core, Pipe]:
    return op.opdef.placement(op)


@lru_cache(maxsize=16384)
def defined_operands(op: Op) -> tuple[tuple[OperandDef, Operand], ...]:
    """The operands, each with its definition."""
    return tuple([(op.opdef.operand_def(i), operand) for i, operand in enumerate(op.operands)])


@cache
def call_arguments(opdef: OpDef) -> tuple[ArgumentDef, ...]:
    """The parameters of a call, each with its default and the operands or attributes it sets."""
    found: dict[str, Any] = {o.name: o.default for o in opdef.operands}
    found.update((a.name, a.default) for a in opdef.attrs)
    return tuple(
        p if isinstance(p, ArgumentDef) else ArgumentDef(p, (p,), found[p])
        for p in opdef.parameters or (n for n in found if n not in opdef.hidden)
    )


def argument_of(opdef: OpDef, part: str) -> str:
    """The name that a script has for an operand or an attribute."""
    return next((a.name for a in call_arguments(opdef) if part in a.parts), part)


def pipe_of(op: Op) -> Pipe:
    return _placement(op)[1]


def core_of(op: Op) -> Core:
    return _placement(op)[0]


def element_limit(op: Op) -> Expr | None:
    """The `count` operand, if there is one. Only that many first elements take part, and the other
    elements of the result keep their values."""
    place = _operand_places(op.opdef).get("count", len(op.operands))
    limit = op.operands[place] if place < len(op.operands) else None
    return limit if isinstance(limit, Expr) else None


@lru_cache(maxsize=16384)
def accesses(op: Op) -> tuple[tuple[Region, Access], ...]:
    """Every region the operation touches, with the direction."""
    return tuple([(o, d.access) for d, o in defined_operands(op) if isinstance(o, Region)])


def overwriting(op: Op) -> bool | None:
    """Whether the operation overwrites the operands that it reads and writes, or adds to them; None
    if that is not certain."""
    condition = op.opdef.overwrites(op)
    return bool(condition.value) if isinstance(condition, Const) else None


def words(memories: frozenset[Memory]) -> str:
    """Memories as a sentence lists them."""
    names = sorted(m.value for m in memories)
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " or " + names[-1]


@lru_cache(maxsize=16384)
def check_op(op: Op, target: Target) -> Problem | None:
    """The first rule of its record that the operation breaks on a chip, or None. A caller may check
    the operation that it makes; the verifier checks it again."""
    opdef = op.opdef
    if opdef.name in target.unavailable:
        message = f"{opdef.name} is not available on {target.name}"
        return Problem("op-unavailable", message, hint=target.unavailable[opdef.name])
    broken = check_form(op) or opdef.dtype_rule(op, target) or opdef.shape_rule(op, target)
    return broken or _check_overlap(op)


def check_form(op: Op) -> Problem | None:
    """The first operand or attribute that is not of the kind in the record, or None. The rules of
    the record rely on these kinds."""
    return _check_operands(op) or _check_attrs(op)


def _check_operands(op: Op) -> Problem | None:
    opdef = op.opdef
    variadic = bool(opdef.operands) and opdef.operands[-1].variadic
    if len(op.operands) != len(opdef.operands) and not (
        variadic and len(op.operands) >= len(opdef.operands) - 1
    ):
        message = f"{opdef.name} has {len(opdef.operands)} operands, found {len(op.operands)}"
        return Problem("arity", message)
    for definition, operand in defined_operands(op):
        problem = _check_operand(opdef, definition, operand)
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
        return no_tile(where, words(definition.memories), definition.name)
    if not definition.memories:
        return no_scalar(where, operand.buffer, definition.name)
    if operand.memory not in definition.memories and not (
        operand.memory in CHOICES_OF_OPEN and possible(operand.memory) & definition.memories
    ):
        message = f"{where} `{operand.buffer.name}` is in {operand.memory.value}, expected "
        message += f"{words(definition.memories)}"
        hint = _memory_hint(operand, definition)
        return Problem("operand-memory", message, definition.name, hint)
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
        open_ones = CHOICES_OF_OPEN.keys() & definition.memories
        return f"copy it to {'a tile on chip' if open_ones else target} with T.copy first"
    if operand.memory in CHOICES_OF_OPEN:
        other = next(o for o in CHOICES_OF_OPEN if o is not operand.memory)
        if possible(other) & definition.memories:
            return f"allocate it with T.alloc_{other.value}"
    return None


def _check_overlap(op: Op) -> Problem | None:
    """The problem of a written operand that overlaps another one, unless the record allows the very
    same elements: later pieces would read the results of earlier ones
    (docs/hardware/units.md#repeats)."""
    if op.opdef.effect is not Effect.DATA or op.opdef.staged:
        return None
    touched = defined_operands(op)
    for written, target in touched:
        if not isinstance(target, Region) or not written.access.writes:
            continue
        for read, other in touched:
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
            message = f"{opdef.name}: {definition.name} is {value!r}, expected a Python "
            message += f"{definition.type.__name__}"
            return Problem("attribute-type", message, definition.name)
        if definition.choices and value not in definition.choices:
            message = f"{opdef.name}: {definition.name} is {value!r}, expected "
            message += f"{_one_of([repr(c) for c in definition.choices])}"
            return Problem("attribute-value", message, definition.name)
    return None
