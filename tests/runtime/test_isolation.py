"""Whatever a kernel does wrong is a report: crashes, endless loops, memory, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tile_ir.switches import override, switch
from tile_runtime import SimulationError, SimulationResult, simulate
from tile_runtime.cache.kernel_cache import KernelCache


@pytest.fixture(scope="module")
def module_cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("sources"))


@pytest.fixture(autouse=True)
def compiled_once(fresh_switches: None, module_cache: str) -> Iterator[None]:
    """Kernels of this module are compiled once, and not once a test."""
    with override(cache_dir=module_cache):
        yield


# What a kernel can do wrong, chosen by a number, so that one compilation serves all tests.
MISDEEDS = {
    "nothing": "",
    "api_out_of_bounds": "g.SetValue(1000000, 1);",
    "raw_far": "x[100000] = 1;",
    "raw_before": "x[-2000] = 1;",
    "raw_near": "x[5] = 1;",
    "raw_just_before": "x[-1] = 1;",
    "wild": "*reinterpret_cast<volatile int*>(0x666000) = 1;",
    "null": "*static_cast<volatile int*>(nullptr) = 1;",
    "recursion": "keep = recurse(1);",
    "large_frame": "keep = large_frame();",
    "abort": "abort();",
    "assertion": "assert(keep == 77);",
    "exit": "exit(0);",
    "_exit": "_exit(0);",
    "quick_exit": "quick_exit(3);",
    "kill": "kill(getpid(), SIGKILL);",
    "terminate": "kill(getpid(), SIGTERM);",
    "loop": "while (true) { keep = keep + 1; }",
    "sleep": "while (true) { sleep(100); }",
    "blocked": "sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, nullptr); while (true) { }",
    "printing": "while (true) { AscendC::printf(\"%d\", 1); }",
    "console": "while (true) { fputs(line, stdout); }",
    "divide": "keep = 5 / (keep - keep);",
    "trap": "__builtin_trap();",
    "throw": "throw 3;",
    "no_return": "keep = no_return(keep);",
    "new": "keep = (new char[size_t(1) << 44])[3];",
    "memory": "while (true) { char* p = new char[1 << 24]; memset(p, 1, 1 << 24); keep += p[7]; }",
    "smash": "char a[8]; memset(a + keep, 0x41, 4096 + keep); keep += a[3];",
    "heap": "char* p = new char[8]; memset(p, 0x41, 1 << 16); delete[] p; keep += (new char[100])[2];",
    "child": "if (fork() == 0) { sleep(1000); }",
    "prints": "AscendC::printf(\"device %d\\n\", 3); puts(\"host\");",
    "thread": "std::thread([] { *static_cast<volatile int*>(nullptr) = 1; }).join();",
    "deadlock": "if (GetSubBlockIdx() == 0) { CrossCoreWaitFlag(3); }",
}  # fmt: skip
FIRST_LINE = 27
BAD = (
    """#include "kernel_operator.h"
#include <cassert>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>
using namespace AscendC;
static volatile int keep = 0;
static char line[1 << 16];
__attribute__((noinline)) int recurse(int n) { volatile char a[500]; a[1] = n; return recurse(n + 1) + a[1]; }
__attribute__((noinline)) int large_frame() { char a[3 << 20]; memset(a, keep, 9); return a[keep]; }
__attribute__((noinline)) int no_return(int n) { if (n > 100) { return 1; } }

