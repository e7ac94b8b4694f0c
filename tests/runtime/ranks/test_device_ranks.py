"""Ranks on NPUs, without a device: the calls of the vendor's SHMEM library and their order, on
doubles of the device and of the library."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from selftest import rank_program

import tile_frontend as T
from npu_double import NpuDouble
from npu_double.shmem_double import ELSEWHERE, UNIQUE, ShmemDouble, install_shmem
from tile_ir import BuildError, CallError
from tile_runtime import init_ranks
from tile_runtime.ranks.device_ranks import device_ranks
from tile_runtime.ranks.rank_group import RankGroup

N = 64
CONFIGS = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
HEAP = 2 << 20


@T.jit(pass_configs=CONFIGS)
def send_round(n: int = N) -> T.PrimFunc:
    """Every rank's line to the next one."""

    @T.prim_func
    def kernel(
        x: T.Tensor((n,), "float32"),
        landed: T.SymmTensor((n,), "float32"),
        arrived: T.Signals(1),
        y: T.Tensor((n,), "float32"),
    ) -> None:
        with T.Kernel(1) as cid, T.Scale("device") as (r, num):
            T.put_signal(x, landed, arrived[0], 1, (r + 1) % num)
            T.wait_ge(arrived[0], 1)
            T.copy(landed, y)

    return kernel


def kept_round() -> T.PrimFunc:
    """The same, with memory that the kernel keeps."""

    @T.prim_func
    def send(
        x: T.Tensor((N,), "float32"), landed: T.SymmTensor((2, N), "float32"),
        arrived: T.Signals(1), y: T.Tensor((N,), "float32"), step: T.int32,
    ) -> None:  # fmt: skip
        with T.Kernel(1, threads=1), T.Scale("device") as (r, num):
            T.put_signal(x, landed[step % 2, :], arrived[0], step, (r + 1) % num)
            T.wait_ge(arrived[0], step)
            T.copy(landed[step % 2, :], y)

    call = T.Task(send)("x", "landed", "arrived", "y", "step")
    return T.megakernel([call], inputs=["x"], outputs=["y"], step="step")


@pytest.fixture
def shmem(
    machine: NpuDouble, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[ShmemDouble]:
    """A machine with NPUs and the library; groups of torch.distributed are noted, and are gloo's of
    one process."""
    double = install_shmem(monkeypatch, tmp_path)
    begin, end = dist.init_process_group, dist.destroy_process_group

    def init_process_group(backend: str, **options: Any) -> None:
        double.note(f"dist.init_process_group({backend})")
        begin("gloo", store=dist.HashStore(), rank=0, world_size=1)

    def destroy_process_group() -> None:
        double.note("dist.destroy_process_group()")
        end()

    def set_device(number: int) -> None:
        double.note(f"torch.npu.set_device({number})")

    monkeypatch.setattr(dist, "init_process_group", init_process_group)
    monkeypatch.setattr(dist, "destroy_process_group", destroy_process_group)
    machine.npu.set_device = set_device
    for name, value in (
        ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "1"), ("RANK", "0"), ("WORLD_SIZE", "1"),
        ("LOCAL_RANK", "0"),
    ):  # fmt: skip
        monkeypatch.setenv(name, value)
    yield double
    if dist.is_initialized():
        end()


class _Pair(RankGroup):
    """Rank 1 of two, of which rank 0 says the same."""

    def __init__(self) -> None:
        super().__init__(None, 1, 2)

    def gathered(self, value: Any) -> list[Any]:
        return [value, value]

    def broadcast(self, value: Any) -> Any:
        return UNIQUE

    def barrier(self) -> None: ...


def test_the_calls_of_the_library_in_their_order(shmem: ShmemDouble, machine: NpuDouble) -> None:
    """S-33."""
    with init_ranks(heap_bytes=HEAP, backend="hccl") as world:
        x, y = torch.randn(N), torch.zeros(N)
        landed, words = world.empty(N, torch.float32), world.signals(1)
        machine.calls()
        world.launch(send_round(), x, landed, words, y)
        (launched,) = [c for c in machine.calls() if c.startswith("launch ")]
        assert f"{landed[0].data_ptr():x}" in launched or str(landed[0].data_ptr()) in launched
        world.barrier()  # waits for the device as well
        assert torch.equal(y, x)
    dist.destroy_process_group()
    assert shmem.calls == [
        "torch.npu.set_device(0)",
        "dist.init_process_group(hccl)",
        "set_conf_store_tls(False, '')",
        "core.get_unique_id()",
        "core.init(rank=0, nranks=1, uid)",
        f"aclshmem_create_tensor([{HEAP}], torch.uint8, 0)",
        "aclshmem_ptr(0)",
        "get_ffts_config()",
        "aclshmem_free_tensor",
        "core.finalize()",
        "dist.destroy_process_group()",
    ]


