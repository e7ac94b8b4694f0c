"""Prove from the final text that the cores of a block wait for each other where they must.

The checker runs the three instruction streams of a block (the cube core and its two vector cores)
together, statement by statement, on every distinct path. Clocks record the operations that are
complete on all cores before the next one of each pipe. Names of parameters and launch indices stay
names, so that places in gm are compared for all sizes. Other blocks are out of scope, and so are
values: a store that both vector cores repeat is reported as such, and the simulator decides whether
its bytes are equal.

Limits: loops without a trip count in the text run 0 to 3 times and more, up to the count at which a
counter would overflow. In long loops the checker skips iterations in the middle if all are alike.
Too many paths or statements give `sync-unproved`.
"""

from __future__ import annotations

from tile_checkers.block.accesses import Accesses
from tile_checkers.block.choices import Again, Impossible, Path
from tile_checkers.block.iterations import BlockLoops
from tile_checkers.block.run import BlockFacts, BlockRun, Budget, TooLong
from tile_checkers.block.samples import Samples
from tile_checkers.block.streams import NAMES, Stream, streams_of
from tile_checkers.block.values import Values
from tile_checkers.context import launch_context
from tile_checkers.findings import BlockFindings
from tile_ir import Diagnostic, Func, Target, Var, written_buffers
from tile_ir.analysis import own_lane_part, uses_lane

# Statements run at most: with every iteration of every loop; with the middle of long loops left
# out; and with every iteration again on one path, where something was found without them.
WHOLE, CUT, CONFIRM = 8_000, 240_000, 240_000
MOST_WAYS = 400


def check_across(func: Func, target: Target, lanes_apart: bool = False) -> list[Diagnostic]:
    """Return everything the cores of one block leave to chance between them; with `lanes_apart`,
    but for two stores of its vector cores to one place."""
    streams = streams_of(func)
    if not streams:
        return []
    proof = BlockProof(func, streams, target, lanes_apart)
    found = proof.attempt(WHOLE, long=False)
    if found is None or found.growing:
        # What rises in few iterations may end in many, or pass what a counter holds.
        found = proof.attempt(CUT, long=True) or found
    if found is None:
        found = proof.partly
        found.unproved(
            func.launch.loc,
            "there are too many ways through the streams of a block to follow them all",
            "let the same parameters decide about loops and branches of all cores",
        )
    return found.all()


class BlockProof:
    """All runs of a kernel."""

    def __init__(
        self, func: Func, streams: tuple[Stream, ...], target: Target, lanes_apart: bool
    ) -> None:
        self.func = func
        self.lanes_apart = lanes_apart
        self.known = launch_context(func).known
        written = written_buffers(func.launch.body)
        values = {s.core: Values(NAMES[s.core], written) for s in streams}
        loops = BlockLoops(streams)
        params = (p for p in func.params if isinstance(p, Var))
        samples = Samples({*params, func.launch.block, *func.symbols}, self.known)
        sites = [x for s in streams for found in s.sites.values() for x in found]
        self.accesses = Accesses(self.known, samples, loops.period, sites)
        self.facts = BlockFacts(streams, target, values, self.accesses, loops)
        self.partly = self.no_findings()

    def no_findings(self) -> BlockFindings:
        alike = not uses_lane(self.func)
        return BlockFindings(own_lane_part(self.func), alike, self.lanes_apart)

    def attempt(self, statements: int, long: bool) -> BlockFindings | None:
        """Return the findings of all paths; None if the budget does not suffice. A `long` attempt
        runs loops until a counter would overflow, and leaves out the middle of their iterations."""
        self.accesses.tries.clear()
        findings, path = self.no_findings(), Path(self.known)
        budget, again = Budget(statements), Budget(CONFIRM)
        for _ in range(MOST_WAYS):
            try:
                trial = self.follow(path, findings, budget, long, long)
            except TooLong:
                break
            if trial is not None:
                certain = path.is_certain()
                if long and trial.errors():
                    whole = self.in_all_iterations(path, again)
                    trial, certain = whole or trial, certain and whole is not None
                findings.take(trial, certain, path.says())
            if findings.full() or not path.advance():
                return findings
        self.partly = findings
        return None

    def follow(
        self, path: Path, findings: BlockFindings, budget: Budget, reduced: bool, long: bool
    ) -> BlockFindings | None:
        """Return the findings of one path; None if no run takes it. Findings from before a choice
        that gave a variable its value go to `findings`."""
        while True:
            trial = self.no_findings()
            run = BlockRun(self.facts, path, trial, budget, reduced, long)
            try:
                run.run()
            except Again:
                findings.take(trial, path.is_certain(), "")
                continue
            except Impossible:
                return None
            return trial

    def in_all_iterations(self, path: Path, budget: Budget) -> BlockFindings | None:
        """Return the findings of the same path with all iterations; None if that takes too long, or
        if there is more to choose."""
        same = path.copy()
        # What has been found once is not looked at again: here it is to be found anew.
        tried, self.accesses.tries = self.accesses.tries, {}
        try:
            trial = self.follow(same, self.no_findings(), budget, False, True)
        except TooLong:
            return None
        finally:
            self.accesses.tries = tried
        return trial if len(same.choices) == len(path.choices) else None


__all__ = ["check_across"]
