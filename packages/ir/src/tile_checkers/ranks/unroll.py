"""List the events of one core of one rank, with numbers for the rank, the block and the core."""

from __future__ import annotations

from collections.abc import Mapping

from tile_checkers.loop_facts import CROSS, FLAGS, effects_in
from tile_checkers.ranks.core_numbers import (
    CoreNumbers,
    Figure,
    as_expr_of,
    parameters_in,
    plain,
    plain_sum,
)
from tile_checkers.ranks.events import (
    Await,
    AwaitEngine,
    CoreEvent,
    Lower,
    Meet,
    PipeFlag,
    PipeWait,
    Raise,
    Reach,
    Tell,
    Word,
)
from tile_checkers.ranks.long_loops import LongLoops, MiddleIterations, middle, spans_of
from tile_checkers.ranks.not_told import NOT_FOR_SO_MANY, NotTold, OutOfPlace, StatementBudget
from tile_checkers.ranks.own_loops import of_its_block
from tile_checkers.touched import NUMBER, S, pipes_of_flag
from tile_ir import (
    Binary,
    Body,
    Break,
    Buffer,
    Effect,
    Expr,
    For,
    If,
    Let,
    Loc,
    Memory,
    Op,
    Pipe,
    Region,
    Stmt,
    Store,
    Unary,
    Var,
    While,
    linear_form,
    pipe_of,
    print_expr,
)
from tile_ir import walk as walk_statements
from tile_ir.analysis.accesses import regions_of
from tile_ir.opdef import Among
from tile_ir.ranks import RANK, is_far, is_symmetric

# What concerns other cores: what decides about it must be known.
_TOGETHER = CROSS | {Effect.SIGNAL, Effect.AWAIT_SIGNAL}


