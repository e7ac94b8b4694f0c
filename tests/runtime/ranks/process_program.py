"""What the processes of test_processes.py run: `process_program.py TRANSPORT:WHAT...`."""

from __future__ import annotations

import os
import signal
import sys

import torch
import torch.distributed as dist

import tile_frontend as T
from tile_ir import TileError
from tile_ir.switches import override
from tile_runtime import init_ranks

N, BLOCKS = 1000, 2
PART = 512
# Seconds a kernel may run: one that waits for nothing, and any other.
SILENCE, LONGEST = 1, 300
CONFIGS = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}


@T.jit(pass_configs=CONFIGS)
def gather(ranks: int, signalled: bool = True) -> T.PrimFunc:
    """Every rank's line to all, twice in one launch: once with signals, once around a barrier; and
    back from the next rank."""

    @T.prim_func
    def kernel(
        x: T.Tensor((N,), "float32"),
        y: T.SymmTensor((ranks, N), "float32"),
        z: T.SymmTensor((ranks, N), "float32"),
        words: T.Signals(ranks * BLOCKS),
        count: T.Signals(1),
        back: T.Tensor((N,), "float32"),
        step: T.int32,
    ) -> None:
        with T.Kernel(BLOCKS) as cid:
            start = cid * PART
            with T.Scale("device") as (r, num):
                for s in T.serial(num):
                    to = (r + s) % num
                    T.put_signal(
                        x[start : start + PART],
                        y[r, start : start + PART],
                        words[r * BLOCKS + cid],
                        step if signalled else 0,
                        to,
                    )
                for s in T.serial(num):
                    T.wait_ge(words[s * BLOCKS + cid], step)
                for s in T.serial(num):
                    T.put(x[start : start + PART], z[r, start : start + PART], s)
                    T.quiet()
                    T.signal(count[0], 1, s, op="add")
                T.wait_ge(count[0], num * BLOCKS * step)
                T.barrier()
                T.get(z[r, start : start + PART], back[start : start + PART], (r + 1) % num)
                T.barrier()

    return kernel


def total_of_ranks(ranks: int) -> T.PrimFunc:
    """y = the sum of x over all ranks, by slots and words that the kernel keeps between calls."""

    @T.prim_func
    def total(
        X: T.Tensor((N,), "float32"),
        slots: T.SymmTensor((2, ranks, N), "float32"),
        sent: T.Signals(ranks),
        Y: T.Tensor((N,), "float32"),
        step: T.int32,
    ):
        with T.Kernel(1, threads=1), T.Scale("device") as (r, num):
            part, total = T.alloc_shared((N,), "float32"), T.alloc_shared((N,), "float32")
            T.copy(X, part)
            for s in T.serial(num):
                T.put_signal(part, slots[step % 2, r, :], sent[r], step, (r + s) % num)
            T.tile.fill(total, 0.0)
            for s in T.serial(num):
                T.wait_ge(sent[s], step)
                T.copy(slots[step % 2, s, :], part)
                T.tile.add(total, total, part)
            T.copy(total, Y)

    call = T.Task(total)("x", "slots", "sent", "y", "step")
    return T.megakernel([call], inputs=["x"], outputs=["y"], step="step")


@T.prim_func
def refused(x: T.Tensor((N,), "float32")) -> None:
    with T.Kernel(1, threads=1):
        T.device_assert(T.rank() != 1, "not on rank 1")


def go_on(transport: str) -> None:
    """A launch that rank 1 does not come to, and further ones after `recover`."""
    rank, count = dist.get_rank(), dist.get_world_size()
    with init_ranks(heap_bytes=1 << 20, transport=transport) as world:
        kernel = T.compile(total_of_ranks(count), out_idx=[-1], pass_configs=CONFIGS)
        other = T.compile(refused, pass_configs=CONFIGS)
        x = torch.full((N,), float(rank + 1))
        for _ in range(2):
            assert (world.launch(kernel, x) == count * (count + 1) / 2).all()
        assert world.result is not None and world.result.findings == ((),) * count
        dist.barrier()  # a rank that fails at once would end what slower ones do together before
        try:
            world.launch(other if rank == 1 else kernel, x)
        except TileError as error:
            say(f"{transport}:failed", str(error).splitlines()[0])
        found = [] if world.result is None else [len(each) for each in world.result.findings]
        world.recover()
        assert found == ([0, 1] if rank == 1 else []), found
        for _ in range(2):
            assert (world.launch(kernel, x) == count * (count + 1) / 2).all()
    say(f"{transport}:kept", "goes on")


def say(what: str, text: str) -> None:
    """One line, in one piece."""
    sys.stdout.write(f"{what}, rank {dist.get_rank()}: {text}\n")
    sys.stdout.flush()


def main(transport: str, what: str) -> None:
    rank, count = dist.get_rank(), dist.get_world_size()
    with init_ranks(heap_bytes=1 << 20, transport=transport) as world:
        shape = (count, N + rank if what == "asymmetric" else N)
        y, z = world.zeros(shape, torch.float32), world.zeros((count, N), torch.float32)
        words, arrived = world.signals(count * BLOCKS), world.signals(1)
        x = torch.arange(N, dtype=torch.float32) + 1000 * rank
        back = torch.zeros(N)
        expected = [torch.empty(N) for _ in range(count)]
        dist.all_gather(expected, x)
        kernel = gather(count, what != "silent")
        for step in (1, 2):
            if what == "raise" and rank == 1 and step == 2:
                raise ValueError("the script is wrong")
            if what == "kill" and rank == 1 and step == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            with override(timeout=SILENCE if what == "silent" else LONGEST):
                world.launch(kernel, x, y, z, words, arrived, back, step)
            assert torch.equal(y[rank], torch.stack(expected)), "signals"
            assert torch.equal(z[rank], torch.stack(expected)), "barrier"
            assert torch.equal(back, x), "back"
            world.barrier() if what == "fine" else None
    say(f"{transport}:{what}", f"equal to gloo on {count} ranks")


if __name__ == "__main__":
    dist.init_process_group("gloo")
    for each in sys.argv[1:]:
        try:
            transport, what = each.split(":")
            go_on(transport) if what == "kept" else main(transport, what)
        except (TileError, ValueError) as error:
            say(each, str(error).splitlines()[0])
    os._exit(0)  # the group may have lost a member
