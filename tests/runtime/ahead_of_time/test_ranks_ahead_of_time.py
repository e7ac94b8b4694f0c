"""Kernels over ranks that are built ahead of time: called from C++ on simulated ranks, and built for a
device with the vendor's SHMEM library."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from kernel_compiler import host_compiler

from ahead_of_time.kernel_folders import compile_kernels, compiled, write
from npu_double import NpuDouble
from npu_double.shmem_double import install_shmem
from tile_runtime.ahead_of_time import read_manifest
from tile_runtime.launcher.native import simulator_library
from tile_runtime.simulator.build_simulator import include_directory

SHIFT = """
import tile_frontend as T
from tile_runtime.ahead_of_time import DispatchField, TileKernel, lower, register_kernel


def build(n):
    @T.prim_func
    def shift(
        x: T.Tensor((n,), "float32"),
        landed: T.SymmTensor((n,), "float32"),
        arrived: T.Signals(1),
        y: T.Tensor((n,), "float32"),
        step: T.int32,
    ):
        with T.Kernel(1) as cid, T.Scale("device") as (r, num):
            T.put_signal(x, landed, arrived[0], step, (r + 1) % num)
            T.wait_ge(arrived[0], step)
            T.copy(landed, y)
            T.barrier()

    return shift


@register_kernel
class Shift(TileKernel):
    DISPATCH_SCHEMA = [DispatchField("n", "int32")]
    SPECIALIZATIONS = [{"variant_key": "n100", "n": 100}]

    @staticmethod
    def generate_source(n):
        return lower(build(n), pass_configs={"tl.ascend_auto_sync": True}).kernel_source
"""
PROGRAM = """
#include <deque>
#include <iostream>
#include "tile_ascend/dispatch_registry.h"
#include "tile_ascend/ranks.h"

namespace kernels {
using namespace tile_ascend;
#include "registry.inc"
}
using namespace tile_ascend;

int main()
{
    constexpr size_t n = 100;
    const auto* entry = kernels::find_shift_kernel_entry(kernels::make_shift_specialization(kernels::ShiftN{n}));
    Ranks ranks(3);
    SymmetricMemory<float> landed(ranks, n, "landed");
    SymmetricMemory<int32_t> words(ranks, 16, "words");
    std::deque<DeviceMemory<float>> x, y;
    for (uint32_t rank = 0; rank < ranks.count(); ++rank) {
        x.emplace_back(std::vector<float>(n, static_cast<float>(rank)), "x");
        y.emplace_back(n, "y");
    }
    const auto call = [&](uint8_t* there, uint32_t rank, int step) {
        entry->fn(x[rank].handle(), there, words.handle(rank), y[rank].handle(), step, nullptr);
    };
    try {
        ranks.launch([&](uint32_t rank) { rank == 1 ? throw std::runtime_error("no") : call(landed.handle(rank), rank, 1); });
    } catch (const std::runtime_error& error) {
        std::cout << "not launched: " << error.what() << "\\n";
    }
    for (int step = 1; step < 3; ++step) {
        ranks.launch([&](uint32_t rank) { call(landed.handle(rank), rank, step); });
        synchronize(nullptr);
        for (uint32_t rank = 0; rank < ranks.count(); ++rank) {
            const std::vector<float> found = y[rank].to_host();
            const bool same = found == std::vector<float>(n, static_cast<float>((rank + 2) % 3));
            std::cout << "call " << step << ", rank " << rank << ": " << (same ? "right" : "wrong") << "\\n";
        }
    }
    DeviceMemory<float> own(n, "own");
    ranks.launch([&](uint32_t rank) { call(own.handle(), rank, 3); });
    try {
        synchronize(nullptr);
    } catch (const std::runtime_error& error) {
        std::cout << error.what() << "\\n";
    }
}
"""


def test_a_program_launches_on_all_ranks(tmp_path: Path) -> None:
    write(tmp_path, shift=SHIFT)
    assert compiled(compile_kernels(tmp_path, target="sim")) == 1
    folder = tmp_path / "out/targets/ascend/shift"
    program = tmp_path / "program.cpp"
    program.write_text(PROGRAM)
    simulator, ours = simulator_library(), Path(read_manifest.__file__).parent / "include"
    includes = (folder, ours, include_directory(), include_directory() / "host_headers")
    command = [
        *host_compiler(), "-std=c++17", "-Wall", "-Wextra", "-Werror", "-DTILE_ASCEND_SIMULATOR", *(f"-I{each}" for each in includes),
        str(program), str(folder / "n100/shift_n100_kernel.o"), str(simulator),
        f"-Wl,-rpath,{simulator.parent}", "-pthread", "-o", str(tmp_path / "program"),
    ]  # fmt: skip
    subprocess.run(command, check=True)
    told = subprocess.run(
        [tmp_path / "program"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert told[0] == "not launched: no"
    rights = [f"call {step}, rank {rank}: right" for step in (1, 2) for rank in range(3)]
    assert told[1:7] == rights
    assert "not-symmetric" in told[7]


def test_a_device_needs_the_library(
    tmp_path: Path, machine: NpuDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, shift=SHIFT)
    monkeypatch.setenv("SHMEM_HOME_PATH", str(tmp_path))
    done = compile_kernels(tmp_path, "--device", "a2", target="ascend")
    assert done.returncode == 1 and "SHMEM's headers are not found" in done.stderr
    install_shmem(monkeypatch, tmp_path)
    assert compiled(compile_kernels(tmp_path, "--device", "a2", target="ascend")) == 1
    line = machine.command_lines()[-1]
    assert f"-I{tmp_path}/shmem/include" in line and "-lshmem" not in line
