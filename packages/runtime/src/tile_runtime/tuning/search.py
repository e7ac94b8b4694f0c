"""Tries configurations until none is left that could win: what is known already is not tried again,
and what comes of each is kept as it ends. Configurations that give the same kernel, as they differ
in what only other machines have (numbers of threads, widths of accesses), are tried once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager
from random import Random

from tile_ir import KernelError, Stopped
from tile_ir.quick_dataclasses import dataclass
from tile_ir.switches import switch
from tile_runtime.tuning.candidates import Candidate, ConfigCandidates
from tile_runtime.tuning.options import TuneOptions
from tile_runtime.tuning.progress import shown
from tile_runtime.tuning.proposals import proposals
from tile_runtime.tuning.results import ResultStore, TrialRow, TuningResults
from tile_runtime.tuning.run_apart import end_trials, run_apart
from tile_runtime.tuning.trial import LOST, Config, Trial, TrialOutcome, run_trial

# Of an executor that does not say how many it runs at a time.
_IN_FLIGHT = 16


@dataclass(frozen=True, slots=True)
class _Crew:
    """The means to run trials: the function that submits one, the number of trials at a time, and
    whether they run in processes that end when their time is up."""

    submit: Callable[[Trial], Future[TrialOutcome]]
    in_flight: int
    apart: bool


def search(candidates: ConfigCandidates, configs: Sequence[Config]) -> TuningResults:
    """All that was tried or known of the configurations, in the order in which it ended.

    Raises Stopped for an interrupt; what was measured until then is kept.
    """
    configs = _some(configs, switch("tune_most"))
    rows: list[TrialRow] = []
    total = min(candidates.options.most or len(configs), len(configs))
    try:
        _try_all(candidates, configs, total, rows)
    except KeyboardInterrupt:
        raise _stopped(len(rows), total) from None
    return TuningResults(tuple(rows))


def _some(configs: Sequence[Config], most: int) -> Sequence[Config]:
    """So many of all, from everywhere among them, and always the same ones; all for 0."""
    if not 0 < most < len(configs):
        return configs
    places = Random(0).sample(range(len(configs)), most)
    return [configs[place] for place in sorted(places)]


def _try_all(
    candidates: ConfigCandidates, configs: Sequence[Config], total: int, rows: list[TrialRow]
) -> None:
    """Add a row for each configuration as it ends."""
    options = candidates.options
    left = proposals(configs, options.sampler, options.most)
    store = ResultStore()
    running: dict[Future[TrialOutcome], list[Candidate]] = {}
    # By kernel: who waits for it, and what came of it.
    awaited: dict[str, list[Candidate]] = {}
    outcomes: dict[str, TrialOutcome] = {}

    with _crew(options) as crew, shown(total) as tell:

        def ended(config: Config, row: TrialRow) -> None:
            rows.append(row)
            left.tell(config, row.milliseconds)
            tell(row)

        def keep(config: Config, found: Candidate | None, outcome: TrialOutcome) -> None:
            row = candidates.row(config, found, outcome)
            store.write(row)
            ended(config, row)

        def start(config: Config) -> None:
            found = candidates.candidate(config)
            if isinstance(found, TrialOutcome):
                keep(config, None, found)
                return
            known = store.read(found.key, options.timeout)
            if known is not None:
                outcomes.setdefault(found.kernel, _shared(known))
                ended(config, known)
            elif found.kernel in outcomes:
                keep(config, found, outcomes[found.kernel])
            elif found.kernel in awaited:
                awaited[found.kernel].append(found)
            else:
                awaited[found.kernel] = [found]
                trial = crew.submit(candidates.trial(found, crew.apart))
                running[trial] = awaited[found.kernel]

        while True:
            while len(running) < crew.in_flight and (config := left.ask()) is not None:
                start(config)
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                first, *others = running.pop(future)
                outcome = candidates.looked_at(first, _outcome(future))
                keep(first.config, first, outcome)
                outcomes[first.kernel] = _shared(outcome)
                for other in others:
                    keep(other.config, other, outcomes[first.kernel])


def _shared(found: TrialRow | TrialOutcome) -> TrialOutcome:
    """The outcome of a second configuration of the same kernel, without a trial."""
    return TrialOutcome(found.state, found.milliseconds, found.problem, found.slug)


def _stopped(tried: int, total: int) -> Stopped:
    """Return the exception that ends an interrupted search."""
    kept = "what was measured is kept, and the next call goes on from there"
    known = kept if switch("cache") else "nothing is kept, as TILE_CACHE is 0"
    return Stopped(f"tuning was stopped after {tried} of {total} configurations: {known}")


def _outcome(future: Future[TrialOutcome]) -> TrialOutcome:
    try:
        return future.result()
    except (BrokenExecutor, CancelledError, OSError) as error:
        return TrialOutcome(LOST, None, f"the executor: {error or type(error).__name__}")


@contextmanager
def _crew(options: TuneOptions) -> Iterator[_Crew]:
    """Yield the crew for the duration of a search. If the search is broken off, running trials are
    ended. The common parts of all kernels are made first: a trial has its seconds for itself."""
    executor = options.executor
    if executor in ("here", "processes"):
        options.device().prepare()
    if executor == "here":
        yield _Crew(_run_here, 1, apart=False)
        return
    if executor != "processes":
        given = executor.get_executor() if hasattr(executor, "get_executor") else executor
        if not isinstance(given, Executor):
            raise KernelError(
                "tuning-option",
                f"executor is {executor!r}, which runs no trials",
                hint="leave it out, or give 'here', an executor of concurrent.futures, or a client "
                "of dask.distributed",
            )
        yield _Crew(lambda trial: given.submit(run_apart, trial), _IN_FLIGHT, apart=True)
        return
    count = len(os.sched_getaffinity(0))
    pool = ThreadPoolExecutor(count)
    try:
        yield _Crew(lambda trial: pool.submit(run_apart, trial), count + 1, apart=True)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        end_trials()
        raise
    pool.shutdown()


def _run_here(trial: Trial) -> Future[TrialOutcome]:
    found: Future[TrialOutcome] = Future()
    found.set_result(run_trial(trial))
    return found