def test_what_a_kernel_keeps_lies_on_the_heap(shmem: ShmemDouble, machine: NpuDouble) -> None:
    """Also where it is called again, and after `recover` it begins anew."""
    with init_ranks(heap_bytes=HEAP, backend="hccl") as world:
        x, y = torch.randn(N), torch.zeros(N)
        kernel = T.compile(kept_round(), pass_configs=CONFIGS)
        assert world.result is None
        for number in (1, 2, 1):
            world.launch(kernel, x, y)
            world.barrier()
            kept = world.kept(kernel.kept)
            assert [*kept.calls.values()] == [number] and torch.equal(y, x)
            if number == 2:
                world.recover()
        names = [made.name for made in world.made]
    assert names == ["symmetric_0", "symmetric_1"]


def test_a_rank_of_two_takes_the_id_of_the_first(shmem: ShmemDouble) -> None:
    world = device_ranks(_Pair(), HEAP)
    assert "core.get_unique_id()" not in shmem.calls
    assert "core.init(rank=1, nranks=2, uid)" in shmem.calls
    assert world.bases[0] == ELSEWHERE
    first, second = world.empty(3, torch.int8), world.empty((2, 5), torch.float16)
    assert second[1].data_ptr() - first[1].data_ptr() == 256
    assert first[1].data_ptr() == world.bases[1]
    with pytest.raises(CallError, match="lies in another process"):
        first[0]
    with pytest.raises(CallError, match="bytes left"):
        world.empty(HEAP, torch.int8)
    world.close(ValueError("no"))
    assert shmem.calls[-1] == "core.finalize()" and "aclshmem_free_tensor" not in shmem.calls
    with pytest.raises(CallError, match="have ended"):
        world.empty(1, torch.int8)


def test_what_can_be_wrong_is_told(
    shmem: ShmemDouble, machine: NpuDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    shmem.unseen = {0}
    with pytest.raises(CallError, match="rank 0 is not seen from rank 1") as found:
        device_ranks(_Pair(), HEAP)
    assert "npu-smi info -t topo" in str(found.value.hint)
    shmem.unseen = set()
    shmem.refused = {"get_ffts_config"}
    with pytest.raises(CallError, match="barriers in kernels"):
        device_ranks(_Pair(), HEAP)
    shmem.refused = {"set_conf_store_tls"}
    with pytest.raises(CallError, match="set_conf_store_tls returns 1"):
        device_ranks(_Pair(), HEAP)
    monkeypatch.setenv("LOCAL_RANK", "3")
    with pytest.raises(CallError, match="1 devices are visible"):
        init_ranks(backend="hccl")


def test_kernels_over_ranks_are_compiled_with_the_library(
    shmem: ShmemDouble, machine: NpuDouble, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = len(machine.command_lines())
    send_round(N + 8)
    (line,) = machine.command_lines()[before:]
    home = tmp_path / "shmem"
    assert f"-I{home}/include -I{home}/src/device -L{home}/lib -lshmem" in line
    monkeypatch.setenv("SHMEM_HOME_PATH", str(tmp_path / "nothing"))
    with pytest.raises(BuildError, match=re.escape("SHMEM's headers are not found")):
        send_round(2 * N)


def test_a_kernel_over_ranks_needs_a_rank(shmem: ShmemDouble, machine: NpuDouble) -> None:
    """Called in a process that has started no ranks, or has ended them."""
    kernel, x = send_round(), torch.zeros(N)
    words = torch.zeros((1, 16), dtype=torch.int32)
    machine.calls()
    with pytest.raises(CallError, match="this process is no rank") as found:
        kernel(x, x, words, x)
    assert "torchrun" in str(found.value.hint)
    assert not [c for c in machine.calls() if c.startswith("launch ")]


def test_the_self_test_of_one_rank(shmem: ShmemDouble, capsys: pytest.CaptureFixture[str]) -> None:
    """The library is started once for all examples, and ended before the group is."""
    assert rank_program.main(["shared"], ["neighbour", "gather"]) == 0
    first, *rows, last = capsys.readouterr().out.splitlines()
    assert first.startswith("2 examples on 1 ranks (Ascend910B")
    assert [row.split()[:3] for row in rows] == [
        [name, "npu", "ok"] for name in ("neighbour", "gather")
    ]
    assert last == "all ok"
    assert shmem.calls.count("core.init(rank=0, nranks=1, uid)") == 1
    assert shmem.calls[-1] == "core.finalize()"
