"""Rejects flags of the kernel's author that are wrong by themselves, since order rests on them.

Only what is surely wrong is rejected: a flag with an id nobody knows, or one that branches within
loops set or take, is left alone. Says nothing about whether the flags suffice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import NoReturn

from tile_ir import Effect, For, If, KernelError, Op
from tile_ir.diagnostics import Diagnostic
from tile_ir.expr import Expr, Load, Var, constant_value, walk
from tile_ir.location import Loc
from tile_ir.machine import Pipe
from tile_ir.nodes import Let
from tile_passes.sync.in_text import orders
from tile_passes.sync.tree import Block, Branch, Leave, Order, Phases, Repeat, Tree

# More rounds of a loop than this are not looked at one by one.
MOST_ROUNDS = 64

Flag = tuple[Pipe, Pipe, int]


class Is(Enum):
    """What is known of a flag. SPLIT: it depends on a condition that the kernel asks once."""

    SET = "set"
    SPLIT = "split"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class _Known:
    """A flag that is not surely lowered; `loc` is where it was last set, `within` the number of
    branches around where it became SPLIT."""

    state: Is
    loc: Loc
    within: int = 0


_State = dict[Flag, _Known]


def check_user_flags(tree: Tree) -> None:
    """Check the flags that the section has before any is inserted.

    Raises KernelError (`flag-unbalanced`) where a flag is set while it is set, waited for while it
    is not, or still set at the end, whatever path is taken there.
    """
    walked = _Walk()
    walked.find(tree.root)
    if not walked.sets and not walked.waits:
        return
    for flag, order in walked.sets.items():
        if flag not in walked.waits and walked.surely(order):
            _reject(order.loc, flag, "is set and never waited for", "wait for it, or leave it out")
    for flag, order in walked.waits.items():
        if flag not in walked.sets and walked.surely(order):
            _reject(order.loc, flag, "is waited for and never set", "set it first, or leave it out")
    state = walked.block(tree.root, {}, ())
    assert state is not None, "no break leaves a section"
    for flag, known in state.items():
        if known.state is not Is.ANY:
            ways = " on one of the ways there" * (known.state is Is.SPLIT)
            _reject(
                known.loc, flag, f"is still set when the core ends{ways}", "wait for it at the end"
            )


def _reject(loc: Loc, flag: Flag, what: str, hint: str, earlier: Loc | None = None) -> NoReturn:
    source, target, event = flag
    notes = [] if earlier is None else [Diagnostic("", "last set here", earlier, None, "note")]
    raise KernelError(
        "flag-unbalanced",
        f"flag {event} from {source.value} to {target.value} {what}",
        loc,
        hint,
        notes=notes,
    )


@dataclass(eq=False)
class _Walk:
    """Goes along the section, round by round in loops."""

    unknown: set[tuple[Pipe, Pipe]] = field(default_factory=set)
    sets: dict[Flag, Order] = field(default_factory=dict)
    waits: dict[Flag, Order] = field(default_factory=dict)
    breaks: dict[Repeat, list[_State]] = field(default_factory=dict)
    # Variables that have another value in another round of a loop around.
    moving: set[Var] = field(default_factory=set)
    branches: int = 0

    def find(self, root: Block) -> None:
        """Note every flag of the section, and the pairs with ids that are not constants."""
        for order in _flags(root):
            pair, sets = _pair(order)
            for event in order.ids.values():
                if event is None:
                    self.unknown.add(pair)
                else:
                    found = self.sets if sets else self.waits
                    found.setdefault((pair[0], pair[1], event), order)

    def surely(self, order: Order) -> bool:
        """Whether it sets or takes just the flags that its ids name. A branch inside a loop may
        leave alone those of the rounds in which it is not taken."""
        block, branch = order.block, False
        slots = len(set(order.ids.values())) > 1
        while block.owner is not None:
            match block.owner:
                case Branch():
                    branch = True
                case Repeat(turns=turns, modulus=modulus) if branch and (
                    slots or len(turns) < modulus
                ):
                    return False
            block = block.owner.block
        return _pair(order)[0] not in self.unknown

    def block(self, block: Block, state: _State, phases: Phases) -> _State | None:
        inside = block.loop is not None
        for item in block.items:
            stmt = item.stmt
            if isinstance(stmt, Let) and inside and self.moves(stmt.value):
                self.moving.add(stmt.var)
            match item:
                case Order() if _is_flag(item):
                    self.flag(item, state, phases)
                case Branch():
                    after = self.branch(item, state, phases)
                    if after is None:
                        return None
                    state = after
                case Repeat():
                    state = self.loop(item, state, phases)
                case Leave():
                    self.breaks.setdefault(item.loop, []).append(state)
                    return None
        return state

    def flag(self, item: Order, state: _State, phases: Phases) -> None:
        pair, sets = _pair(item)
        event = item.ids[phases]
        if pair in self.unknown or event is None:
            return
        flag: Flag = (pair[0], pair[1], event)
        known = state.get(flag)
        split = known is not None and known.state is Is.SPLIT and known.within >= self.branches
        if sets:
            if known is not None and (known.state is Is.SET or split):
                on = " on one of the ways here" if split else ""
                _reject(
                    item.loc,
                    flag,
                    f"is set again before it is waited for{on}",
                    "wait for it first, or use another id",
                    known.loc,
                )
            state[flag] = _Known(Is.SET, item.loc)
        else:
            if known is None:
                _reject(item.loc, flag, "is waited for while it is not set", "set it first")
            if split:
                _reject(
                    item.loc,
                    flag,
                    "is waited for, and one of the ways here does not set it",
                    "set it on both sides of the branch, or wait for it on one",
                    known.loc,
                )
            del state[flag]

    def branch(self, item: Branch, state: _State, phases: Phases) -> _State | None:
        assert isinstance(item.stmt, If), "branches are ifs"
        fixed = not self.moves(item.stmt.condition)
        before = dict(state)
        if not fixed:
            # Which rounds go which way is not known: whatever they do may be right.
            before.update({**_any_of(item.then), **_any_of(item.orelse)})
        self.branches += 1
        then = self.block(item.then, dict(before), phases)
        orelse = self.block(item.orelse, dict(before), phases)
        self.branches -= 1
        if then is None or orelse is None:
            return orelse if then is None else then
        return _joined(then, orelse, _Joining(before, fixed, self.branches, item.loc))

    def moves(self, value: Expr) -> bool:
        """Whether the value may change while the kernel runs."""
        return any(isinstance(e, Load) or e in self.moving for e in walk(value))

    def loop(self, item: Repeat, state: _State, phases: Phases) -> _State:
        if isinstance(item.stmt, For):
            self.moving.add(item.stmt.var)
        if len(item.entries) > 1:
            # It may begin with any slot: flags that it sets or takes are left alone.
            return {**state, **_any_of(item.body)}
        trips = _trips(item)
        heads, seen = [state], list[tuple[int, dict[Flag, Is]]]()
        ends = False
        for number in range(int(min(MOST_ROUNDS, item.most)) if trips is None else trips):
            turn = (item.entries[0] + number) % item.modulus
            now = turn, {flag: known.state for flag, known in heads[-1].items()}
            if now in seen:
                first = seen.index(now)
                if trips is not None:
                    heads.append(heads[first + 1 + (trips - first - 1) % (number - first)])
                break
            if number == MOST_ROUNDS:
                return {**state, **_any_of(item.body)}
            seen.append(now)
            out = self.block(item.body, dict(heads[-1]), _phases(phases, turn, item))
            if out is None:
                ends = True
                break
            heads.append(out)
        if trips is None:
            leaves = heads[1:] if item.runs and not ends else heads
        else:
            leaves = [] if ends else heads[-1:]
        leaves += self.breaks.pop(item, [])
        return self.left(leaves, item)

    def left(self, leaves: list[_State], item: Repeat) -> _State:
        """What holds after a loop: rounds that leave a flag otherwise are not counted."""
        result = leaves[0]
        for other in leaves[1:]:
            result = _joined(result, other, _Joining({}, False, self.branches, item.loc))
        return result


@dataclass(frozen=True, slots=True)
class _Joining:
    """Where two ways meet: what held before they parted, whether by a condition that stays the
    same, and how many branches are around."""

    before: _State
    fixed: bool
    within: int
    loc: Loc


def _joined(a: _State, b: _State, join: _Joining) -> _State:
    result: _State = {}
    for flag in {**a, **b}:
        x, y = a.get(flag), b.get(flag)
        if x is not None and y is not None and x.state is y.state:
            result[flag] = x
            continue
        loc = (x or y or _Known(Is.ANY, join.loc)).loc
        was = join.before.get(flag)
        settled = (was is None or was.state is Is.SET) and all(
            known is None or known.state is not Is.ANY for known in (x, y)
        )
        state = Is.SPLIT if join.fixed and settled else Is.ANY
        result[flag] = _Known(state, loc, join.within)
    return result


def _any_of(block: Block) -> _State:
    """Nothing known of the flags that are set or taken in a block."""
    return {
        (*_pair(order)[0], event): _Known(Is.ANY, order.loc)
        for order in _flags(block)
        for event in order.ids.values()
        if event is not None
    }


def _trips(loop: Repeat) -> int | None:
    """How often the loop runs, where that is a constant."""
    if not isinstance(loop.stmt, For):
        return None
    start, stop = constant_value(loop.stmt.start), constant_value(loop.stmt.stop)
    return None if start is None or stop is None else max(0, int(stop) - int(start))


def _phases(phases: Phases, turn: int, loop: Repeat) -> Phases:
    return (*phases, turn) if loop.modulus > 1 else phases


def _is_flag(order: Order) -> bool:
    stmt = order.stmt
    return isinstance(stmt, Op) and stmt.opdef.effect in (Effect.SET_FLAG, Effect.WAIT_FLAG)


def _pair(order: Order) -> tuple[tuple[Pipe, Pipe], bool]:
    """The pipes of a flag, and whether it is set."""
    op = order.stmt
    assert isinstance(op, Op), "flags are operations"
    pair = Pipe(op.attr("src_pipe")), Pipe(op.attr("dst_pipe"))
    return pair, op.opdef.effect is Effect.SET_FLAG


def _flags(block: Block) -> Iterator[Order]:
    return (order for order in orders(block) if _is_flag(order))
