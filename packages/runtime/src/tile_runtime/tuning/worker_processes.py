"""Trials in processes of their own, which end when their time is up and are replaced.

An executor runs `run_apart`, in a thread here or on another machine. It hands the trial to
an idle process of the machine it is on, or starts one, and ends it if it does not answer in time.
So time-outs hold for every executor, and what a kernel does to its process harms no other trial.

The processes import this package and nothing of the script. They talk through pipes, leave when
their owner is gone, and after a minute without work.
"""

from __future__ import annotations

import os
import pickle
import queue
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial
from typing import IO, Any, TypeVar

from tile_runtime.tuning.trial import DIED, LOST, TIMED_OUT, Trial, TrialOutcome, run_trial

Answer = TypeVar("Answer")

# A process without work leaves after so many seconds.
_IDLE_SECONDS = 60.0
# It may take so many to start: it imports torch, and may have to build the simulator.
_START_SECONDS = 600.0
_SIZE = struct.Struct("<Q")
_READY = b"ready"
_COMMAND = "from tile_runtime.tuning.worker_processes import serve; serve()"


def run_apart(trial: Trial) -> TrialOutcome:
    """`run_trial` in another process, for as many seconds as the trial may take. The cause may
    lie outside a process that dies, so the trial gets a second one."""
    return answer_apart(partial(run_trial, trial), trial.seconds)


def answer_apart(job: Callable[[], Answer], seconds: float) -> Answer | TrialOutcome:
    """Run a job that pickles in another process, for so many seconds. Return its result, or the
    outcome of a trial where it takes longer or its process ends."""
    return _workers().run(job, seconds)


def end_workers() -> None:
    """End the processes that this one has started, whatever they do."""
    _workers().close()


class Workers:
    """Processes, each with one job at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()

    def run(self, job: Callable[[], Answer], seconds: float) -> Answer | TrialOutcome:
        """Run a job, and return its result; an outcome of a trial too if it takes longer, or if its
        process ends twice."""
        for _ in range(2):
            worker = self._take()
            started = time.monotonic()
            try:
                found = worker.answer(job, seconds)
            except EOFError:
                problem = f"its process ended: {worker.end()}"
                if self._drop(worker):
                    continue
                return TrialOutcome(LOST, None, problem)
            if found is not None:
                self._put_back(worker)
                return found
            worker.end()
            self._drop(worker)
            taken = time.monotonic() - started
            return TrialOutcome(TIMED_OUT, None, f"not done after {seconds:g} s", seconds=taken)
        return TrialOutcome(DIED, None, problem)

    def close(self) -> None:
        """End all; what they were doing is lost."""
        with self._lock:
            ended = (*self._idle, *self._busy)
            self._idle.clear()
            self._busy.clear()
        for worker in ended:
            worker.end()

    def _take(self) -> _Worker:
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.lives():
                    self._busy.add(worker)
                    return worker
                worker.end()
        worker = _Worker()
        with self._lock:
            self._busy.add(worker)
        return worker

    def _put_back(self, worker: _Worker) -> None:
        with self._lock:
            if worker in self._busy:
                self._busy.discard(worker)
                self._idle.append(worker)

    def _drop(self, worker: _Worker) -> bool:
        """Whether it was still one of ours."""
        with self._lock:
            ours = worker in self._busy
            self._busy.discard(worker)
            return ours


class _Worker:
    """One process."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,
        )
        self._started = False

    def answer(self, job: Callable[[], Answer], seconds: float) -> Answer | None:
        """Run the job, and return its result; None if that takes longer. EOFError if the process
        ends."""
        if not self._started:
            if self._read(_START_SECONDS) != _READY:
                raise EOFError
            self._started = True
        assert self._process.stdin is not None, "a pipe was asked for"
        with suppress(BrokenPipeError):  # reading tells that it has ended
            _send(self._process.stdin, pickle.dumps(job))
        answer = self._read(seconds)
        if answer is None:
            return None
        found: Answer = pickle.loads(answer)
        return found

    def lives(self) -> bool:
        return self._process.poll() is None

    def end(self) -> str:
        """Kill it with all that it has started, and say how it had ended if it had."""
        code = self._process.poll()
        # The leader is not reaped by anybody else, so its number belongs to nobody else.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                pipe and pipe.close()
        code = self._process.returncode if code is None else code
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    def _read(self, seconds: float) -> bytes | None:
        """The next message; None if it does not come in time."""
        assert self._process.stdout is not None, "a pipe was asked for"
        end = time.monotonic() + seconds
        received = b""
        wanted = _SIZE.size
        while len(received) < wanted:
            left = max(0.0, end - time.monotonic())
            ready, _, _ = select.select([self._process.stdout], [], [], left)
            if not ready:
                return None
            piece = os.read(self._process.stdout.fileno(), wanted - len(received))
            if not piece:
                raise EOFError
            received += piece
            if len(received) == _SIZE.size and wanted == _SIZE.size:
                wanted += _SIZE.unpack(received)[0]
        return received[_SIZE.size :]


@lru_cache(maxsize=1)
def _workers() -> Workers:
    """Those of this process."""
    return Workers()


def _send(pipe: IO[bytes], message: bytes) -> None:
    pipe.write(_SIZE.pack(len(message)) + message)
    pipe.flush()


# In the processes --------------------------------------------------------------------------------


def serve() -> None:
    """Answer jobs until none comes in time. The output of kernels and compilers is dropped."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(nowhere, number)
    sys.setrecursionlimit(10_000)
    jobs: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_receive, args=(requests, jobs), daemon=True).start()
    _send(answers, _READY)
    with suppress(queue.Empty, BrokenPipeError):
        while True:
            job: Callable[[], Any] = pickle.loads(jobs.get(timeout=_IDLE_SECONDS))
            _send(answers, pickle.dumps(job()))
    os._exit(0)


def _receive(requests: IO[bytes], jobs: queue.Queue[bytes]) -> None:
    """When the owner is gone the process leaves at once, whatever it is doing."""
    while len(head := requests.read(_SIZE.size)) == _SIZE.size:
        jobs.put(requests.read(_SIZE.unpack(head)[0]))
    os.killpg(0, signal.SIGKILL)
