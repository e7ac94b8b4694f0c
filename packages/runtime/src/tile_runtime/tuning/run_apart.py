"""Trials in processes of their own, which end when their time is up.

`run_apart` is what an executor runs, in a thread here or on another machine: it starts a child of
the machine it is on, and ends it if it does not answer in time. So time-outs hold for every
executor, and what a kernel does to its process harms no other trial.

The children import this package and nothing of the script.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

from tile_runtime.child_processes.answers import WARM_UP, answer_apart
from tile_runtime.child_processes.child_server import ChildServer, EndedChild
from tile_runtime.tuning.trial import DIED, LOST, TIMED_OUT, Trial, TrialOutcome, run_trial

# The process that children are forked from leaves after so many seconds without work.
_IDLE_SECONDS = 60.0
_ENDS = {"time-limit": TIMED_OUT, "given-up": LOST}


def run_apart(trial: Trial) -> TrialOutcome:
    """`run_trial` in another process, for as many seconds as the trial may take."""
    return outcome_apart(partial(run_trial, trial), trial.seconds)


def outcome_apart(job: Callable[[], TrialOutcome], seconds: float) -> TrialOutcome:
    """The outcome of a job that pickles, in another process. If it dies the job gets a second
    one: the cause may be another program."""
    found = answer_apart(_children(), job, seconds)
    if isinstance(found, EndedChild) and found.how not in _ENDS:
        found = answer_apart(_children(), job, seconds)
    if isinstance(found, EndedChild):
        state = _ENDS.get(found.how, DIED)
        return TrialOutcome(state, None, found.problem, seconds=found.seconds)
    return found


def end_trials() -> None:
    """End the trials that this process has started, whatever they do."""
    _children().close()
    _children.cache_clear()


@lru_cache(maxsize=1)
def _children() -> ChildServer:
    """Those of this process."""
    return ChildServer(WARM_UP, idle_seconds=_IDLE_SECONDS)
