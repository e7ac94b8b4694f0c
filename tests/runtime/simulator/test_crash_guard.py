"""What a kernel does to its process is an error of its launch: signals and loops without an end. The
launches run in a process of their own, which has to live."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tile_codegen_ascendc import DEVICE_HEADER_DIR
from tile_runtime.devices.compile_host import FLAGS, find_compiler
from tile_runtime.simulator.build_simulator import include_directory

KERNEL = """
#include "kernel_operator.h"
#include "tile_device.h"
#include <cstdlib>
static volatile int zero = 0;
__attribute__((noinline)) int deep(int n)
{
    volatile char big[512];
    big[n % 512] = 1;
    return n > 100000000 ? 0 : deep(n + 1) + big[3];
}
extern "C" __global__ __aicore__ void crash_kernel(GM_ADDR x, int64_t how, uint64_t)
{
    AscendC::TPipe pipe;
    AscendC::GlobalTensor<int32_t> g;
    g.SetGlobalBuffer((__gm__ int32_t*)x);
    g.SetValue(0, 5);
    switch (how) {
        case 1: g.SetValue(1, 7 / zero); break;
        case 2: *(volatile int*)(uintptr_t)zero = 3; break;
        case 3: g.SetValue(1, deep(0)); break;
        case 4: __builtin_trap(); break;
        case 5: abort(); break;
        case 6: for (volatile int v = 0; zero == 0; v = v + 1) {} break;
        case 7: g.SetValue(1, INT32_MIN / (zero - 1)); break;
        default: break;
    }
}
extern "C" void call(uint8_t* x, int64_t how, void* stream)
{
    TILE_LAUNCH(crash_kernel, 4u, stream, x, how, 0ull);
}
extern "C" __attribute__((visibility("default"))) void tile_entry(void** args, void* stream)
{
    call(*(uint8_t**)args[0], *(int64_t*)args[1], stream);
}
"""
SCRIPT = """
import faulthandler, json, sys
import numpy as np
from tile_runtime.launcher.native import launcher
faulthandler.enable()
kernel = launcher().Kernel(sys.argv[1], "tile_entry", ["ptr", "i64"], ["x", "how"])
ended = []
for threads in (1, 2):
    kernel.set_options(checks=1, threads=threads, timeout=0.3)
    for how in (0, 1, 0, 2, 3, 4, 5, 6, 7, 3, 0):
        x = np.zeros(64, np.int32)
        error, _ = kernel.run((x.ctypes.data, how), (x.nbytes, 0))
        ended.append("" if error is None else f"{error.kind} {error.line > 0}")
print(json.dumps(ended))
"""


@pytest.mark.whole
def test_signals_and_endless_loops_are_errors_of_the_launch(tmp_path: Path) -> None:
    source, library = tmp_path / "crash.cpp", tmp_path / "crash.so"
    source.write_text(KERNEL)
    folders = [f"-I{include_directory()}", f"-I{DEVICE_HEADER_DIR}"]
    command = [*find_compiler(), *FLAGS, "-w", *folders, str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(library)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    kinds = [
        "", "division-by-zero", "", "segmentation-fault", "stack-overflow", "illegal-instruction",
        "abort", "time-out", "division-by-zero", "stack-overflow", "",
    ]  # fmt: skip
    assert json.loads(done.stdout) == [k and f"{k} True" for k in kinds] * 2
