"""`simulate`: arguments of every kind, errors at their line, and nothing a kernel does reaches us."""

from __future__ import annotations

import ctypes
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
import torch
import vendor_headers

from tile_ir import BuildError, CallError, KernelError
from tile_ir.switches import override
from tile_runtime import SimulationError, SimulationResult, simulate
from tile_runtime.cache import KernelCache

EXAMPLES = Path(__file__).parents[2] / "examples" / "ascendc"


@pytest.fixture(scope="module")
def module_cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("sources"))


@pytest.fixture(autouse=True)
def compiled_once(fresh_switches: None, module_cache: str) -> Iterator[None]:
    """Kernels of this module are compiled once, and not once a test."""
    with override(cache_dir=module_cache):
        yield


# One kernel for all parameter types: it writes what it got into a table of doubles.
KINDS = """#include "kernel_operator.h"
using namespace AscendC;
struct Tiling { uint32_t n; float scale; };
enum class Mode : uint8_t { slow = 1, fast = 2 };
using Handle = GM_ADDR;
typedef __gm__ half* Halves;
namespace ops {
template <typename T, int factor>
__global__ __aicore__ void kinds(__gm__ double* out, Handle bytes, Halves halves, __gm__ float* floats,
    __gm__ const Tiling* by_pointer, Tiling by_value, int8_t i8, uint64_t u64, bool flag, Mode mode,
    half h, bfloat16_t b, T typed, double d, int32_t left_out = factor * 2)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    if (GetBlockIdx() != 0) { return; }
    const double values[] = {double(bytes == nullptr ? -1 : bytes[0]), float(halves[1]), floats[1],
        double(by_pointer->n), by_pointer->scale, double(by_value.n), by_value.scale, double(i8), double(u64 >> 32),
        double(flag), double(mode), float(h), float(b), double(typed), d, double(left_out)};
    for (int i = 0; i < 16; ++i) { out[i] = values[i]; }
}
}
"""
TILING = np.dtype([("n", "<u4"), ("scale", "<f4")])


def kinds_arguments() -> dict[str, Any]:
    return {
        "out": np.zeros(16),
        "bytes": np.array([7, 8], np.int32),
        "halves": np.array([1, 2.5], np.float16),
        "floats": torch.tensor([1.0, -3.5]),
        "by_pointer": np.array([(11, 0.25)], TILING),
        "by_value": np.array([(12, 0.5)], TILING)[0],
        "i8": -5, "u64": 3 << 32, "flag": True, "mode": 2, "h": 0.5, "b": 1.5, "typed": 9, "d": 2.25,
    }  # fmt: skip


KINDS_VALUES = [7, 2.5, -3.5, 11, 0.25, 12, 0.5, -5, 3, 1, 2, 0.5, 1.5, 9, 2.25, 6]


def kinds(**changed: Any) -> SimulationResult:
    arguments = {**kinds_arguments(), **changed}
    return simulate(KINDS, "kinds", 2, arguments, template="kinds<int16_t, 3>")


def test_every_kind_of_argument() -> None:
    arguments = kinds_arguments()
    result = kinds(**arguments)
    result.raise_for_error()
    assert arguments["out"].tolist() == KINDS_VALUES
    assert result.outputs["out"] is arguments["out"]
    assert result.error is None and result.text == "" and result.elapsed > 0
    in_order = [*kinds_arguments().values()]
    simulate(KINDS, None, 1, in_order, template="kinds<int16_t, 3>").raise_for_error()
    assert in_order[0].tolist() == KINDS_VALUES


class CTiling(ctypes.Structure):
    _fields_ = (("n", ctypes.c_uint32), ("scale", ctypes.c_float))


@pytest.mark.parametrize(
    ("changed", "index", "expected"),
    [
        ({"bytes": None}, 0, -1),
        ({"bytes": b"\xfe!"}, 0, 254),
        ({"bytes": torch.tensor([1.0], dtype=torch.bfloat16)}, 0, 0x80),
        ({"floats": np.arange(9, dtype=np.float32)[::3]}, 2, 3),
        ({"floats": torch.arange(6.0).reshape(2, 3).T}, 2, 3),
        ({"by_value": CTiling(5, 1.0)}, 5, 5),
        ({"by_value": np.array((6, 1.0), TILING)}, 5, 6),
        ({"by_pointer": CTiling(5, 1.0)}, 3, 5),
        ({"u64": (1 << 64) - 1}, 8, 0xFFFFFFFF),
        ({"i8": np.int8(-128)}, 7, -128),
        ({"h": np.float32(0.25)}, 11, 0.25),
        ({"d": 3}, 14, 3),
        ({"left_out": -1}, 15, -1),
    ],
)
def test_other_values(changed: dict[str, Any], index: int, expected: float) -> None:
    result = kinds(**changed)
    result.raise_for_error()
    assert result.outputs["out"][index] == expected


