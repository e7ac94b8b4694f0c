"""The IR's data: statements and functions, with the buffers, regions and operations in them, which
are declared below. Declarations only.

Values (regions) are frozen, and equal ones are one object; placed nodes are frozen, equal by
identity, and always know the user's line they come from. A pass builds new nodes; unchanged IR
stays the same object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import IntEnum
from functools import lru_cache, singledispatch
from typing import TYPE_CHECKING, Any, NoReturn

from tile_ir.diagnostics.errors import KernelError
from tile_ir.expr import Buffer as Buffer
from tile_ir.expr import Const, Expr, Var, walk_expr
from tile_ir.location import Loc
from tile_ir.machine import Core, Layout, Word
from tile_ir.opdef import Op as Op
from tile_ir.quick_dataclasses import dataclass, replace
from tile_ir.ranks import NUMBERS_OF_LAUNCH
from tile_ir.regions import AttrValue as AttrValue
from tile_ir.regions import Operand as Operand
from tile_ir.regions import Region as Region
from tile_ir.regions import Slice as Slice

if TYPE_CHECKING:
    from tile_ir.diagnostics.errors import Diagnostic, Expansion


class Phase(IntEnum):
    """The phases of a function, in order; `verification/phases.py` has the guarantees and limits of
    each."""

    BUILT = 0
    TYPED = 1
    LOWERED = 2
    SPLIT = 3
    PIPELINED = 4
    PLANNED = 5
    SYNCED = 6


class LoopKind(Word):
    SERIAL = "serial"
    UNROLL = "unroll"
    PARALLEL = "parallel"
    PIPELINED = "pipelined"
    PERSISTENT = "persistent"
    TASK = "task"


@dataclass(frozen=True, slots=True)
class Given:
    """The author's schedule of one statement in a pipelined loop: its place in the order of an
    iteration, and the number of iterations by which it is late."""

    loc: Loc
    order: int
    stage: int


@dataclass(frozen=True, slots=True)
class TaskKernel:
    """A kernel that is a part of another one: the vector cores of its launch, as `threads` of
    `Launch`, and the decisions that its author leaves to the compiler. It begins once all blocks of
    the tasks `after` are done; they stand before it. A task `ahead` only loads what later ones
    read: it keeps its place in the order of the text."""

    name: str
    threads: int | None
    automatic: frozenset[Automatic] = frozenset()
    after: tuple[str, ...] = ()
    ahead: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class For:
    """`var` runs over [start, stop) in steps of one. A pipelined loop has `stages`, 0 for the best
    number. `given` is the author's schedule of its statements, without definitions, in the order of
    the text; it is empty if the compiler orders them. `task` describes the loop over the blocks of
    a task. Such loops stand at the top of a text of one block, whose cores wait for each other
    behind each iteration; compiled, all blocks of the launch share the iterations."""

    var: Var
    start: Expr
    stop: Expr
    kind: LoopKind
    body: Body
    loc: Loc
    stages: int = 0
    given: tuple[Given, ...] = ()
    task: TaskKernel | None = None


@dataclass(frozen=True, slots=True, eq=False)
class While:
    condition: Expr
    body: Body
    loc: Loc


@dataclass(frozen=True, slots=True, eq=False)
class If:
    """`unlikely` says that the condition hardly ever holds, as that of a tail does not."""

    condition: Expr
    then: Body
    orelse: Body
    loc: Loc
    unlikely: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Let:
    """An immutable name for a value, visible to the statements after it in its block."""

    var: Var
    value: Expr
    loc: Loc


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """Write one element (or a scalar variable, which has no indices) from the scalar unit."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr
    loc: Loc


@dataclass(frozen=True, slots=True, eq=False)
class Break:
    """Leave the innermost loop."""

    loc: Loc


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """Statements that only one kind of core runs."""

    core: Core
    body: Body
    loc: Loc


Stmt = Op | For | While | If | Let | Store | Break | Section
Body = tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Alloc:
    """A buffer of the kernel and, once known, its byte address and L1 layout. `scratch` marks
    buffers that the compiler added; they live for one operation only and may share bytes.
    `alias_of` is the buffer whose first bytes this one names again, with another element type or
    shape. One of gm that names no other again is room that lives for one call: before `LOWERED`
    only."""

    buffer: Buffer
    loc: Loc
    address: int | None = None
    layout: Layout | None = None
    scratch: bool = False
    alias_of: Buffer | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """The kernel body, run by `blocks` cores. `lane` numbers the two vector cores of a block.

    `threads` is None for the two-index form; 1 pairs each cube core with one vector core; 2 leaves
    the split over both vector cores to the compiler.
    """

    blocks: Expr
    block: Var
    lane: Var
    threads: int | None
    allocs: tuple[Alloc, ...]
    body: Body
    loc: Loc


