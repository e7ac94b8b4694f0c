"""Tuning in processes: what hangs, lies or dies costs its own configuration only; what was found is
kept as it is found."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from forked_python import run_python
from kept_cases import kept_number

import tile_frontend as T
from tile_ir import Func, KernelError
from tile_ir.switches import override, switch
from tile_runtime import jit
from tile_runtime.devices.simulator_device import SimulatorDevice
from tile_runtime.tuning.autotuner import autotune
from tile_runtime.tuning.results import ResultStore, TuningResults
from tile_runtime.tuning.run_apart import end_trials, outcome_apart
from tile_runtime.tuning.trial import (
    DIED,
    LOST,
    RIGHT,
    TIMED_OUT,
    WRONG,
    Trial,
    TrialOutcome,
    run_trial,
)

pytestmark = pytest.mark.usefixtures("quick_kernels")

N = 1024


def add_one(n: int, block: int, fault: str = "") -> Func:
    """B = A + 1, a block at a time on one core, but for the fault that is asked for."""
    if fault == "sleeping factory":
        time.sleep(1000)
    if fault == "spinning factory":
        while True:
            pass
    value = 2.0 if fault == "wrong" else 1.0
    hangs = fault == "hang"

    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")) -> None:
        with T.Kernel(1) as (cid, vid), T.Scope("V"):
            a_ub = T.alloc_ub((block,), "float32")
            going = T.alloc_var("int32", init=1)
            if vid == 0:
                if hangs:
                    while going > 0:
                        T.barrier_all()
                for i in T.serial(n // block):
                    T.copy(A[i * block], a_ub)
                    T.barrier_all()
                    T.tile.add(a_ub, a_ub, value)
                    T.barrier_all()
                    T.copy(a_ub, B[i * block])
                    T.barrier_all()

    return main  # type: ignore[no-any-return]


BLOCKS = [{"block": block} for block in (64, 128, 256, 512)]


def tuned(configs: list[dict[str, Any]] = BLOCKS, **options: Any) -> Any:
    options.setdefault("ref_prog", lambda a: a + 1)
    return autotune(configs=configs, **options)(jit(out_idx=[-1])(add_one))


def states(found: TuningResults) -> dict[str, str]:
    return {str(row.values.get("fault", row.values["block"])): row.state for row in found.rows}


def test_the_simulator_is_built_before_the_time_of_trials_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a new machine that takes longer than most trials may."""
    order: list[str] = []

    def trial(given: Trial) -> TrialOutcome:
        order.append("trial")
        return run_trial(given)

    monkeypatch.setattr(SimulatorDevice, "prepare", lambda self: order.append("prepare"))
    monkeypatch.setattr("tile_runtime.tuning.search.run_apart", trial)
    with override(cache=False):
        tuned(BLOCKS[:1])(N)
    assert order[:2] == ["prepare", "trial"]


def test_what_hangs_or_is_wrong_costs_itself_only() -> None:
    ends = {
        "wrong": WRONG, "sleeping factory": TIMED_OUT, "spinning factory": TIMED_OUT,
        "hang": TIMED_OUT,
    }  # fmt: skip
    faults = list(ends)[: max(2, kept_number(len(ends)))]
    planted = [{"block": 1024, "fault": fault} for fault in faults]
    kernel = tuned([*planted, *BLOCKS], timeout=12)(N)
    assert kernel.config == {"block": 512}
    right = {f"{block['block']}": RIGHT for block in BLOCKS}
    assert states(kernel.tuning) == {fault: ends[fault] for fault in faults} | right
    a = torch.randn(N)
    assert torch.equal(kernel(a), a + 1)


def test_processes_find_what_this_one_does() -> None:
    apart = tuned()(N)
    with override(cache=False):
        here = tuned(executor="here")(N)
        with ThreadPoolExecutor(2) as pool:
            elsewhere = tuned(executor=pool)(N)
    assert apart.config == here.config == elsewhere.config == {"block": 512}
    assert apart.latency == here.latency == elsewhere.latency


# A tuner that is killed, if it is told to, as soon as its first row is on disk.
SCRIPT = """
import os, signal, sys
sys.path[:0] = [{folder!r}, {tests!r}]
from test_tuning_processes import N, ResultStore, override, tuned
write = ResultStore.write
def write_and_die(store, row):
    write(store, row)
    os.kill(os.getpid(), signal.SIGKILL)
if "die" in sys.argv:
    ResultStore.write = write_and_die
with override(cache_dir={cache!r}, cxx={compiler!r}, prove=True):
    print(tuned()(N).config, flush=True)
"""