@pytest.mark.parametrize(
    ("changed", "message", "line"),
    [
        ({"i8": 128}, "`int8_t i8` has 1 bytes and a sign; 128 does not fit", 10),
        ({"u64": -1}, "`uint64_t u64` has 8 bytes and no sign; -1 does not fit", 10),
        ({"u64": 1 << 64}, "over 64 bits", 10),
        ({"i8": 0.5}, "`int8_t i8` is an integer, but a float was given", 10),
        ({"typed": 1 << 15}, "does not fit", 11),
        ({"h": np.zeros(2)}, "`half h` is a number, but memory was given", 11),
        ({"halves": np.zeros(2, np.int16)}, "points to float16, but the array's type is int16", 9),
        ({"floats": np.zeros(2)}, "points to float32, but the array's type is float64", 9),
        ({"floats": 3}, "`__gm__ float * floats` is a pointer, but a number was given", 9),
        ({"by_value": b"123"}, "a struct of 8 bytes passed by value, but 3 were given", 10),
        ({"by_value": 3}, "is a struct passed by value; give its 8 bytes", 10),
        ({"by_pointer": b"1234"}, "points to a struct of 8 bytes, but 4 were given", 10),
        ({"bytes": "text"}, "was given a str", 9),
        ({"bytes": np.array([None])}, "an array of Python objects", 9),
        ({"bytes": np.zeros(2, np.complex64)}, "an array of complex64", 9),
        ({"halfs": 1}, "kinds has no parameter `halfs`", 9),
    ],
)
def test_arguments_that_do_not_fit(changed: dict[str, Any], message: str, line: int) -> None:
    with pytest.raises(CallError) as caught:
        kinds(**changed)
    error = caught.value
    assert message in error.message and error.slug == "kernel-arguments"
    assert error.loc is not None and (error.loc.file, error.loc.line) == ("<source>", line)
    assert KINDS.splitlines()[line - 1].strip() in str(error)


def test_counts() -> None:
    with pytest.raises(CallError, match="takes 14 to 15 arguments"):
        simulate(KINDS, "kinds", 1, [1, 2], template="kinds<int, 3>")
    arguments = kinds_arguments()
    del arguments["d"]
    with pytest.raises(CallError, match="no argument for `double d`"):
        simulate(KINDS, "kinds", 1, arguments, template="kinds<int, 3>")


@pytest.mark.parametrize(
    "option",
    [
        {"check": "all"}, {"soc": "Ascend310"}, {"seed": -1}, {"threads": -1}, {"timeout": -1},
        {"timeout": float("nan")}, {"kernel_type": "AIV"}, {"blocks": -1}, {"memory_limit": -1},
    ],
)  # fmt: skip
def test_options_that_make_no_sense(option: dict[str, Any]) -> None:
    with pytest.raises(KernelError):
        simulate(BAD, "bad", **{"blocks": 1, "args": [np.zeros(4, np.int32), 0], **option})


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
    "new": "keep = (new char[size_t(1) << 44])[3];",
    "memory": "while (true) { char* p = new char[1 << 24]; memset(p, 1, 1 << 24); keep += p[7]; }",
    "smash": "char a[8]; memset(a + keep, 0x41, 4096 + keep); keep += a[3];",
    "heap": "char* p = new char[8]; memset(p, 0x41, 1 << 16); delete[] p; keep += (new char[100])[2];",
    "child": "if (fork() == 0) { sleep(1000); }",
    "prints": "AscendC::printf(\"device %d\\n\", 3); puts(\"host\");",
    "thread": "std::thread([] { *static_cast<volatile int*>(nullptr) = 1; }).join();",
    "deadlock": "if (GetSubBlockIdx() == 0) { CrossCoreWaitFlag(3); }",
}  # fmt: skip
FIRST_LINE = 24
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

extern "C" __global__ __aicore__ void bad(__gm__ int32_t* x, int32_t what)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    GlobalTensor<int32_t> g;
    g.SetGlobalBuffer(x);
    memset(line, 'a', sizeof(line) - 1);
    if (GetBlockIdx() != 0 || g_core() != AIV) { return; }
    g.SetValue(0, 42);
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
    "abort": ("abort", "abort()", True),
    "assertion": ("abort", "Assertion `keep == 77' failed", True),
    "exit": ("exit", "exit code 0", True),
    "_exit": ("exit", "exit code 0", False),
    "quick_exit": ("exit", "exit code 3", False),
    "kill": ("killed", "the system killed the process", False),
    "terminate": ("signal", "SIGTERM", False),
    "divide": ("division-by-zero", "SIGFPE", True),
    "trap": ("illegal-instruction", "SIGILL", True),
    "throw": ("exception", "C++ exception", False),
    "thread": ("segmentation-fault", "null pointer", True),
    "deadlock": ("deadlock", "waits for cross-core flag 3", True),
}


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


