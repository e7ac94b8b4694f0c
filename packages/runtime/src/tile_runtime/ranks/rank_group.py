"""Represent the processes of a group of torch.distributed, and their collective acts."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from tile_ir import CallError
from tile_ir.switches import switch

# Of what one process tells all others at a time.
MOST_BYTES = 2048
VARIABLES = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")


def _nobody() -> str | None:
    return None


@dataclass(eq=False)
class RankGroup:
    """Process `rank` of `count`. `failure` names a rank that has failed and its reason, if one has:
    waits for the others then end."""

    group: Any
    rank: int
    count: int
    device: str = "cpu"
    failure: Callable[[], str | None] = _nobody

    def gathered(self, value: Any) -> list[Any]:
        """The value of each process, by rank; a collective act."""
        text = pickle.dumps(value)
        if len(text) > MOST_BYTES:
            raise CallError("ranks", f"{len(text)} bytes are more than ranks can exchange")
        line = torch.frombuffer(bytearray(text.ljust(MOST_BYTES, b"\0")), dtype=torch.uint8)
        lines = [torch.empty_like(line, device=self.device) for _ in range(self.count)]
        self._act(
            lambda: dist.all_gather(lines, line.to(self.device), group=self.group, async_op=True)
        )
        return [pickle.loads(bytes(found.cpu().numpy())) for found in lines]

    def broadcast(self, value: Any) -> Any:
        """The value of rank 0, on all; a collective act."""
        text = pickle.dumps(value) if self.rank == 0 else b""
        size = self.gathered(len(text))[0]
        line = torch.frombuffer(bytearray(text.ljust(size, b"\0")), dtype=torch.uint8)
        line = line.to(self.device)
        first = 0 if self.group is None else dist.get_global_rank(self.group, 0)
        self._act(lambda: dist.broadcast(line, first, group=self.group, async_op=True))
        return pickle.loads(bytes(line.cpu().numpy()))

    def barrier(self) -> None:
        """Wait for all processes."""
        self._act(lambda: dist.barrier(group=self.group, async_op=True))

    def _act(self, begin: Callable[[], Any]) -> None:
        """Do something together. Raises CallError `rank-failed` where another rank has failed."""
        try:
            work, pause = begin(), 1e-5
            while not work.is_completed():
                self._raise_failure()
                time.sleep(pause)
                pause = min(2 * pause, 2e-3)
            work.wait()
        except RuntimeError as error:
            self._raise_failure()
            message = f"another rank's process has ended: {str(error).splitlines()[0]}"
            raise CallError("rank-failed", message) from None

    def _raise_failure(self) -> None:
        text = self.failure()
        if text is not None:
            raise CallError("rank-failed", text)


def rank_group(group: Any, backend: str | None) -> RankGroup:
    """This process in a group, the default one if none is given, which is made with `backend` and
    torchrun's variables where that is given and there is none. Raises CallError otherwise."""
    if not dist.is_available():
        raise CallError("ranks", "this torch has no torch.distributed")
    if not dist.is_initialized():
        if backend is None or group is not None:
            raise _no_group()
        _start_group(backend)
    rank, count = dist.get_rank(group), dist.get_world_size(group)
    if rank < 0:
        raise CallError("ranks", "this process is no member of the group")
    return RankGroup(group, rank, count, "npu" if dist.get_backend(group) == "hccl" else "cpu")


def _no_group() -> CallError:
    message = "there is no process group of torch.distributed"
    hint = "start with `torchrun --nproc-per-node R script.py`, whose script first calls "
    hint += '`torch.distributed.init_process_group("gloo")`, or give init_ranks a backend'
    missing = [name for name in VARIABLES if name not in os.environ]
    if len(missing) < len(VARIABLES):
        have = "torchrun has started this process" if not missing else _missing(missing)
        return CallError("ranks", f"{message}: {have}", hint=hint)
    return CallError("ranks", message, hint=hint)


def _missing(names: list[str]) -> str:
    which = ", ".join(names)
    return f"{which} {'is' if len(names) == 1 else 'are'} not in the environment"


def _start_group(backend: str) -> None:
    """Start a group of the processes in torchrun's variables, once all are there."""
    missing = [name for name in VARIABLES if name not in os.environ]
    if missing:
        hint = "start with `torchrun --nproc-per-node R script.py`, which sets them"
        raise CallError("ranks", _missing(missing), hint=hint)
    rank, count = _number("RANK"), _number("WORLD_SIZE")
    _number("MASTER_PORT")
    if not 0 <= rank < count:
        raise CallError("ranks", f"RANK is {rank} where WORLD_SIZE is {count}")
    seconds = int(switch("timeout")) or 600
    where = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    who = f"the {count} processes of WORLD_SIZE did not all meet at {where}"
    hint = "start as many processes as WORLD_SIZE says, each with another RANK"
    meet(backend, seconds, who, hint)


def meet(backend: str, seconds: int, missed: str, hint: str | None, **address: Any) -> None:
    """Make the default group of all processes that come to an address, by default that of
    torchrun's variables. Raises CallError, which says what they `missed`, where they do not come in
    time."""
    try:
        dist.init_process_group(backend, timeout=timedelta(seconds=seconds), **address)
    except (RuntimeError, ValueError) as error:
        message = f"{missed} within {seconds} s: {str(error).splitlines()[0]}"
        raise CallError("ranks", message, hint=hint) from None


def _number(name: str) -> int:
    text = os.environ[name]
    if not text.isdigit():
        raise CallError("ranks", f"{name}={text!r}: expected a number")
    return int(text)
