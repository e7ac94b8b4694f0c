"""What each pipe surely knows to be complete, at every point of a section, given a plan.

A fact is a bit: all executions so far of a site are complete before whatever the pipe does next.
What was never executed is complete. Facts meet at joins; loops are gone round until nothing
changes, which proves the rest of their rounds. A wait is a site too: its flag may be set again only
by a pipe that knows it is over (docs/hardware/flags.md#flags).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tile_ir import Effect, Op
from tile_ir.machine import Pipe
from tile_ir.opdef import pipe_of
from tile_passes.sync.fences import Action, Barrier, Do, Fence, Flag, Plan
from tile_passes.sync.tree import Block, Branch, Leave, Order, Phases, Repeat, Run, Site, Tree, Work

Key = tuple[object, ...]


class State:
    """`known` holds a set of bits for each pipe, `flags` what each raised flag carries."""

    __slots__ = ("flags", "known")

    def __init__(self, known: list[int], flags: dict[Key, int]) -> None:
        self.known = known
        self.flags = flags

    def copy(self) -> State:
        return State(self.known.copy(), self.flags.copy())

    def same(self, other: State) -> bool:
        return self.known == other.known and self.flags == other.flags


def join(states: Iterable[State | None]) -> State | None:
    """What holds whichever way was taken; None if none was."""
    result: State | None = None
    for state in states:
        if state is None:
            continue
        if result is None:
            result = state.copy()
        else:
            result.known = [a & b for a, b in zip(result.known, state.known, strict=True)]
            result.flags = {
                k: v & state.flags[k] for k, v in result.flags.items() if k in state.flags
            }
    return result


@dataclass(eq=False)
class Facts:
    """One walk over the section. Subclasses say what to do with a site that is not ordered after
    all it conflicts with, and with a flag that may be set too early."""

    tree: Tree
    conflicts: list[int]
    plan: Plan
    breaks: dict[Repeat, list[State]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        pipes = self.tree.pipes
        self.index = {pipe: i for i, pipe in enumerate(pipes)}
        self.runs: dict[Repeat, list[Run]] = {}
        for run in self.tree.runs:
            self.runs.setdefault(run.loop, []).append(run)
        self.scalar = self.index[Pipe.S]
        self.own = [self.tree.masks[pipe] for pipe in pipes]
        # The waits of each pipe, as bits: what a flag set by the pipe carries along.
        self.waits = [0] * len(pipes)
        for piece in self.plan.pieces:
            if not isinstance(piece, Barrier):
                bits = ((1 << piece.slots) - 1) << piece.first_bit
                self.waits[self.index[piece.target]] |= bits

    def run(self) -> None:
        self.block(self.tree.root, State([-1] * len(self.own), {}), ())

    def uncovered(self, site: Site, need: int, state: State, phases: Phases) -> None:
        raise NotImplementedError

    def set_too_early(self, piece: Flag | Fence) -> None:
        """The flag is set where its last wait may not be over."""

    def flag_set(self, piece: Flag | Fence, state: State) -> None:
        """Called before every set, to see what is in flight."""

    def passed(self, block: Block, state: State) -> None:
        """Called after every item of a block."""

    def entered(self, block: Block) -> None:
        """Called when a block begins."""

    def block(self, block: Block, state: State | None, phases: Phases) -> State | None:
        self.entered(block)
        before, after = self.plan.before, self.plan.after
        for item in block.items:
            assert state is not None, "nothing follows a break"
            actions = before.get(block)
            if actions is not None and (here := actions.get(item.position)):
                self.act(here, state, phases)
            match item:
                case Work():
                    site = item.sites.get(phases)
                    if site is not None:
                        # Fences may be put before this item now.
                        self.site(site, item, state, phases)
                case Branch(taken=None):
                    orelse = state.copy()
                    state = join(
                        [
                            self.block(item.then, state, phases),
                            self.block(item.orelse, orelse, phases),
                        ]
                    )
                case Branch(taken=taken):
                    state = self.block(item.then if taken else item.orelse, state, phases)
                case Repeat(most=0):
                    pass
                case Repeat():
                    state = self.loop(item, state, phases)
                case Order():
                    self.order(item, state, phases)
                case Leave():
                    self.act(self.plan.at_break(item), state, phases)
                    self.breaks.setdefault(item.loop, []).append(state)
                    return None
            if state is None:
                return None
            self.passed(block, state)
            actions = after.get(block)
            if actions is not None and (here := actions.get(item.position)):
                self.act(here, state, phases)
        if state is not None and (actions := before.get(block)) is not None:
            self.act(actions.get(len(block.items), ()), state, phases)
        return state

    def site(self, site: Site, item: Work, state: State, phases: Phases) -> None:
        pipe = self.index[item.pipe]
        need = self.conflicts[site.bit] & ~state.known[pipe]
        if item.in_order or pipe == self.scalar:
            need &= ~self.own[pipe]
        if need:
            self.uncovered(site, need, state, phases)
        lost = ~(1 << site.bit)
        known = state.known
        for i, bits in enumerate(known):
            known[i] = bits & lost
        for key, bits in state.flags.items():
            state.flags[key] = bits & lost

    def loop(self, loop: Repeat, state: State, phases: Phases) -> State | None:
        m = loop.modulus
        rotating = self.plan.by_round.get(loop, [])
        entries: list[State | None] = [None] * m
        outs: list[State | None] = [None] * m
        heads: list[State | None] = [None] * m
        exits: list[State | None] = []
        for j in loop.entries:
            entry = state.copy()
            self.enter(loop, entry)
            for flag in rotating:
                for t in range(flag.distance):
                    self.set(flag, (j + t) % flag.slots, entry)
            entries[j] = entry
            if not loop.runs:
                exits.append(self.drained(entry.copy(), rotating, j))
        moved = True
        while moved:
            moved = False
            for j in loop.turns:
                old = heads[j]
                again = outs[j - 1] if loop.wraps or j != loop.entries[0] else None
                head = join([entries[j], again, old])
                if head is None or (old is not None and old.same(head)):
                    continue
                heads[j] = head.copy()
                outs[j] = self.block(loop.body, head, (*phases, j) if m > 1 else phases)
                moved = True
        for j, out in enumerate(outs):
            if out is not None and j in loop.ends:
                exits.append(self.drained(out.copy(), rotating, j + 1))
        return join([*exits, *self.breaks.pop(loop, [])])

    def enter(self, loop: Repeat, state: State) -> None:
        """What was done so far was done before this run of the loop."""
        for run in self.runs.get(loop, ()):
            state.known = [_with(bits, run) for bits in state.known]
            state.flags = {key: _with(bits, run) for key, bits in state.flags.items()}

    def drained(self, state: State, rotating: list[Flag], start: int) -> State:
        for flag in rotating:
            for t in range(flag.distance):
                self.wait(flag, (start + t) % flag.slots, state)
        return state

    def act(self, actions: Iterable[Action], state: State, phases: Phases) -> None:
        for do, piece in actions:
            match piece:
                case Barrier(pipe=Pipe.ALL):
                    state.known = [-1] * len(state.known)
                case Barrier(pipe=pipe):
                    i = self.index[pipe]
                    state.known[i] |= self.own[i]
                case Fence():
                    self.set(piece, 0, state)
                    self.wait(piece, 0, state)
                case Flag(slots=slots):
                    turn = phases[-1] if slots > 1 and phases else 0
                    match do:
                        case Do.SET:
                            self.set(piece, (turn + piece.distance) % slots, state)
                        case Do.WAIT:
                            self.wait(piece, turn % slots, state)
                        case Do.PRIME:
                            for slot in range(slots):
                                self.set(piece, slot, state)
                        case Do.DRAIN:
                            for slot in range(slots):
                                self.wait(piece, slot, state)

    def carried_by(self, pipe: int, state: State) -> int:
        """What a flag set by the pipe now carries."""
        return state.known[pipe] | self.own[pipe] | self.waits[pipe]

    def set(self, piece: Flag | Fence, slot: int, state: State) -> None:
        source = self.index[piece.source]
        key = (piece, slot)
        if key in state.flags or not state.known[source] >> (piece.first_bit + slot) & 1:
            self.set_too_early(piece)
        self.flag_set(piece, state)
        state.flags[key] = self.carried_by(source, state)

    def wait(self, piece: Flag | Fence, slot: int, state: State) -> None:
        carried = state.flags.pop((piece, slot), 0)
        bit = 1 << (piece.first_bit + slot)
        known = state.known
        for i, bits in enumerate(known):
            known[i] = bits & ~bit
        for key, bits in state.flags.items():
            state.flags[key] = bits & ~bit
        self.learn(self.index[piece.target], carried, state)
        if piece.target is Pipe.S:
            self.learn(self.scalar, bit, state)

    def learn(self, pipe: int, bits: int, state: State) -> None:
        """What the scalar unit waits for holds back everything issued after."""
        if pipe == self.scalar:
            state.known = [known | bits for known in state.known]
        else:
            state.known[pipe] |= bits

    def order(self, item: Order, state: State, phases: Phases) -> None:
        """A flag or barrier of the user's."""
        op = item.stmt
        assert isinstance(op, Op)
        match op.opdef.effect:
            case Effect.BARRIER | Effect.SYNC_ALL:
                pipe = pipe_of(op)
                if pipe is Pipe.ALL:
                    state.known = [-1] * len(state.known)
                elif pipe in self.index:
                    state.known[self.index[pipe]] |= self.own[self.index[pipe]]
            case Effect.SET_FLAG | Effect.WAIT_FLAG as effect:
                source, target = (Pipe(op.attr(end)) for end in ("src_pipe", "dst_pipe"))
                key = (source, target, item.ids[phases])
                if None in key:
                    return
                if effect is Effect.SET_FLAG:
                    state.flags[key] = self.carried_by(self.index[source], state)
                else:
                    self.learn(self.index[target], state.flags.pop(key, 0), state)


def _with(bits: int, run: Run) -> int:
    return bits & ~(1 << run.bit) | (bits >> run.site.bit & 1) << run.bit