@pytest.mark.parametrize("name", ["loop", "sleep", "printing"])
def test_a_kernel_that_never_ends(name: str) -> None:
    begin = time.monotonic()
    fault = misdeed(name, timeout=0.5)[0].error
    assert fault is not None and fault.kind == "time-out" and "0.5 s" in fault.text
    assert (fault.line, fault.core) == (FIRST_LINE + list(MISDEEDS).index(name), "aiv0")
    assert time.monotonic() - begin < 5


def test_a_kernel_that_ignores_signals() -> None:
    fault = misdeed("blocked", timeout=0.3)[0].error
    assert fault is not None and fault.kind == "time-out"


def test_the_limit_is_a_switch() -> None:
    with override(timeout=1):
        fault = simulate(BAD, "bad", 1, [np.zeros(4, np.int32), 16]).error
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
    assert result.text == "device 3\nhost\n"
    assert x[0] == 42


def children() -> set[str]:
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    return set(path.read_text().split())


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many runs, good and bad: no file, no descriptor, no process, and not much time."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    misdeed("nothing")
    descriptors = set(os.listdir("/proc/self/fd"))
    before, cached = children(), sorted(KernelCache(Path(module_files())).root.rglob("*"))
    shared = set(os.listdir("/dev/shm"))
    begin = time.monotonic()
    for _ in range(30):
        for name in ("nothing", "null", "child", "exit"):
            misdeed(name)
    assert time.monotonic() - begin < 30
    assert set(os.listdir("/proc/self/fd")) == descriptors
    assert children() == before
    assert sorted(KernelCache(Path(module_files())).root.rglob("*")) == cached
    assert not list(tmp_path.iterdir()) and set(os.listdir("/dev/shm")) == shared
    assert not runners(), "the process of `child` was ended too"


def module_files() -> str:
    from tile_ir.switches import switch

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


SCALE = """#include "kernel_operator.h"
#include "scale.h"
__global__ __aicore__ void twice(__gm__ float* x, __gm__ float* y)
{
    const int64_t i = AscendC::GetBlockIdx();
    y[i] = x[i] * SCALE + OFFSET;
}
"""


def test_paths_includes_defines_and_an_inferred_kernel_type(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    source, header = tmp_path / "k.cpp", tmp_path / "inside" / "scale.h"
    source.write_text(SCALE)
    header.write_text("#define SCALE 2\n")
    x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)

    def run(**options: Any) -> list[float]:
        given = {"includes": [tmp_path / "inside"], "defines": ["OFFSET=1"], **options}
        simulate(source, None, 8, [x, y], **given).raise_for_error()
        return y.tolist()

    assert run() == [2 * i + 1 for i in range(8)]
    # A changed header or macro is another kernel.
    header.write_text("#define SCALE 3\n")
    assert run() == [3 * i + 1 for i in range(8)]
    assert run(defines=["OFFSET=0"]) == [3 * i for i in range(8)]
    # Of 8 blocks with two vector cores each, twice as many indices reach the array.
    result = simulate(
        str(source), None, 8, [x, y], includes=[tmp_path / "inside"], defines=["OFFSET=0"],
        kernel_type="KERNEL_TYPE_MIX_AIC_1_2",
    )  # fmt: skip
    assert result.error is not None and result.error.kind == "out-of-bounds"
    with pytest.raises(BuildError) as caught:
        simulate(source, None, 8, [x, y])
    error = caught.value
    assert error.loc is not None and (error.loc.file, error.loc.line) == (str(source), 2)
    assert "scale.h" in (error.hint or "")


def test_compile_errors_are_at_the_users_line() -> None:
    with pytest.raises(BuildError) as caught:
        simulate(BAD.replace("g.SetValue(0, 42);", "g.SetValeu(0, 42);"), "bad", 1, [None, 0])
    error = caught.value
    assert error.slug == "compiler-failed"
    assert str(error).startswith("<source>:21:7: error[compiler-failed]: ")
    assert "SetValeu" in str(error).splitlines()[0]


