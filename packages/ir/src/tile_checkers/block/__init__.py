"""Proof that the cores of a block wait for each other as they must, from the final text alone.

The three instruction streams of a block (the cube core and its two vector cores) are run together,
statement by statement, on every way through them that differs: clocks tell what each pipe knows to
be complete on all cores. Names of parameters and launch indices stay names, so that places in gm
are compared for all sizes. Other blocks are not looked at; nor are values: a store that both vector
cores repeat is told as what it is, and whether its bytes are equal is for the simulator.

Limits: loops whose number of rounds the text does not give run 0 to 3 times and more, and so often
that a counter would overflow, large numbers for one of them at a time; of long loops rounds in the
middle are left out where all are alike. Where there are too many ways or statements, that is said.
"""

from __future__ import annotations

from contextlib import suppress

from tile_checkers.block.accesses import Accesses
from tile_checkers.block.choices import Again, Impossible, Path
from tile_checkers.block.findings import BlockFindings
from tile_checkers.block.run import BlockRun, Budget, Stop, TooLong
from tile_checkers.block.samples import Samples
from tile_checkers.block.shape import shape_of
from tile_checkers.block.streams import NAMES, Stream, streams_of
from tile_checkers.block.values import Values
from tile_ir import Diagnostic, Func, Target, Var, written_buffers
from tile_ir.analysis import EVERYTHING, Ranges, launch_ranges, own_lane_part, uses_lane

# Statements run at most: with every iteration of every loop; with the middle of long loops left
# out; and with every iteration again on one path, where something was found without them.
WHOLE, CUT, CONFIRM = 8_000, 240_000, 240_000
MOST_WAYS = 400


def check_across(func: Func, target: Target, lanes_apart: bool = False) -> list[Diagnostic]:
    """Everything the cores of one block leave to chance between them; with `lanes_apart`, but for
    two stores of its vector cores to one place."""
    streams = streams_of(func)
    if not streams:
        return []
    proof = _Proof(func, streams, target, lanes_apart)
    found = proof.attempt(WHOLE, long=False)
    if found is None or found.growing:
        # What rises in few iterations may end in many, or pass what a counter holds.
        found = proof.attempt(CUT, long=True) or found
    return proof.given_up() if found is None else found.all()


class _Proof:
    """What all runs of a kernel share."""

    def __init__(
        self, func: Func, streams: tuple[Stream, ...], target: Target, lanes_apart: bool
    ) -> None:
        self.func = func
        self.lanes_apart = lanes_apart
        self.target = target
        self.streams = streams
        scalars: Ranges = {p: EVERYTHING for p in func.params if isinstance(p, Var)}
        self.known = scalars | launch_ranges(func)
        written = written_buffers(func.launch.body)
        self.values = {s.core: Values(NAMES[s.core], written) for s in streams}
        self.shape = shape_of(streams)
        names = {p for p in func.params if isinstance(p, Var)} | {func.launch.block, *func.symbols}
        self.accesses = Accesses(self.known, Samples(names, self.known), self.shape.period)
        for site in (x for s in streams for found in s.sites.values() for x in found):
            for buffer in site.written():
                self.accesses.writers.setdefault(buffer, []).append(site)
        self.partly = self.no_findings()

    def no_findings(self) -> BlockFindings:
        limit = self.target.cross_counter_limit
        alike = not uses_lane(self.func)
        return BlockFindings(own_lane_part(self.func), alike, limit, self.lanes_apart)

    def attempt(self, statements: int, long: bool) -> BlockFindings | None:
        """What is found on all ways; None if the budget does not last. A `long` attempt runs loops
        as often as overflows a counter, and leaves out the middle of their iterations."""
        self.accesses.tries.clear()
        findings, budget, path = self.no_findings(), Budget(statements), Path(self.known)
        again = Budget(CONFIRM)
        for _ in range(MOST_WAYS):
            try:
                trial = self._way(path, findings, budget, long)
            except TooLong:
                self.partly = findings
                return None
            if trial is not None:
                certain = path.is_certain()
                if long and trial.errors():
                    whole = self._in_all_rounds(path, again)
                    trial, certain = whole or trial, certain and whole is not None
                findings.certain, findings.way = certain, path.says()
                findings.take(trial)
            if findings.full() or not path.advance():
                return findings
        self.partly = findings
        return None

    def _way(
        self, path: Path, findings: BlockFindings, budget: Budget, long: bool
    ) -> BlockFindings | None:
        """What is found on one way; None if no run takes it."""
        while True:
            # What a choice fixes is not known before it is made: begin again with it.
            trial = self.no_findings()
            try:
                self._run(path, trial, budget, long, long)
            except Again:
                findings.certain, findings.way = path.is_certain(), ""
                findings.take(trial)
                continue
            except Impossible:
                return None
            return trial

    def _in_all_rounds(self, path: Path, budget: Budget) -> BlockFindings | None:
        """What is found on the same way without leaving out rounds; None if that takes too long, or
        if there is more to choose."""
        trial, same = self.no_findings(), path.copy()
        # What has been found once is not looked at again: here it is to be found anew.
        tried, self.accesses.tries = self.accesses.tries, {}
        try:
            self._run(same, trial, budget, False, True)
        except (Again, Impossible, TooLong):
            return None
        finally:
            self.accesses.tries = tried
        return trial if len(same.choices) == len(path.choices) else None

    def _run(
        self, path: Path, trial: BlockFindings, budget: Budget, reduced: bool, long: bool
    ) -> None:
        shared = self.values, self.accesses, self.shape
        run = BlockRun(self.streams, path, *shared, trial, budget, reduced, long, self.target)
        with suppress(Stop):
            run.run()

    def given_up(self) -> list[Diagnostic]:
        findings = self.partly
        findings.unproved(
            self.func.launch.loc,
            "there are too many ways through the streams of a block to follow them all",
            "let the same parameters decide about loops and branches of all cores",
        )
        return findings.all()


__all__ = ["check_across"]