class Unrolling:
    """One core, which has a `number` among all. `words` are tensors that only signals and waits
    touch, `lent` those of one rank that the engine touches."""

    def __init__(
        self,
        given: Mapping[Var, Figure],
        ranks: int,
        words: frozenset[Buffer],
        budget: StatementBudget,
        long: LongLoops,
        lent: frozenset[Buffer] = frozenset(),
        number: int = 0,
    ) -> None:
        self.core = CoreNumbers(dict(given), number=number)
        rank = given[RANK]
        assert not isinstance(rank, Expr), "the number of the rank is put in"
        self.own_rank = int(rank)
        self.ranks = ranks
        self.words, self.lent = words, lent
        self.budget = budget
        self.long = long
        # The iterations that this one stands for.
        self.middle: MiddleIterations | None = None
        self.events: list[CoreEvent] = []
        self.certain = True
        # Loops that concern the block alone, where how often they run is not told.
        self.left_out: list[tuple[For, Expr]] = []

    def body(self, body: Body) -> bool:
        """Go through statements; whether the loop around is left."""
        for stmt in body:
            self.budget.spend(stmt)
            self.touch(stmt)
            match stmt:
                case Op():
                    self.operation(stmt)
                case Let(var=var, value=value):
                    self.core.bound[var] = self.core.of(value)
                case Store(buffer=buffer) if buffer.memory is Memory.VAR:
                    held = self.core.of(stmt.value) if self.certain else self.core.unknown(buffer)
                    self.core.scalars[buffer] = held
                case If():
                    if self.branch(stmt):
                        return True
                case For():
                    self.loop(stmt)
                case While():
                    self.repeat(stmt)
                case Break():
                    return True
        return False

    # Ways ----------------------------------------------------------------------------------------

    def branch(self, stmt: If) -> bool:
        truth = self.core.of(stmt.condition)
        if not isinstance(truth, Expr):
            return self.body(stmt.then if truth else stmt.orelse)
        if not _alone(stmt):
            raise _open(stmt, "which way a core goes", truth)
        around, self.certain = self.certain, False
        self.body(stmt.then)
        self.body(stmt.orelse)
        self.certain = around
        return False

    def loop(self, loop: For) -> None:
        start, stop = self.core.of(loop.start), self.core.of(loop.stop)
        if isinstance(start, Expr) or isinstance(stop, Expr):
            count = plain(as_expr_of(stop, loop.stop) - as_expr_of(start, loop.start))
            if isinstance(count, Expr):
                if of_its_block(loop, self.words):
                    self.left_out.append((loop, count))
                    return
                if not _by_itself(loop):
                    raise open_loop(loop, count)
                self.iterations_of_any_number(loop)
                return
        else:
            count = int(stop) - int(start)
        middle = self.middle_of(loop, start, int(count))
        for turn in range(int(count)) if middle is None else middle.turns(int(count)):
            self.core.bound[loop.var] = plain_sum(start, turn)
            self.middle = middle if middle is not None and turn == middle.first else None
            if self.body(loop.body):
                return
        self.middle = None

    def iterations_of_any_number(self, loop: For | While) -> None:
        """One iteration for all, each of which may be left out: its accesses are not certain, and
        what differs between iterations is unknown."""
        for stmt in walk_statements(loop.body):
            if isinstance(stmt, Store) and stmt.buffer.memory is Memory.VAR:
                self.core.scalars[stmt.buffer] = self.core.unknown(stmt.buffer)
        if isinstance(loop, For):
            self.core.bound[loop.var] = self.core.unknown(loop.var)
        around, self.certain = (self.certain, self.middle), False
        self.middle = None
        self.body(loop.body)
        self.certain, self.middle = around

    def middle_of(self, loop: For, start: Figure, count: int) -> MiddleIterations | None:
        """The accesses of the middle iterations, if one span may stand for them; None if not."""
        first, last = middle(count)
        regions = self.long.regions(loop) if first < last else None
        if regions is None:
            return None
        found = {}
        try:
            for region, stated in regions.items():
                ends = []
                for turn in (first, first + 1, last):
                    self.core.bound[loop.var] = plain_sum(start, turn)
                    ends.append(self.place(stated, loop.loc)[1:3])
                spans = spans_of(ends, last - first + 1)
                if spans is None:
                    return None
                found[region] = spans
        except (NotTold, OutOfPlace):
            return None  # the iterations say it, if they come to it
        return MiddleIterations(first, last, found)

    def repeat(self, loop: While) -> None:
        while True:
            truth = self.core.of(loop.condition)
            if isinstance(truth, Expr):
                if not _by_itself(loop):
                    raise _open(loop, "how often this loop runs", truth)
                self.iterations_of_any_number(loop)
                return
            if not truth or self.body(loop.body):
                return
            self.budget.spend(loop)

    # Places --------------------------------------------------------------------------------------

    def touch(self, stmt: Stmt) -> None:
        """Record the accesses of a statement to tensors that other ranks access too."""
        effect = stmt.opdef.effect if isinstance(stmt, Op) else Effect.DATA
        if effect is Effect.CACHE:
            return
        word = effect in (Effect.SIGNAL, Effect.AWAIT_SIGNAL)
        for region, access, unordered, pipe in regions_of(stmt):
            buffer = region.buffer
            if buffer.memory is not Memory.GM or buffer in self.words:
                continue
            if not is_symmetric(buffer) and buffer not in self.lent:
                continue
            rank, lows, highs, whole = self.place(region, stmt.loc)
            number = S if pipe is None or word else NUMBER.get(pipe, S)
            sure, writes = self.certain and whole, access.writes
            spans = ((lows, highs),) if self.middle is None else self.middle.spans[region]
            for low, high in spans:
                if all(isinstance(a, Expr) or a != b for a, b in zip(low, high, strict=True)):
                    self.events.append(
                        Reach(
                            stmt, number, buffer, rank, low, high, writes, unordered, sure, word,
                            is_far(region), effect is Effect.ENGINE,
                        )
                    )  # fmt: skip

    def place(
        self, region: Region, loc: Loc
    ) -> tuple[int, tuple[Figure, ...], tuple[Figure, ...], bool]:
        """The rank whose instance a region lies in, where it begins and ends in each dimension, and
        whether it has all that lies between."""
        name = region.buffer.name
        shared = is_symmetric(region.buffer)
        rank = self.core.of(region.dims[0].offset if shared else RANK)
        if isinstance(rank, Expr):
            raise _open_at(loc, f"which rank's `{name}` is meant", rank, ranks=True)
        if not 0 <= rank < self.ranks:
            raise OutOfPlace(
                loc,
                "peer-range",
                f"`{name}` of rank {rank} is meant here, but the ranks are 0 to {self.ranks - 1}",
                "take it modulo T.num_ranks(), or leave the call out on the ranks that have none",
            )
        lows, highs, whole = [], [], True
        inner = slice(int(shared), None)
        for s, size in zip(region.dims[inner], region.buffer.shape[inner], strict=True):
            low, extent = self.core.of(s.offset), self.core.of(s.extent)
            if s.stride != 1:
                whole = False
            numbers = not isinstance(low, Expr) and not isinstance(extent, Expr)
            if numbers:
                extent = max(0, extent)
                high: Figure = low + (extent - 1) * s.stride + 1 if extent else low
            else:
                a, b = as_expr_of(low, s.offset), as_expr_of(extent, s.extent)
                high = plain(a + (b - 1) * s.stride + 1)
            limit = self.core.of(size)
            if self.certain and numbers and extent and not isinstance(limit, Expr):
                self.inside(region, loc, (low, high), limit)
            lows.append(low)
            highs.append(high)
        return int(rank), tuple(lows), tuple(highs), whole

    def inside(self, region: Region, loc: Loc, span: tuple[Figure, Figure], limit: Figure) -> None:
        """Object to a place that no instance has."""
        low, high = span
        if low < 0 or high > limit:
            raise OutOfPlace(
                loc,
                NOT_FOR_SO_MANY,
                f"an index here is {low}, and `{region.buffer.name}` ends before {limit}: the "
                f"kernel is not one for {self.ranks} ranks",
                "make the kernel for so many ranks, and ask for these with --ranks",
            )

    def word(self, op: Op) -> Word:
        region = op.region("word")
        if is_symmetric(region.buffer):
            rank, lows, _, _ = self.place(region, op.loc)
        else:
            rank, lows = self.own_rank, tuple(self.core.of(s.offset) for s in region.dims)
        for low in lows:
            if isinstance(low, Expr):
                raise _open_at(op.loc, f"which word of `{region.buffer.name}` is meant", low)
        return region.buffer, rank, lows

    # Order ---------------------------------------------------------------------------------------

    def operation(self, op: Op) -> None:
        effect = op.opdef.effect
        if not self.certain and effect is not Effect.DATA:
            return  # flags of a branch that may be left out order nothing for sure
        match effect:
            case Effect.SIGNAL | Effect.AWAIT_SIGNAL:
                value = op.operand("value")
                assert isinstance(value, Expr), "the verifier has checked it"
                number, word = self.core.of(value), self.word(op)
                if effect is Effect.SIGNAL:
                    self.events.append(Tell(op, word, number, op.attr("op") == "add"))
                else:
                    self.events.append(Await(op, word, number, op.attr("until")))
            case Effect.AWAIT_ENGINE:
                self.events.append(AwaitEngine())
            case Effect.SYNC_ALL:
                cubes = op.opdef.among is not Among.BLOCK or bool(op.attr("cubes"))
                self.events.append(Meet(op, op.opdef.among, cubes))
            case Effect.BARRIER:
                pipe = pipe_of(op)
                ranks = op.opdef.family == "ranks"
                arrives = ranks and op.opdef.among is Among.RANKS
                number_of = None if pipe is Pipe.ALL else NUMBER[pipe]
                self.events.append(PipeWait(number_of, arrives, ranks and not arrives))
            case Effect.SET_CROSS_FLAG | Effect.WAIT_CROSS_FLAG:
                flag = self.event(op, "flag")
                if effect is Effect.WAIT_CROSS_FLAG:
                    self.events.append(Lower(op, flag))
                else:
                    pipe_number = NUMBER[Pipe(op.attr("pipe"))]
                    self.events.append(Raise(op, pipe_number, op.attr("mode"), flag))
            case _ if effect in FLAGS:
                pair = pipes_of_flag(op)
                flag = self.event(op, "event_id")
                self.events.append(PipeFlag((*pair, flag), effect is Effect.SET_FLAG))

    def event(self, op: Op, operand: str) -> int:
        expr = op.operand(operand)
        assert isinstance(expr, Expr), "the verifier has checked it"
        number = self.core.of(expr)
        if isinstance(number, Expr):
            raise _open_at(op.loc, f"which flag `{print_expr(expr)}` names", number)
        return int(number)


