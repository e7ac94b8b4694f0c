"""Cross-core sets that no wait consumes, and waits that no set ends, with the line of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_set import KernelSet, SimulatorError

OFF, DEVICE, STRICT = 0, 1, 2
LEVELS = (OFF, DEVICE, STRICT)
KERNELS = KernelSet()
FIRST = "GetSubBlockIdx() == 0"
# name: kernel, kernel type, words of the error. `// here` marks the line of the set.
LEFT: dict[str, tuple[str, str | None, str]] = {
    "cube_sets": (
        "if ASCEND_IS_AIC { CrossCoreSetFlag<2, PIPE_FIX>(1); // here\n}",
        None, "counter 1 is still 1 when the kernel ends",
    ),
    "one_set_too_many": (
        """if ASCEND_IS_AIC { CrossCoreSetFlag<2, PIPE_FIX>(1);
        CrossCoreSetFlag<2, PIPE_FIX>(1); // here
        }
        if ASCEND_IS_AIV { CrossCoreWaitFlag(1); }""",
        None, "counter 1 is still 1 when the kernel ends",
    ),
    "half_of_mode_2": (
        f"""if ASCEND_IS_AIV {{ if ({FIRST}) {{
        CrossCoreSetFlag<2, PIPE_MTE3>(3); // here
        }} }}""",
        None, "aiv0 sets cross-core flag 3 with mode 2 more often than aiv1: the counter of the cube core rises only",
    ),
    "half_of_mode_1": (
        f"""if ASCEND_IS_AIV {{ if (!({FIRST})) {{
        CrossCoreSetFlag<1, PIPE_MTE3>(4); // here
        }} }}""",
        None, "aiv1 sets cross-core flag 4 with mode 1 more often than aiv0",
    ),
    "one_block_of_mode_0": (
        """if (GetBlockIdx() == 0) {
        CrossCoreSetFlag<0, PIPE_MTE3>(5); // here
        }""",
        "KERNEL_TYPE_MIX_AIV_1_0",
        "aiv0 sets cross-core flag 5 with mode 0, but not every vector core of the launch does",
    ),
    "nobody_waits_for_mode_0": (
        "CrossCoreSetFlag<0, PIPE_MTE3>(5); // here",
        "KERNEL_TYPE_MIX_AIV_1_0", "counter 5 is still 1 when the kernel ends",
    ),
    "a_second_round_of_mode_0": (
        """CrossCoreSetFlag<0, PIPE_MTE3>(5); CrossCoreWaitFlag(5);
        if (GetBlockIdx() == 1) {
        CrossCoreSetFlag<0, PIPE_MTE3>(5); // here
        }""",
        "KERNEL_TYPE_MIX_AIV_1_0", "with mode 0, but not every vector core",
    ),
}  # fmt: skip
# The same with what was missing.
CLEAN = {
    "cube_sets": "if ASCEND_IS_AIC { CrossCoreSetFlag<2, PIPE_FIX>(1); } else { CrossCoreWaitFlag(1); }",
    "one_set_too_many": (
        "if ASCEND_IS_AIC { CrossCoreSetFlag<2, PIPE_FIX>(1); CrossCoreSetFlag<2, PIPE_FIX>(1); }"
        "if ASCEND_IS_AIV { CrossCoreWaitFlag(1); CrossCoreWaitFlag(1); }"
    ),
    "half_of_mode_2": (
        "if ASCEND_IS_AIV { CrossCoreSetFlag<2, PIPE_MTE3>(3); } else { CrossCoreWaitFlag(3); }"
    ),
    "half_of_mode_1": (
        "if ASCEND_IS_AIV { CrossCoreSetFlag<1, PIPE_MTE3>(4); CrossCoreWaitFlag(4); }"
    ),
    "one_block_of_mode_0": "CrossCoreSetFlag<0, PIPE_MTE3>(5); CrossCoreWaitFlag(5);",
    "nobody_waits_for_mode_0": "CrossCoreSetFlag<0, PIPE_MTE3>(5); CrossCoreWaitFlag(5);",
    "a_second_round_of_mode_0": (
        "for (int i = 0; i < 2; ++i) { CrossCoreSetFlag<0, PIPE_MTE3>(5); CrossCoreWaitFlag(5); }"
    ),
}
for _name, (_body, _kind, _) in LEFT.items():
    KERNELS.add(_name, "GM_ADDR d", _body, _kind)
    KERNELS.add(f"clean_{_name}", "GM_ADDR d", CLEAN[_name], _kind)


def line_of(name: str, mark: str = "// here") -> int:
    """The line of the mark in the kernel of that name."""
    lines = KERNELS.source().splitlines()
    start = next(i for i, line in enumerate(lines) if f"void {name}(" in line)
    return next(i for i in range(start, len(lines)) if mark in lines[i]) + 1


def found(name: str, **options: Any) -> list[Any]:
    """The errors of a run, in order."""
    try:
        KERNELS.run(name, np.zeros(4096, np.int32), **{"blocks": 2, **options})
    except SimulatorError as error:
        return [error.fault, *KERNELS.others(name)]
    return []


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", LEFT)
def test_a_set_without_a_wait(name: str, seed: int, threads: int) -> None:
    options: dict[str, Any] = {"blocks": 2, "seed": seed, "threads": threads}
    d = np.zeros(64, np.int32)
    fault = KERNELS.fault(name, d, checks=STRICT, **options)
    assert fault.kind == "flag-left-set" and LEFT[name][2] in fault.text, fault
    assert fault.line == line_of(name) and fault.hint and "CrossCore" in fault.api, fault
    (warning,) = KERNELS.warnings(name, d, checks=DEVICE, **options)
    assert (warning.kind, warning.text, warning.line) == (fault.kind, fault.text, fault.line)
    assert not KERNELS.warnings(name, d, checks=OFF, **options)
    assert not KERNELS.warnings(f"clean_{name}", d, checks=DEVICE, **options)
    assert not found(f"clean_{name}", checks=STRICT, seed=seed, threads=threads)


KERNELS.add(
    "beside_a_race", "GM_ADDR d",
    """TPipe pipe; TBuf<TPosition::VECCALC> buffer; pipe.InitBuffer(buffer, 64);
    LocalTensor<int32_t> t = buffer.Get<int32_t>(); GlobalTensor<int32_t> g; g.SetGlobalBuffer((__gm__ int32_t*)d);
    Duplicate(t, int32_t(GetBlockIdx()), 16); PipeBarrier<PIPE_ALL>();
    DataCopy(g, t, 16);
    CrossCoreSetFlag<0, PIPE_MTE3>(5); // here""",
    "KERNEL_TYPE_MIX_AIV_1_0",
)  # fmt: skip


