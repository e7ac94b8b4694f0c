"""Collect the parts of a kernel while it is traced: statements, names, buffers, the launch.

A trace has IR and names but no Python syntax; the evaluator and the `T.` functions write to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Any, ClassVar

from tile_frontend._tracing.faults import CURRENT, Fault
from tile_frontend._tracing.names import Names
from tile_frontend._tracing.one_thread import OneThread
from tile_frontend._tracing.own_flags import without_own_order
from tile_frontend._tracing.private_arrays import PrivateArrays
from tile_frontend._tracing.safe_reads import safe_element
from tile_frontend._tracing.scalars import Scalar, python_number, stored_value
from tile_frontend._tracing.shared_tensors import with_own_instances
from tile_frontend._tracing.values import Cell, Pending, Tile
from tile_frontend._tracing.working_memory import idle_memory, without_memory
from tile_ir import (
    INT32,
    TOLD,
    Automatic,
    Body,
    Break,
    Buffer,
    Const,
    Core,
    Diagnostic,
    Expr,
    Func,
    Launch,
    LaunchSequence,
    Let,
    Load,
    Loc,
    Memory,
    Op,
    Phase,
    Stmt,
    Store,
    Target,
    Var,
    accesses,
    buffers_of,
    chosen_target,
    constant_value,
    core_of,
    generated,
    reads_memory,
    resolved,
    rewrite,
    simplify,
    substitute,
    walk_expr,
)  # fmt: skip
from tile_ir import walk as walk_body
from tile_ir.analysis import Interval, Ranges, decided, interval
from tile_ir.diagnostics.errors import Expansion
from tile_ir.quick_dataclasses import dataclass, replace


class LaunchReached(Exception):
    """The end of the host part of an eager kernel, where only that part is needed."""


@dataclass(eq=False, slots=True)
class EagerHost:
    """The host part of an eager kernel. `constants` are the numbers for the names of `T.const`;
    None while these are symbols. `names` are all such names, `outputs` the results of `T.empty`."""

    constants: dict[str, int] | None
    names: dict[str, None] = field(default_factory=dict)
    outputs: list[Tile] = field(default_factory=list)


@dataclass(eq=False)
class Trace:
    """One kernel in the making."""

    name: str
    params: tuple[Buffer | Var, ...]
    loc: Loc
    here: Loc  # of the call being evaluated, and of what it makes
    # The chip whose rules are told at the line that breaks them.
    target: Target = field(default_factory=chosen_target)
    names: Names = field(default_factory=Names)
    sources: dict[str, str] = field(default_factory=dict)
    allocations: list[Tile] = field(default_factory=list)
    pending: list[Pending] = field(default_factory=list)
    # What `T.Kernel` said; `body` follows when its block ends.
    header: Launch | None = None
    # The index of the block and the size, for each dimension of the grid.
    grid: tuple[tuple[Any, Any], ...] = ()
    # How many neighbouring blocks have one index together, and which one of how many shares the
    # products of the text that is evaluated.
    cluster_size: int = 1
    member: tuple[Expr, int] | None = None
    # How many threads a block would have on a GPU, by dimensions.
    threads: tuple[int, ...] = (128,)
    thread: OneThread | None = None  # in a loop over them
    # Which of them do what is evaluated, where that is not all of them.
    active: tuple[bool, ...] = ()
    # Statements of single parts of the threads, by identity.
    of_parts: dict[int, Stmt] = field(default_factory=dict)
    ranges: Ranges = field(default_factory=dict)  # of the variables of loops and of block indices
    body: Body | None = None
    # Launches before this one, each with its remarks, and the names that were there before it.
    earlier: list[tuple[Launch, tuple[Diagnostic, ...]]] = field(default_factory=list)
    around: frozenset[str] = frozenset()
    views: list[Tile] = field(default_factory=list)  # of tensors from outside of launches
    # What `T.alloc_global` made: tensors that carry values between launches.
    globals: list[Tile] = field(default_factory=list)
    core: Core = Core.EITHER
    loop_depth: int = 0
    # Symbolic dimensions and scalar parameters, which expressions from outside may use.
    symbols: set[Expr] = field(default_factory=set)
    # Symbols that are strides of parameters alone, and what they are inside the kernel.
    strides: dict[Expr, Expr] = field(default_factory=dict)
    # Names of values that are known now, and all names of values that stay as they are.
    known: dict[Var, Expr] = field(default_factory=dict)
    definitions: dict[Var, Expr] = field(default_factory=dict)
    # Postponed annotations are evaluated before the symbols in them are known.
    in_signature: bool = True
    expansions: int = 0  # of macros so far; the kernel's own text has the number 0
    calls: list[Expansion] = field(default_factory=list)
    depth: int = 0
    prologue: list[Stmt] = field(default_factory=list)
    remarks: list[Diagnostic] = field(default_factory=list)
    # Buffers that were handed to operations as working memory, which these do not use.
    lent: set[Buffer] = field(default_factory=set)
    # Tiles of one element each, for values that are added to elements of tensors.
    added: set[Buffer] = field(default_factory=set)
    # What `T.alloc_local` made, and how many loops of `T.Parallel` are open.
    private: PrivateArrays = field(default_factory=PrivateArrays)
    parallel_depth: int = 0
    # What tensors are outside of themselves, where their author says it.
    safe_values: dict[Buffer, Const] = field(default_factory=dict)
    # How the text updates tensors.
    updates: dict[Buffer, str] = field(default_factory=dict)
    # Operations that are settled by the whole body, each with what settles it.
    decided_late: dict[Stmt, Callable[[Any, Body], Stmt]] = field(default_factory=dict)
    # What else the whole body settles.
    at_the_end: list[Callable[[Body], Body]] = field(default_factory=list)
    _bodies: list[list[Stmt]] = field(default_factory=list)
    # Open `T.If` frames, innermost last; None while inside one of their branches.
    branches: list[Any] = field(default_factory=list)
    # Whether names are bound as in Python: numbers stay numbers, and what a branch chosen while
    # tracing binds lasts longer than that.
    python_names: bool = False
    # What the text leaves to the compiler by its dialect.
    automatic: frozenset[Automatic] = frozenset()
    # The cores whose copies to gm add to what is there.
    adding: frozenset[Core] = frozenset()
    # Where that depends on the run: when all of them do.
    adding_when: Expr | None = None
    # Plain tensors that the text copies between ranks, and what they are in fact.
    shared: dict[Buffer, Buffer] = field(default_factory=dict)
    # What is known of an eager kernel; None for others.
    eager: EagerHost | None = None

    # Expansion number of buffers that the text gives no name.
    ANONYMOUS: ClassVar[int] = -1

    @property
    def in_launch(self) -> bool:
        return bool(self._bodies)

    @property
    def always_runs(self) -> bool:
        """Whether the current statement stands in no loop or branch."""
        return len(self._bodies) == (1 if self.core is Core.EITHER else 2)

    def emit(self, stmt: Stmt) -> None:
        """Add a statement to the innermost open block. Debug output around the launch is the first
        or the last thing each core does."""
        if not self._bodies and isinstance(stmt, Op) and stmt.opdef.effect in TOLD:
            if self.body is None:
                self.prologue.append(stmt)
            else:
                self.body = (*self.body, stmt)
            return
        if not self._bodies:
            message = "a statement stands outside the launch of the kernel"
            raise Fault("outside-launch", message, "put it below `with T.Kernel(...)`")
        if isinstance(stmt, Op) and self.private.arrays and not self.parallel_depth:
            for buffer, access in ((r.buffer, a) for r, a in accesses(stmt)):
                if access.reads:
                    self.private.check(buffer, self._bodies)
        self._bodies[-1].append(stmt)
        if self.private.arrays and not self.parallel_depth:
            self._bodies[-1].extend(self.private.given_on(self, stmt))

    def emit_nest(self, nest: Stmt) -> None:
        """Add the outermost loop of `T.Parallel`, in which small arrays are each element's own."""
        if self.private.arrays:
            nest = self.private.in_nest(self, nest, self._bodies)
        self.emit(nest)

    def element(self, load: Load) -> Expr:
        """The value of an element. A Fault for one that is not the block's."""
        if self.private.arrays and not self.parallel_depth:
            self.private.check(load.buffer, self._bodies)
        outside = self.safe_values.get(load.buffer)
        return load if outside is None else safe_element(load, outside, self.surely)

    def emit_pending(self, pending: Pending, step: bool = False) -> None:
        """Emit the statement that a `T.` call describes; `step`: as one of several statements of a
        single call, but not the last."""
        if pending in self.pending:
            self.pending.remove(pending)
        stmt = pending.stmt
        if isinstance(stmt, Break) and not self.loop_depth:
            raise Fault("outside-loop", "loop_break stands in no loop", "loop with T.serial")
        core = core_of(stmt) if isinstance(stmt, Op) else Core.EITHER
        if Core.EITHER not in (core, self.core) and core is not self.core:
            here, there = ("C", "V") if self.core is Core.CUBE else ("V", "C")
            assert isinstance(stmt, Op), "all others run on both"
            what = f"{stmt.opdef.name} runs on the {core.value} core"
            hint = f'move it to a T.Scope("{there}") block'
            raise Fault("wrong-scope", f'{what}, but stands in T.Scope("{here}")', hint)
        self.emit(generated(stmt) if step else stmt)

    def remark(self, remark: Diagnostic) -> None:
        """Something worth telling about a kernel that is right; once per place."""
        if all((r.slug, r.loc) != (remark.slug, remark.loc) for r in self.remarks):
            self.remarks.append(remark)

    @contextmanager
    def block(self) -> Iterator[list[Stmt]]:
        """Collect statements into a list of their own."""
        self._bodies.append([])
        try:
            yield self._bodies[-1]
        finally:
            self._bodies.pop()

    def let(self, name: str, value: Expr, loc: Loc) -> Scalar:
        """Name a value from here on. Before the launch there are only values of symbolic
        dimensions, which need no statement."""
        if not self.in_launch:
            if reads_memory(value):
                message = "an element is read outside the launch of the kernel"
                raise Fault("outside-launch", message, "put it below `with T.Kernel(...)`")
            return Scalar(value)
        var = Var(self.names.fresh(name), value.dtype)
        if self.known_number(value) is not None:
            self.known[var] = substitute(value, self.known)
        if not reads_memory(value):
            self.definitions[var] = value
        self.emit(Let(var, value, loc))
        return Scalar(var)

    def known_number(self, expr: Expr) -> int | None:
        """The integer an expression is while the kernel is traced, if it is one."""
        for part in walk_expr(expr):
            if isinstance(part, Load) or (isinstance(part, Var) and part not in self.known):
                return None
        return constant_value(simplify(substitute(expr, self.known)))

    def surely(self, condition: Expr) -> bool | None:
        """Whether a condition always or never holds; None where that depends on the run."""
        return decided(resolved(condition, self.known), self._ranges())

    def most_iterations(self, var: Expr, start: Expr, stop: Expr) -> float:
        """How many iterations a loop has at most, or blocks; notes the range of its variable."""
        known = self._ranges()
        low, high = (interval(resolved(e, self.known), known) for e in (start, stop))
        if isinstance(var, Var):
            self.ranges[var] = Interval(low.low, max(high.high - 1, low.low))
        return max(0, high.high - low.low)

    def _ranges(self) -> Ranges:
        if self.header is None:
            return self.ranges
        # How many blocks there are is no more than a number of this launch.
        launch = {self.header.block: Interval(0, float("inf"))}
        launch[self.header.lane] = Interval(0, 1 if self.header.threads is None else 0)
        return launch | self.ranges

    def adds(self, stmt: Stmt) -> bool:
        """Whether a statement adds one value to an element of a tensor."""
        return isinstance(stmt, Op) and any(b in self.added for b in buffers_of(stmt))

    def loop_variable(self, name: str, dtype: Any = INT32) -> Var:
        return Var(self.names.fresh("i" if name == "_" else name), dtype)

    def allocate(self, tile: Tile, alias_of: Tile | None = None) -> None:
        tile.alias_of = alias_of
        if self.in_launch:
            self.allocations.append(tile)
        elif alias_of is not None and alias_of.memory is Memory.GM:
            self.views.append(tile)
        else:
            message = "a buffer is allocated outside the launch of the kernel"
            raise Fault("outside-launch", message, "put it below `with T.Kernel(...)`")

    def first_use(self, buffer: Buffer) -> Loc | None:
        """The place of the first statement so far that touches a buffer."""
        for statements in self._bodies:
            for stmt in walk_body(tuple(statements)):
                if buffer in buffers_of(stmt):
                    return stmt.loc
        return None

    def name_tile(self, tile: Tile, name: str, expansion: int) -> None:
        """Settle a buffer's name. Twice the same in one text is a mistake; macro expansions and
        unnamed buffers get a number."""
        tile.settle(self.names.buffer(name, tile.loc, expansion))

    def name_cell(self, cell: Cell, name: str, expansion: int) -> None:
        """Name a scalar variable and store its first value where it is allocated."""
        self.name_tile(cell.tile, name, expansion)
        value = stored_value(cell.initial, cell.tile.element)
        self.emit(Store(cell.tile.buffer, (), value, cell.tile.loc))

    def next_launch(self) -> None:
        """Put the finished launch aside, if there is one, to begin another."""
        if self.header is None:
            self.around = self.names.taken()
            return
        self.earlier.append((self._launch(self.header, self.body or ()), tuple(self.remarks)))
        self.header = self.body = None
        lasting = [*self.globals, *(self.eager.outputs if self.eager is not None else ())]
        self.around |= {tile.name for tile in lasting if tile.is_named}
        self.names.keep(self.around)
        for gathered in (self.allocations, self.prologue, self.remarks, self.at_the_end):
            gathered.clear()
        self.lent.clear()
        self.updates.clear()
        self.safe_values = {}
        self.private = PrivateArrays()
        self.decided_late.clear()
        self.known.clear()
        self.adding, self.adding_when = frozenset(), None

    def finish(self) -> Func | LaunchSequence:
        """The traced function, or several where the text has several launches."""
        if self.header is None or self.body is None:
            hint = "write `with T.Kernel(blocks, is_npu=True) as (cid, vid):` around the body"
            raise Fault("kernel-missing", f"`{self.name}` launches no kernel", hint)
        last = self._launch(self.header, self.body), tuple(self.remarks)
        launches = (*self.earlier, last)
        launches = tuple((with_own_instances(one, self.shared), told) for one, told in launches)
        given = (self.shared.get(p, p) if isinstance(p, Buffer) else p for p in self.params)
        params = (*given, *(tile.buffer for tile in self.globals))
        several = len(launches) > 1
        funcs = tuple(
            Func(
                f"{self.name}_{n}" if several else self.name, params, launch, Phase.BUILT, self.loc,
                automatic=without_own_order(self.automatic, launch.body),
                sources=dict(self.sources), remarks=remarks, expansions=tuple(self.calls),
            )
            for n, (launch, remarks) in enumerate(launches, 1)
        )  # fmt: skip
        if not several and not self.globals:
            return funcs[0]
        return LaunchSequence(self.name, funcs, len(self.params))

    def _launch(self, header: Launch, body: Body) -> Launch:
        late = self.decided_late
        if late:
            whole = body
            body = rewrite(body, lambda s: late[s](s, whole) if s in late else s)
        for change in self.at_the_end:
            body = change(body)
        idle = idle_memory(self.lent, body, self.allocations)
        body = rewrite(body, lambda s: without_memory(s, idle)) if idle else body
        used = {b for s in walk_body(body) for b in buffers_of(s)} if self.views else ()
        views = (v for v in self.views if v.is_named and v.buffer in used)
        # The text names a buffer before what aliases it.
        tiles = sorted((*self.allocations, *views), key=lambda t: t.alias_of is not None)
        allocs = tuple(t.alloc() for t in tiles if t.buffer not in idle)
        return replace(header, allocs=allocs, body=body)


def current(what: str) -> Trace:
    """The kernel being traced; a Fault where there is none."""
    trace = _current()
    if trace is None:
        hint = "call it from a function decorated with @T.prim_func or @T.macro"
        raise Fault("outside-kernel", f"{what} is called outside a kernel", hint)
    return trace


def traced_number(value: Any) -> int | float | bool | None:
    """A number known while the kernel is traced, also where a name of the kernel stands for it."""
    number, trace = python_number(value), _current()
    if number is None and trace is not None and isinstance(value, Scalar):
        return trace.known_number(value.expr)
    return number


def _current() -> Trace | None:
    trace = CURRENT.get()
    assert trace is None or isinstance(trace, Trace), "prim_func sets nothing else"
    return trace