def _by_itself(loop: For | While) -> bool:
    """Whether no other core takes part in a loop, nor the engine."""
    return (_TOGETHER | {Effect.ENGINE, Effect.AWAIT_ENGINE}).isdisjoint(effects_in(loop))


def _alone(stmt: If) -> bool:
    """Whether no other core takes part in a branch."""
    leaves = any(isinstance(s, Break) for s in walk_statements((stmt,)))
    return not leaves and _TOGETHER.isdisjoint(effects_in(stmt))


def open_loop(loop: For, count: Expr) -> NotTold:
    """The error of a loop whose trip count is not in the text."""
    return _open(loop, "how often this loop runs", count)


def _open(stmt: Stmt, what: str, value: Expr) -> NotTold:
    return _open_at(stmt.loc, what, value, _asks_for_rank(value))


def _open_at(loc: Loc, what: str, value: Figure, ranks: bool = False) -> NotTold:
    """The error of an unknown value. With `ranks`, every rank may be tried for its parameters."""
    parameters = parameters_in(value)
    if not parameters:
        return NotTold(
            loc,
            f"{what} depends on data",
            "the simulator decides it run by run; or let the rank, the block and parameters decide",
        )
    names = ", ".join(f"`{p.name}`" for p in parameters)
    return NotTold(
        loc,
        f"{what} depends on {names}",
        "give it when the kernel is made",
        parameters if ranks else (),
    )


def _asks_for_rank(condition: Expr) -> bool:
    """Whether a condition compares parameters with numbers for being equal, as one does with the
    number of a rank."""
    match condition:
        case Unary(op="not", operand=x):
            return _asks_for_rank(x)
        case Binary(op="and" | "or", left=a, right=b):
            return _asks_for_rank(a) and _asks_for_rank(b)
        case Binary(op="==" | "!=", left=a, right=b) if a.dtype.is_integer and b.dtype.is_integer:
            terms, _ = linear_form(a - b)
            return len(terms) == 1 and all(isinstance(t, Var) for t in terms)
    return False