def test_a_killed_tuner_goes_on_where_it_was(tmp_path: Path) -> None:
    script = tmp_path / "tune.py"
    store = ResultStore()
    words = {"cache": str(store.path.parent), "compiler": switch("cxx")}
    here = Path(__file__).parent
    script.write_text(SCRIPT.format(folder=str(here), tests=str(here.parent), **words))
    first = run_python([str(script), "die"])
    assert first.returncode == -signal.SIGKILL, first.stderr
    (before,) = store.studies()
    assert 0 < len(before.rows) < len(BLOCKS)
    second = run_python([str(script)])
    assert second.stdout.strip() == "{'block': 512}", second.stderr
    (after,) = store.studies()
    assert len(after.rows) == len(BLOCKS)
    assert {row.config: row.ended for row in before.rows}.items() <= {
        row.config: row.ended for row in after.rows
    }.items()


def test_a_process_that_is_killed_gets_a_second_chance() -> None:
    once = outcome_apart(_Dying(1), 60)
    assert once.state == RIGHT
    twice = outcome_apart(_Dying(2), 60)
    assert twice.state == DIED and "Killed" in str(twice.problem)
    slow = outcome_apart(_Dying(0, seconds=60), 0.5)
    assert slow.state == TIMED_OUT and 0.5 <= slow.seconds < 30


def test_a_search_that_is_broken_off_ends_its_trials() -> None:
    with ThreadPoolExecutor(1) as pool:
        job = _Dying(0, seconds=600)
        trial = pool.submit(outcome_apart, job, 1000)
        while not os.path.exists(job.begun):
            time.sleep(0.01)
        end_trials()
        assert trial.result().state == LOST
    assert outcome_apart(_Dying(0), 60).state == RIGHT


class _Dying:
    """A job that kills its process; of `os.environ` the number of times is kept in a file."""

    def __init__(self, times: int, seconds: float = 0.0) -> None:
        self.times, self.seconds = times, seconds
        self.file = str(ResultStore().path.parent / f"died-{times}")
        self.begun = f"{self.file}-{seconds:g}"

    def __call__(self) -> TrialOutcome:
        died = os.path.getsize(self.file) if os.path.exists(self.file) else 0
        if died < self.times:
            with open(self.file, "a") as file:
                file.write("x")
            os.kill(os.getpid(), signal.SIGKILL)
        open(self.begun, "w").close()
        time.sleep(self.seconds)
        return TrialOutcome(RIGHT, 1.0)


def test_two_workers_of_dask_with_one_killed_find_the_same() -> None:
    # A folder of this name is found as a module, if there is no other.
    pytest.importorskip(
        "distributed.deploy",
        reason="dask.distributed is not installed: pip install 'dask[distributed]'",
    )
    import distributed

    with override(cache=False):
        expected = tuned()(N)
    killed: list[int] = []
    store = ResultStore()  # of this test: threads have switches of their own

    def kill_one(client: Any) -> None:
        """When the first result is there."""
        while not store.studies():
            time.sleep(0.01)
        pid = next(iter(client.run(os.getpid).values()))
        killed.append(pid)
        os.kill(pid, signal.SIGKILL)

    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True
    )
    with cluster, distributed.Client(cluster) as client, ThreadPoolExecutor(1) as pool:
        many = [{"block": 2**k} for k in range(3, 10)]
        killing = pool.submit(kill_one, client)
        found = tuned(many, executor=client)(N)
        killing.result()
    assert killed and found.config == expected.config and found.latency == expected.latency
    assert {row.state for row in found.tuning.rows} == {RIGHT}


def test_what_the_executor_loses_is_tried_again() -> None:
    class Losing(ThreadPoolExecutor):
        def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_exception(OSError("gone"))
            return future

    with pytest.raises(KernelError, match="the executor: gone"):
        tuned(executor=Losing(1))(N)
    assert not ResultStore().studies()
    assert tuned(executor="here")(N).config == {"block": 512}


def test_options_that_do_not_exist() -> None:
    for wrong in ({"executor": 3}, {"objective": "speed"}, {"sampler": "luck"}, {"most": 0}):
        with pytest.raises(KernelError) as error:
            tuned(**wrong)(N)
        assert error.value.slug == "tuning-option"