class Automatic(Word):
    """Decisions that the author of a kernel leaves to the compiler.

    * SYNC, CROSS: the order of a core's pipes, and the order between the cores of a block.
    * MEMORY: the buffers that share bytes.
    * CORES, BLOCKS: the core of a block for each statement of a text that is one program, and the
      core for each block.
    * TILES: the sizes of a block's tiles.
    * STORES: the unit that stores single elements to gm.
    * BOUNDS: elements outside of a tensor, which read as zero and vanish when written.
    * STRIDES: contiguous rows of a tensor; a caller may pass any strides.

    And where the model finds it faster:

    * GRID: cores do several blocks of the grid.
    * ROUNDS: iterations of a plain loop overlap.
    * NEIGHBOURS: a block does the tiles of several neighbours.
    * PITCHES: rows of tiles start at whole blocks of ub.
    """

    SYNC = "sync"
    MEMORY = "memory"
    CROSS = "cross"
    CORES = "cores"
    BLOCKS = "blocks"
    TILES = "tiles"
    STORES = "stores"
    BOUNDS = "bounds"
    STRIDES = "strides"
    GRID = "grid"
    ITERATIONS = "iterations"
    NEIGHBOURS = "neighbours"
    PITCHES = "pitches"


@singledispatch
def text_of(node: object) -> str:
    """Print a function in the textual form; `printer` has the implementation."""
    raise NotImplementedError(type(node).__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Func:
    """A kernel: parameters in declaration order (tensors are GM buffers, scalars are variables).

    `sources` maps file names to the text they had when the kernel was traced, for diagnostics; it
    is not part of the printed form. `remarks` are messages of passes to the user, `expansions` are
    the calls of macros, `settled` the sections whose generated statements are ordered; nor are
    they.
    """

    name: str
    params: tuple[Buffer | Var, ...]
    launch: Launch
    phase: Phase
    loc: Loc
    automatic: frozenset[Automatic] = frozenset()
    sources: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    remarks: tuple[Diagnostic, ...] = field(default=(), compare=False, repr=False)
    expansions: tuple[Expansion, ...] = field(default=(), compare=False, repr=False)
    settled: frozenset[Section] = field(default=frozenset(), compare=False, repr=False)

    def __repr__(self) -> str:
        return text_of(self).rstrip("\n")

    if not TYPE_CHECKING:  # type checkers say so themselves

        def __call__(self, *arguments: Any, **named: Any) -> NoReturn:
            message = f"`{self.name}` is a prim_func: it is compiled before it is called"
            hint = f"write T.compile({self.name})(...), with out_idx for what it returns"
            raise KernelError("call-prim-func", message, hint=hint)

    @property
    def tensors(self) -> tuple[Buffer, ...]:
        return _tensors(self.params)

    @property
    def symbols(self) -> tuple[Var, ...]:
        """Symbolic dimensions in order of first appearance
        (docs/language/index.md#emitted-source)."""
        return _symbols(self.params)

    def with_body(self, body: Body, **launch_changes: Any) -> Func:
        """This function with another body; the same object if nothing changed."""
        launch = self.launch
        if body is launch.body and not launch_changes:
            return self
        return replace(self, launch=replace(launch, body=body, **launch_changes))

    def at_phase(self, phase: Phase) -> Func:
        return self if phase == self.phase else replace(self, phase=phase)


# Every pass and the verifier after it ask for these, of functions that differ in their bodies.
@lru_cache(maxsize=1024)
def _tensors(params: tuple[Buffer | Var, ...]) -> tuple[Buffer, ...]:
    return tuple([p for p in params if isinstance(p, Buffer)])


@lru_cache(maxsize=1024)
def _symbols(params: tuple[Buffer | Var, ...]) -> tuple[Var, ...]:
    found: dict[Var, None] = {}
    scalars = {p for p in params if isinstance(p, Var)}
    for tensor in _tensors(params):
        for dim in tensor.shape:
            for e in () if isinstance(dim, Const) else walk_expr(dim):
                if isinstance(e, Var) and e not in scalars and e not in NUMBERS_OF_LAUNCH:
                    found.setdefault(e)
    return tuple(found)