def test_shared_and_overlapping_memory() -> None:
    source = """#include "kernel_operator.h"
    __global__ __aicore__ void next(__gm__ int32_t* x, __gm__ int32_t* y) {
        y[0] = x[0] + 1; x[1] = y[0] + 1; }"""
    x = np.zeros(4, np.int32)
    simulate(source, None, 1, [x, x]).raise_for_error()
    assert x.tolist() == [1, 2, 0, 0]
    with pytest.raises(CallError, match="overlap in part"):
        simulate(source, None, 1, [x, x[1:]])
    simulate(source, None, 1, [x[:2], x[2:]]).raise_for_error()
    assert x.tolist() == [1, 3, 2, 0]
    # What can not be written stays; the result is in `outputs`.
    fixed = np.zeros(4, np.int32)
    fixed.flags.writeable = False
    result = simulate(source, None, 1, [fixed, x])
    assert fixed.tolist() == [0] * 4 and result.outputs["x"].tolist() == [0, 2, 0, 0]
    empty = np.zeros(0, np.int32)
    fault = simulate(source, None, 1, [empty, x]).error
    assert fault is not None and fault.kind == "out-of-bounds" and "has 0 bytes" in fault.text


def test_a_sample_with_host_code_runs() -> None:
    source = """
    #include <vector>
    #include "acl/acl.h"
    #include "kernel_operator.h"
    #ifdef ASCENDC_CPU_DEBUG
    #include "cpu_debug_launch.h"
    #endif
    template <uint32_t n>
    __vector__ __global__ void fill(__gm__ float* z) { for (uint32_t i = 0; i < n; ++i) { z[i] = i; } }
    #ifndef __CCE_KT_TEST__
    void fill_do(uint32_t blocks, void* stream, float* z) { fill<4><<<blocks, nullptr, stream>>>(z); }
    #endif
    std::vector<float> run() {
        aclrtStream stream = nullptr;
        fill<4><<<1, nullptr, stream>>>(nullptr);
        return {};
    }
    int32_t main() { return run().size(); }
    """
    z = np.zeros(4, np.float32)
    simulate(source, "fill", 1, [z], template="fill<4>").raise_for_error()
    assert z.tolist() == [0, 1, 2, 3]


def random_matrix(seed: int, *shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float16)


@pytest.mark.parametrize("check", ["off", "device"])
@pytest.mark.parametrize("elements", [1, 999, 40000])
def test_vector_add(elements: int, check: str) -> None:
    x, y = random_matrix(1, elements), random_matrix(2, elements)
    z = np.full(elements, np.nan, np.float16)
    tiling = np.array((elements, 1000), [("elements", "<u4"), ("tile", "<u4")])
    for seed in range(4):
        result = simulate(
            EXAMPLES / "vector_add.cpp", "add", 8, [x, y, z, tiling], seed=seed, check=check
        )
        result.raise_for_error()
        assert (z == x + y).all()


@pytest.mark.parametrize("seed", range(3))
def test_scale_add_and_maximum(seed: int) -> None:
    source = EXAMPLES / "vector_add.cpp"
    x, y = (random_matrix(i, 9999).astype(np.float32) for i in (1, 2))
    z = np.full(9999, np.nan, np.float32)
    result = simulate(
        source, None, 3, [x, y, z, 9999], template="scale_add<float, 1024>", seed=seed
    )
    result.raise_for_error()
    assert np.array_equal(z, 2 * x + y)
    largest = torch.zeros(8)
    simulate(source, "maximum", 1, [x, largest], seed=seed).raise_for_error()
    assert (largest == x[:64].max()).all()


@pytest.mark.parametrize("seed", range(3))
def test_matmul_and_mix(seed: int) -> None:
    a, b = random_matrix(1, 256, 128), random_matrix(2, 128, 384)
    expected = a.astype(np.float32) @ b.astype(np.float32)
    shape = np.array([256, 384, 128], np.uint32).tobytes()
    c = np.full((256, 384), np.nan, np.float32)
    simulate(EXAMPLES / "matmul.cpp", None, 4, [a, b, c, shape], seed=seed).raise_for_error()
    assert np.allclose(c, expected, atol=1e-4)
    d = np.full((256, 384), np.nan, np.float16)
    arguments = {
        "a": a,
        "b": b,
        "d": d,
        "workspace": np.zeros((5, 64, 64), np.float32),
        "shape": shape,
    }
    simulate(EXAMPLES / "matmul_relu.cpp", None, 5, arguments, seed=seed).raise_for_error()
    assert np.allclose(d, np.maximum(expected, 0), atol=1e-2)


@pytest.mark.vendor
@pytest.mark.parametrize("name", ["vector_add", "matmul", "matmul_relu"])
def test_samples_type_check_with_cann(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.cpp"
    text = (EXAMPLES / f"{name}.cpp").read_text()
    if name == "vector_add":  # a template is checked when it is made concrete
        text += (
            "template void scale_add<float, 1024>(GM_ADDR, GM_ADDR, GM_ADDR, uint32_t, float);\n"
        )
        text += "template void scale_add<half, 64>(GM_ADDR, GM_ADDR, GM_ADDR, uint32_t, float);\n"
    path.write_text(text)
    vendor_headers.type_check(path, [EXAMPLES])