extern "C" __global__ __aicore__ void bad(__gm__ int32_t* x, int32_t what)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    GlobalTensor<int32_t> g;
    g.SetGlobalBuffer(x);
    memset(line, 'a', sizeof(line) - 1);
    if (GetBlockIdx() != 0 || g_core() != AIV) { return; }
    g.SetValue(0, 42);
    DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(g);
    // The line of every case below is known to the tests.
    switch (what) {
""".replace("g_core()", "tile_simulator::core_type()")
    + "".join(f"    case {i}: {{ {code} }} break;\n" for i, code in enumerate(MISDEEDS.values()))
    + "    }\n}\n"
)


def misdeed(name: str, **options: Any) -> tuple[SimulationResult, np.ndarray[Any, Any]]:
    x = np.zeros(4, np.int32)
    what = list(MISDEEDS).index(name)
    return simulate(BAD, "bad", 1, [x, what], **{"timeout": 20, **options}), x


# name: kind of the fault, a part of its text, whether its line is known
FAULTS = {
    "api_out_of_bounds": ("out-of-bounds", "GM", True),
    "raw_far": ("out-of-bounds", "byte 400000 of GM buffer 'x', which has 16 bytes", True),
    "raw_before": ("out-of-bounds", "byte -8000 of GM buffer 'x'", True),
    "raw_near": ("out-of-bounds", "wrote byte 20 of GM buffer 'x'", False),
    "raw_just_before": ("out-of-bounds", "wrote byte -4 of GM buffer 'x'", False),
    "wild": ("segmentation-fault", "address 0x666000", True),
    "null": ("segmentation-fault", "null pointer", True),
    "recursion": ("stack-overflow", "stack of its core", None),
    "large_frame": ("stack-overflow", "stack of its core", None),
    "abort": ("abort", "abort()", True),
    "assertion": ("abort", "Assertion `keep == 77' failed", True),
    "exit": ("exit", "exit code 0", True),
    "_exit": ("exit", "exit code 0", False),
    "quick_exit": ("exit", "exit code 3", False),
    "kill": ("killed", "the system killed the process", False),
    "terminate": ("signal", "SIGTERM", False),
    "divide": ("division-by-zero", "SIGFPE", True),
    "trap": ("illegal-instruction", "SIGILL", True),
    "no_return": ("illegal-instruction", "that returns no value", None),
    "throw": ("exception", "C++ exception", False),
    "thread": ("segmentation-fault", "null pointer", True),
    "new": ("out-of-memory", "more memory than the run may", False),
    "deadlock": ("deadlock", "waits for cross-core flag 3", True),
}


@pytest.mark.parametrize("name", ["null", "exit", "abort"])
def test_what_was_found_before_a_crash(name: str) -> None:
    """The process takes along what it knows, and is run once more."""
    crash = list(MISDEEDS).index(name)
    text = BAD.replace(
        "    // The line",
        "    GlobalTensor<int32_t> beyond; beyond.SetGlobalBuffer(x, 4); beyond.GetValue(9); // The line",
    )
    x = np.zeros(4, np.int32)
    result = simulate(text, "bad", 1, [x, crash], timeout=20)
    kinds = [error.slug for error in result.errors]
    assert kinds == ["out-of-bounds", FAULTS[name][0]]
    assert result.error is not None and result.error.kind == "out-of-bounds"
    alone = simulate(text, "bad", 1, [x, crash], timeout=20, first=True)
    assert [error.slug for error in alone.errors] == kinds[:1]


@pytest.mark.parametrize("name", FAULTS)
def test_a_crash_is_a_report(name: str) -> None:
    kind, text, has_line = FAULTS[name]
    result, x = misdeed(name)
    fault = result.error
    assert fault is not None and (fault.kind, text in fault.text) == (kind, True), fault
    assert x[0] == 0, "arrays of the caller keep what they had"
    assert result.outputs["x"][0] == 42, "and what the run left can be seen"
    if has_line is not None:
        line = FIRST_LINE + list(MISDEEDS).index(name)
        assert (fault.file, fault.line) == (("<source>", line) if has_line else ("", 0))
    with pytest.raises(SimulationError) as caught:
        result.raise_for_error()
    assert caught.value.slug == kind
    # A number of times and threads later it is the same.
    assert misdeed(name)[0].error == fault


@pytest.mark.parametrize("name", ["null", "recursion", "exit", "loop"])
def test_the_last_call_before_a_crash_is_told(name: str) -> None:
    """The kernel of all misdeeds writes a line back before it chooses one."""
    line = BAD[: BAD.index("DataCacheCleanAndInvalid<")].count("\n") + 1
    result, _ = misdeed(name, timeout=0.5 if name == "loop" else 20)
    assert result.error is not None
    assert (
        f"the last call of this core was DataCacheCleanAndInvalid at <source>:{line}"
        in result.error.text
    )
    with pytest.raises(SimulationError) as caught:
        result.raise_for_error()
    assert f"<source>:{line}:5: note: the earlier DataCacheCleanAndInvalid" in str(caught.value)


@pytest.mark.parametrize("name", ["loop", "sleep", "printing"])
def test_a_kernel_that_never_ends(name: str) -> None:
    fault = misdeed(name, timeout=0.5)[0].error
    assert fault is not None and fault.kind == "time-out" and "0.5 s" in fault.text
    assert (fault.line, fault.core) == (FIRST_LINE + list(MISDEEDS).index(name), "aiv0")


def test_a_kernel_that_ignores_signals() -> None:
    fault = misdeed("blocked", timeout=0.3)[0].error
    assert fault is not None and fault.kind == "time-out"


def test_the_limit_is_a_switch() -> None:
    with override(timeout=1):
        fault = simulate(BAD, "bad", 1, [np.zeros(4, np.int32), list(MISDEEDS).index("loop")]).error
    assert fault is not None and fault.kind == "time-out"


@pytest.mark.parametrize("name", ["new", "memory"])
def test_memory_is_limited(name: str) -> None:
    fault = misdeed(name, memory_limit=300 << 20)[0].error
    assert fault is not None and fault.kind == "out-of-memory"


@pytest.mark.parametrize("limit", [1, 100 << 10, 2 << 20, 20 << 20])
def test_too_little_memory_for_the_simulation(limit: int) -> None:
    for threads in (1, 2):
        fault = misdeed("nothing", memory_limit=limit, threads=threads)[0].error
        assert fault is None or fault.kind == "out-of-memory"


def test_output_is_limited() -> None:
    fault = misdeed("console")[0].error
    assert fault is not None and fault.kind == "too-much-output"


@pytest.mark.parametrize("name", ["smash", "heap"])
def test_destroyed_memory_harms_nobody(name: str) -> None:
    """What is reported depends on what was overwritten; here it matters that we live on."""
    assert misdeed(name)[0] is not None
    assert misdeed("nothing")[0].error is None


def test_printed_text_comes_back() -> None:
    result, x = misdeed("prints")
    assert result.text == "[aiv0 of block 0] device 3\nhost\n"
    assert x[0] == 42


def children() -> set[str]:
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    return set(path.read_text().split())


def shared_memory() -> set[str]:
    """Without semaphores, which are those of other processes on this machine."""
    return {name for name in os.listdir("/dev/shm") if not name.startswith("sem.")}


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many runs, good and bad: no file, no descriptor, no process."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    misdeed("nothing")
    descriptors = set(os.listdir("/proc/self/fd"))
    before, cached = children(), sorted(KernelCache(Path(module_files())).root.rglob("*"))
    shared = shared_memory()
    for _ in range(30):
        for name in ("nothing", "null", "child", "exit"):
            misdeed(name)
    assert set(os.listdir("/proc/self/fd")) == descriptors
    assert children() == before
    assert sorted(KernelCache(Path(module_files())).root.rglob("*")) == cached
    assert not list(tmp_path.iterdir()) and shared_memory() == shared
    assert not runners(), "the process of `child` was ended too"


def module_files() -> str:
    return str(switch("cache_dir"))


def runners() -> list[str]:
    """Command lines of runners whose parent was this process."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"tile_simulator_runner") and words[1:2] == [b"%d" % os.getpid()]:
            found.append(str(words))
    return found


@pytest.mark.times
def test_a_cached_kernel_starts_quickly() -> None:
    misdeed("nothing")
    times = []
    for _ in range(10):
        begin = time.perf_counter()
        misdeed("nothing")
        times.append(time.perf_counter() - begin)
    assert min(times) < 0.05


def test_the_runner_dies_with_its_caller(module_cache: str) -> None:
    misdeed("nothing")
    what = list(MISDEEDS).index("loop")
    script = (
        "import sys, numpy as np; from tile_runtime import simulate\n"
        "from tile_ir.switches import override\n"
        f"with override(cache_dir={module_cache!r}):\n"
        f"    simulate(sys.stdin.read(), 'bad', 1, [np.zeros(4, np.int32), {what}])\n"
    )
    caller = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, text=True)
    assert caller.stdin is not None
    caller.stdin.write(BAD)
    caller.stdin.close()
    runner = wait_for_child(caller.pid)
    caller.kill()
    caller.wait()
    end = time.monotonic() + 10
    while is_running(runner) and time.monotonic() < end:
        time.sleep(0.01)
    assert not is_running(runner)


def wait_for_child(pid: int) -> int:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            try:
                name = Path(f"/proc/{child}/comm").read_text()
            except OSError:
                continue
            if name.startswith("tile_sim"):
                return int(child)
        time.sleep(0.01)
    raise AssertionError("the kernel did not start")


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_interrupting_the_caller_ends_the_run() -> None:
    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    misdeed("nothing")
    old = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            misdeed("loop")
    finally:
        signal.signal(signal.SIGALRM, old)
    assert not runners()
