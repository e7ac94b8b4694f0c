"""Tune over ranks that are processes: all try the same configurations together, and a failure on
one counts as failure on all, so that no rank waits for one that does not come.

Not here: simulated devices of one process, which `autotune` runs like any other trial.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tile_ir import KernelError, TileError
from tile_ir.quick_dataclasses import dataclass
from tile_ir.switches import override, switch
from tile_runtime.cache.fingerprint import digest_of, sources_digest
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.ranks.group_ranks import GroupRanks
from tile_runtime.tuning.candidates import within
from tile_runtime.tuning.results import ResultStore, TrialRow, TuningResults, config_text
from tile_runtime.tuning.trial import REFUSED, RIGHT, TIMED_OUT, WRONG, Config

# Times that differ by less are the same: the earlier configuration wins.
TIE = 0.05
# Of the reason why one is not right, so many letters are told.
LONGEST = 500
# What a rank has to tell of a configuration: its state and why, if it is not right.
_Verdict = tuple[str, str]


@dataclass(frozen=True, slots=True)
class StepTuner:
    """How candidates are tried. `run(kernel, step)` launches on this rank and says by `step`, from
    1 on, which launch since all words were 0 it is; `check()` raises AssertionError if
    what it left is wrong."""

    world: GroupRanks
    factory: Callable[..., JITKernel]
    run: Callable[[JITKernel, int], Any]
    check: Callable[[], Any] | None
    passes: int
    timeout: float

    def known(self, config: Config, kernel: JITKernel) -> tuple[str, TrialRow | None]:
        """The key of a configuration with this number of ranks, and what is known of it."""
        world = self.world
        about = (
            sources_digest(), kernel.get_kernel_source(), config_text(config), str(switch("soc")),
            str(world.count), world.topology, str(self.passes),
        )  # fmt: skip
        key = digest_of("in step", *about)
        row = ResultStore().read(key, self.timeout) if world.rank == 0 else None
        found: tuple[str, TrialRow | None] = world.group.broadcast((key, row))
        return found

    def built(self, config: Config) -> tuple[JITKernel | None, _Verdict]:
        """The kernel, if all ranks have one."""
        kernel, verdict = None, (RIGHT, "")
        try:
            kernel = within(self.timeout, partial(self.factory, **config))
        except TimeoutError:
            verdict = TIMED_OUT, f"the factory has not returned after {self.timeout:g} s"
        except (TileError, AssertionError, ValueError, TypeError) as error:
            verdict = REFUSED, str(error)
        return kernel, self._vote(verdict)

    def tried(self, kernel: JITKernel) -> tuple[float | None, _Verdict]:
        """Milliseconds of the slowest rank in the fastest pass, if all ranks are right."""
        self.world.reset_signals()
        _, verdict = self._together(kernel, 1, self.check)
        times: list[list[float]] = []
        for step in range(2, 2 + self.passes):
            if verdict[0] != RIGHT:
                return None, verdict
            seconds, verdict = self._together(kernel, step, None)
            times.append(seconds)
        return min(map(max, times)) * 1e3, verdict

    def _together(
        self, kernel: JITKernel, step: int, check: Callable[[], Any] | None
    ) -> tuple[list[float], _Verdict]:
        """The seconds of each rank for a launch of all."""
        world = self.world
        world.barrier()
        verdict, begin, seconds = (RIGHT, ""), time.perf_counter(), 0.0
        try:
            with override(timeout=max(1, round(self.timeout))):
                self.run(kernel, step)
            world.wait_for_device()
            seconds = time.perf_counter() - begin
        except (TileError, AssertionError) as error:
            verdict = _wrong(error)
            world.give_up(verdict[1])
        try:
            if check is not None and verdict[0] == RIGHT:
                check()
        except (TileError, AssertionError) as error:
            verdict = _wrong(error)
        agreed = self._vote(verdict)
        return world.group.gathered(seconds), agreed

    def _vote(self, own: _Verdict) -> _Verdict:
        """The verdict for all ranks: the first failure, preferably of a rank with a reason of its
        own."""
        world = self.world
        said = world.settled_vote((own[0], own[1].split("\n")[0][:LONGEST]))
        wrong = [(rank, v) for rank, v in enumerate(said) if v[0] != RIGHT]
        if not wrong:
            return RIGHT, ""
        world.recover()
        own_reasons = [(r, v) for r, v in wrong if "rank-failed" not in v[1]]
        rank, (state, text) = (own_reasons or wrong)[0]
        return state, f"rank {rank}: {text}"


def _wrong(error: Exception) -> _Verdict:
    return WRONG, str(error) or "refused by an assertion"


def tune_ranks(
    world: GroupRanks,
    factory: Callable[..., JITKernel],
    configs: Sequence[Config],
    run: Callable[[JITKernel, int], Any],
    check: Callable[[], Any] | None = None,
    passes: int = 3,
    timeout: float = 100.0,
) -> JITKernel:
    """The kernel of this rank of the fastest configuration, which is its `config`, on all ranks
    together; a collective act. The list of rank 0 holds for all.

    `run(kernel, step)` launches on this rank with words of `world.signals`, which are 0 before each
    configuration, and `step` from 1 on; `check()` raises AssertionError if the first launch of one
    left something wrong. Results are known again where neither kernel nor ranks have changed.
    Raises KernelError where no configuration is right on all ranks.
    """
    tuner = StepTuner(world, factory, run, check, passes, timeout)
    chosen: Sequence[Config] = world.group.broadcast(list(configs))
    rows = [_row(tuner, config) for config in chosen]
    right = [n for n, row in enumerate(rows) if row.state == RIGHT]
    if not right:
        reasons = "\n".join(f"  {row.values}: {row.problem}" for row in rows)
        raise KernelError(
            "autotune-failed", f"no configuration can be used on {world.count} ranks:\n{reasons}"
        )
    first = right[0]
    again = _again(tuner, chosen[first]) if len(right) > 1 else None
    times = {n: rows[n].milliseconds or 0.0 for n in right}
    times[first] = min(times[first], times[first] if again is None else again)
    best = next(n for n in right if times[n] <= min(times.values()) * (1 + TIE))
    kernel, verdict = tuner.built(chosen[best])
    if kernel is None or verdict[0] != RIGHT:
        raise KernelError("autotune-failed", f"the best configuration is gone: {verdict[1]}")
    world.reset_signals()
    kernel.config, kernel.latency = dict(chosen[best]), times[best]
    kernel.tuning = TuningResults(tuple(rows))
    return kernel


def _row(tuner: StepTuner, config: Config) -> TrialRow:
    """Try a configuration, or read its stored result; the same on all ranks."""
    started = time.perf_counter()
    kernel, (state, problem) = tuner.built(config)
    key = digest_of("in step", config_text(config))
    milliseconds = None
    if kernel is not None and state == RIGHT:
        key, known = tuner.known(config, kernel)
        if known is not None:
            return known
        milliseconds, (state, problem) = tuner.tried(kernel)
    row = TrialRow(
        key=key, study=digest_of("in step", str(tuner.world.count))[:16],
        factory=getattr(tuner.factory, "__qualname__", "factory").rpartition(".")[2],
        arguments=f"{tuner.world.count} ranks, {tuner.world.topology}", chip=str(switch("soc")),
        objective="in step", config=config_text(config), state=state, milliseconds=milliseconds,
        reference=None, problem=problem or None, slug="",
        seconds=time.perf_counter() - started, given=tuner.timeout, ended=time.time(),
    )  # fmt: skip
    if tuner.world.rank == 0 and state == RIGHT:
        ResultStore().write(row)
    shared: TrialRow = tuner.world.group.broadcast(row)
    return shared


def _again(tuner: StepTuner, config: Config) -> float | None:
    """The time of the first right configuration after all others: machines become warm."""
    kernel, (state, _) = tuner.built(config)
    return None if kernel is None or state != RIGHT else tuner.tried(kernel)[0]