def test_it_hides_no_race_of_two_blocks() -> None:
    assert [fault.kind for fault in found("beside_a_race", checks=STRICT)] == [
        "flag-left-set",
        "race",
    ]
    assert [fault.kind for fault in found("beside_a_race", checks=DEVICE)] == ["race"]
    assert [fault.kind for fault in found("beside_a_race", checks=STRICT, first=True)] == [
        "flag-left-set"
    ]


KERNELS.add("cube_waits", "GM_ADDR d", "if ASCEND_IS_AIC { CrossCoreWaitFlag(2); // here\n}", None)
KERNELS.add(
    "cube_waits_for_both", "GM_ADDR d",
    f"""if ASCEND_IS_AIV {{ if ({FIRST}) {{
    CrossCoreSetFlag<2, PIPE_MTE3>(2); // set
    }} }} else {{
    CrossCoreWaitFlag(2); // here
    }}""",
    None,
)  # fmt: skip


@pytest.mark.parametrize("check", LEVELS)
def test_a_wait_without_a_set(check: int) -> None:
    fault = KERNELS.fault("cube_waits", np.zeros(64, np.int32), checks=check)
    assert (fault.kind, fault.line) == ("deadlock", line_of("cube_waits"))
    fault = KERNELS.fault("cube_waits_for_both", np.zeros(64, np.int32), checks=check)
    assert (fault.kind, fault.line) == ("deadlock", line_of("cube_waits_for_both"))
    set_line = line_of("cube_waits_for_both", "// set")
    assert "of the vector cores only aiv0 has set it, at " in fault.text
    assert f":{set_line})" in fault.text
