"""How long a section takes under a plan, by the cost query: what one plan costs more than another.

Every pipe works in order, an operation as long as `tile_ir.cost` says, and waits where the plan
says. Loops are run for as many rounds as they have residues and one more, and go on as the last of
these did; a branch is taken unless it is unlikely. Not here: flags of the kernel's author, which
are the same in all plans, and when the scalar unit gets to an instruction.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator

from tile_ir import Pipe, Target
from tile_ir.costs.instruction_cost import Cost, cost
from tile_passes.order.channels import Action, Barrier, Do, Flag, Plan, PointToPoint, Signal, SyncOp
from tile_passes.order.tree import Block, Branch, Repeat, Tree, Work

# Rounds of a loop whose number is not known.
ASSUMED_ROUNDS = 16


class ModelledTime:
    """Call it with a plan: core cycles. Costs of statements are asked for once."""

    def __init__(self, tree: Tree, target: Target) -> None:
        self.tree, self.target = tree, target
        self.costs: dict[Work, Cost] = {}

    def __call__(self, plan: Plan) -> float:
        clock = _Clock(self, plan)
        clock.block(self.tree.root)
        return max(clock.done.values())

    def of(self, work: Work) -> Cost:
        if work not in self.costs:
            self.costs[work] = cost(work.stmt, self.target)
        return self.costs[work]


class _Clock:
    """When each pipe takes the next operation and has done the last, and when flags were set."""

    def __init__(self, costs: ModelledTime, plan: Plan) -> None:
        self.costs, self.plan = costs, plan
        self.free = dict.fromkeys(costs.tree.pipes, 0.0)
        self.done = self.free.copy()
        self.flags: dict[Signal, deque[float]] = defaultdict(deque)
        # The steps of each block, which loops run again and again.
        self.known: dict[Block, list[Work | Block | Repeat | Action]] = {}

    def block(self, block: Block) -> None:
        if block not in self.known:
            self.known[block] = [*self.steps(block)]
        for step in self.known[block]:
            match step:
                case Work():
                    self.work(step)
                case Block():
                    self.block(step)
                case Repeat():
                    self.loop(step)
                case do, op:
                    self.action(do, op)

    def steps(self, block: Block) -> Iterator[Work | Block | Repeat | Action]:
        """What takes time in a block, and what the plan puts there. A break is taken once in many
        rounds."""
        for item in block.items:
            yield from self.plan.before(block, item.position)
            match item:
                case Branch(then=then, orelse=orelse):
                    yield orelse if item.unlikely or item.taken is False else then
                case Work() | Repeat():
                    yield item
            yield from self.plan.after(block, item.position)
        yield from self.plan.before(block, len(block.items))

    def work(self, item: Work) -> None:
        found, pipe = self.costs.of(item), item.pipe
        start = self.free[pipe]
        self.free[pipe] = start + found.busy
        self.done[pipe] = max(self.done[pipe], start + found.done)

    def loop(self, loop: Repeat) -> None:
        rounds = min(loop.most, ASSUMED_ROUNDS)
        self.rounds(loop, Do.SET)
        begun, run = 0.0, min(int(rounds), loop.modulus + 1)
        for _ in range(run):
            begun = max(self.done.values())
            self.block(loop.body)
        self.later((rounds - run) * (max(self.done.values()) - begun))
        self.rounds(loop, Do.WAIT)

    def later(self, cycles: float) -> None:
        for times in (self.free, self.done):
            times.update((pipe, time + cycles) for pipe, time in times.items())
        for flag, sets in self.flags.items():
            self.flags[flag] = deque(time + cycles for time in sets)

    def rounds(self, loop: Repeat, do: Do) -> None:
        """What is raised before a loop and taken back after it, of flags whose rounds matter."""
        for flag in self.plan.by_round.get(loop, ()):
            self.signal(flag, do, flag.distance)

    def action(self, do: Do, op: SyncOp) -> None:
        match op:
            case Barrier(pipe=Pipe.ALL):
                self.wait(self.free, max(self.done.values()))
            case Barrier(pipe=pipe):
                self.wait((pipe,), self.done[pipe])
            case PointToPoint():
                self.signal(op, Do.SET)
                self.signal(op, Do.WAIT)
            case Flag() if do in (Do.PRIME, Do.DRAIN):
                self.signal(op, Do.SET if do is Do.PRIME else Do.WAIT, op.slots)
            case Flag():
                self.signal(op, do)

    def signal(self, op: Signal, do: Do, times: int = 1) -> None:
        for _ in range(times):
            if do is Do.SET:
                self.flags[op].append(max(self.free[op.source], self.done[op.source]))
            elif sets := self.flags[op]:
                self.wait(self.free if op.target is Pipe.S else (op.target,), sets.popleft())

    def wait(self, pipes: Iterable[Pipe], time: float) -> None:
        for pipe in pipes:
            self.free[pipe] = max(self.free[pipe], time)
