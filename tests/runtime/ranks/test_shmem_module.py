"""Scripts whose processes become ranks by `import shmem`, as tilelang-ascend's examples do."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
import torch
from forked_python import tile_ascend

from tile_ir import CallError
from tile_runtime.ranks import shmem_module

# The ranks run kernels of their own: the neighbour is a number in the text. Parts of one symmetric
# tensor are what they reach of each other.
SCRIPT = """
import multiprocessing, sys
import tilelang, tilelang.language as T, torch
import torch.distributed as dist
import shmem

N, COUNT = 96, 2

@tilelang.jit
def shift(N, neighbour):
    @T.prim_func
    def main(A: T.Tensor((1, N), "int8"), B: T.Tensor((1, N), "int8")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            with T.Scope("V"):
                if vid == 0:
                    T.shmem_put_nbi(B, A, N, neighbour)
    return main

@T.prim_func
def total_of_ranks(
    X: T.Tensor((N,), "float32"), slots: T.SymmTensor((2, COUNT, N), "float32"),
    sent: T.Signals(COUNT), Y: T.Tensor((N,), "float32"), step: T.int32,
):
    with T.Kernel(1, threads=1, is_npu=True) as cid:
        part, total = T.alloc_shared((N,), "float32"), T.alloc_shared((N,), "float32")
        T.copy(X, part)
        with T.Scale("device") as (r, num):
            for s in T.serial(num):
                T.put(part, slots[step % 2, r, :], (r + s) % num)
            T.quiet()
            for s in T.serial(num):
                T.signal(sent[r], step, (r + s) % num)
            T.tile.fill(total, 0.0)
            for s in T.serial(num):
                T.wait_ge(sent[s], step)
                T.copy(slots[step % 2, s, :], part)
                T.tile.add(total, total, part)
        T.copy(total, Y)

TASKS = T.megakernel(
    [T.Task(total_of_ranks)("x", "slots", "sent", "y", "step")], inputs=["x"], outputs=["y"],
    step="step",
)

def worker(rank, meet):
    torch.npu.set_device(rank)
    assert shmem.set_conf_store_tls(False, "") == 0
    attributes = shmem.InitAttr()
    attributes.my_rank, attributes.n_ranks = rank, COUNT
    attributes.local_mem_size = 1 << 20
    attributes.ip_port = "tcp://100.1.2.3:" + sys.argv[1]
    attributes.option_attr.data_op_engine_type = shmem.OpEngineType.MTE
    assert shmem.aclshmem_init(attributes) == 0
    assert (shmem.my_pe(), shmem.pe_count()) == (rank, COUNT)
    both = shmem.aclshmem_create_tensor([1, 2 * N], dtype=torch.int8, device_id=rank)
    a, b = both[:, :N].fill_(rank + 5), both[:, N:].fill_(0)
    meet.wait()
    for again in range(2):
        shift(N, 1 - rank)(a, b)
        a += 1
    meet.wait()
    assert shmem.aclshmem_ptr(b.data_ptr(), 1 - rank) not in (0, b.data_ptr())
    total = b.int().sum()
    summed = tilelang.compile(TASKS, out_idx=[-1], pass_configs={"tl.ascend_auto_sync": True})
    for again in range(3):  # what they keep between calls, the other rank reaches
        assert (summed(torch.full((N,), float(rank + again))) == 1 + 2 * again).all()
    dist.barrier()
    shmem.aclshmem_free_tensor(both)
    shmem.aclshmem_finialize()
    assert not dist.is_initialized()
    plain = torch.ones(1, N, dtype=torch.int8)
    shift(N, 0)(plain, plain.clone())  # one device again
    sys.stdout.write(f"rank {rank} has {int(total)}\\n")  # one write: processes share this pipe

meet = multiprocessing.Barrier(COUNT)
processes = [multiprocessing.Process(target=worker, args=(rank, meet)) for rank in range(COUNT)]
for p in processes:
    p.start()
for p in processes:
    p.join()
sys.exit(any(p.exitcode for p in processes))
"""


def test_processes_become_ranks_by_shmem(tmp_path: Path) -> None:
    script = tmp_path / "shift.py"
    script.write_text(SCRIPT)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "TILE_TARGET": "sim", "OMP_NUM_THREADS": "1"}
    found = tile_ascend("run", str(script), str(port), env=environment, seconds=280)
    assert found.returncode == 0, found.stderr
    lines = sorted(found.stdout.splitlines())
    assert lines == [f"rank {rank} has {96 * (1 - rank + 6)}" for rank in range(2)]


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(CallError, match="aclshmem_init") as caught:
        shmem_module.my_pe()
    assert caught.value.slug == "ranks"
    with pytest.raises(CallError, match="'tcp://host:port' names no port"):
        shmem_module.aclshmem_init(shmem_module.InitAttr(ip_port="tcp://host:port"))
    with pytest.raises(AttributeError, match=r"`shmem\.aclshmem_putmem` .*T\.put"):
        _ = shmem_module.aclshmem_putmem
    assert shmem_module.calc_nbytes((3, 5), torch.float16) == 30
    assert shmem_module.aclshmemx_init_status() is shmem_module.InitStatus.NOT_INITIALIZED
