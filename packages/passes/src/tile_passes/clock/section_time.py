"""Time a section under a plan of flags and barriers, in modelled core cycles.

Pipes take instructions in order (`clock`) and wait where the plan says. A loop is run for as many
iterations as it has residues and one more; the others take as long as the last of these. A branch
is taken unless it is unlikely. Left out: flags of the kernel's author, which are the same in all
plans, and when the scalar unit issues an instruction.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from functools import cache

from tile_ir import Pipe, Target
from tile_ir.costs.instruction_cost import cost
from tile_passes.clock.pipe_clock import ASSUMED_ITERATIONS, PipeClock
from tile_passes.order.channels import AROUND, Action, Barrier, Flag, Place, Plan
from tile_passes.order.tree import Block, Branch, Repeat, Tree, Work


class ModelledTime:
    """Call it with a plan to get core cycles. The cost of each statement is computed once."""

    def __init__(self, tree: Tree, target: Target) -> None:
        self.tree = tree
        self.cost = cache(lambda work: cost(work.stmt, target))

    def __call__(self, plan: Plan) -> float:
        self.plan = plan
        self.clock: PipeClock[Place] = PipeClock[Place](self.tree.pipes)
        # When the flags of the plan were set.
        self.flags: dict[object, deque[float]] = defaultdict(deque)
        self.block(self.tree.root)
        return self.clock.end

    def block(self, block: Block) -> None:
        """Run the work in a block that takes time, and the plan's actions. A break is taken once in
        many iterations."""
        gaps, run, cost = self.plan.gaps, self.clock.run, self.cost
        for item in block.items:
            self.actions(gaps.get((block, item.position, False), ()))
            match item:
                case Work(pipe=pipe):
                    run(pipe, cost(item))
                case Branch(then=then, orelse=orelse):
                    self.block(orelse if item.unlikely or item.taken is False else then)
                case Repeat():
                    self.loop(item)
            self.actions(gaps.get((block, item.position, True), ()))
        self.actions(gaps.get((block, len(block.items), False), ()))

    def loop(self, loop: Repeat) -> None:
        trips = min(loop.most, ASSUMED_ITERATIONS)
        self.actions(self.plan.at(loop.body, AROUND, False))
        begun, run = 0.0, min(int(trips), loop.modulus + 1)
        for _ in range(run):
            begun = self.clock.end
            self.block(loop.body)
        rest = (trips - run) * (self.clock.end - begun)
        self.clock.advance(rest)
        for flag, sets in self.flags.items():
            self.flags[flag] = deque(time + rest for time in sets)
        self.actions(self.plan.at(loop.body, AROUND, True))

    def actions(self, actions: Iterable[Action]) -> None:
        clock, pipes = self.clock, self.tree.pipes
        for do, op in actions:
            match op:
                case Barrier(pipe=Pipe.ALL):
                    clock.wait(pipes, clock.end)
                case Barrier(pipe=pipe):
                    clock.wait((pipe,), clock.done[pipe])
                case Flag(source=source, target=target, identity=flag):
                    for _ in op.turns(do):
                        if do.sets:
                            self.flags[flag].append(max(clock.free[source], clock.done[source]))
                        elif there := self.flags[flag]:
                            clock.wait(pipes if target is Pipe.S else [target], there.popleft())
