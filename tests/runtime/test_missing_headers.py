"""Host code that no library is here for, in the kernel's namespace and beside it: left out, and
headers that are missing: a warning if the kernel does not need them, an error at their line if so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tile_ir import BuildError
from tile_runtime import simulate

SOURCE = """#include "kernel_operator.h"
HEADERS
namespace own {
using namespace AscendC;
BEFORE
extern "C" __global__ __aicore__ void k(GM_ADDR out, uint32_t n)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GlobalTensor<int32_t> g;
    g.SetGlobalBuffer((__gm__ int32_t*)out);
    g.SetValue(0, VALUE);
    DataCacheCleanAndInvalid<int32_t, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(g);
}
BEHIND
}
LAST
"""
LAUNCH = "k<<<1, nullptr, stream>>>(out, 1);"


def text_of(
    headers: str = "", before: str = "", value: str = "7", behind: str = "", last: str = ""
) -> str:
    parts = {"HEADERS": headers, "BEFORE": before, "VALUE": value, "BEHIND": behind, "LAST": last}
    text = SOURCE
    for word, part in parts.items():
        text = text.replace(word, part)
    return text


def run(source: str | Path) -> list[str]:
    """The slugs of the warnings of a run that is right."""
    out = np.zeros(16, np.int32)
    result = simulate(source, "k", 1, [out, 1], check="strict")
    result.raise_for_error()
    assert out[0] == 7
    return [w.slug for w in result.warnings]


HOST = {
    "launch": text_of(behind=f"void launch(void* stream, uint8_t* out) {{ {LAUNCH} }}"),
    "standard library": text_of(
        "#include <vector>", behind="int count(std::vector<int> v) { return v.size(); }"
    ),
    "runtime": text_of(
        '#include "acl/acl.h"',
        behind=f"int run(uint8_t* out) {{ aclrtStream stream; aclrtCreateStream(&stream); {LAUNCH} return 0; }}",
        last="int main() { return own::run(nullptr); }",
    ),
    "runtime without its header": text_of(
        behind=f"int run(uint8_t* out) {{ aclrtStream stream; aclrtCreateStream(&stream); {LAUNCH} return 0; }}",
        last="int main() { return own::run(nullptr); }",
    ),
    "class": text_of(
        before=f"class Runner {{ int run(); }};\nint Runner::run() {{ {LAUNCH} return 0; }}"
    ),
    "marks of a profiler": text_of(
        '#include "ms_tools_ext.h"', last='int main() { mstxRangeStartA("a", nullptr); return 0; }'
    ),
    "tiling": text_of(
        '#include "tiling/platform/platform_ascendc.h"',
        behind="auto cores() { return platform_ascendc::PlatformAscendCManager::GetInstance()->GetCoreNumAiv(); }",
    ),
    "test": text_of("#include <gtest/gtest.h>", last="TEST(a, b) { EXPECT_EQ(1, 1); }"),
    "no header at all": text_of(behind="some::Core cores(some::Platform& p) { return p.cores(); }"),
    "the kernel's struct": text_of(
        before="struct Tiling { uint32_t a; };\nTiling* tiling(uint32_t n) { return host::make<Tiling>(n); }",
        value="(int32_t)(Tiling{7}.a)",
    ),
}


@pytest.mark.parametrize("name", HOST)
def test_host_code_is_left_out(name: str) -> None:
    assert run(HOST[name]) == []


def test_a_header_that_only_the_host_needs(tmp_path: Path) -> None:
    (tmp_path / "files.h").write_text(
        '#include "missing_too.h"\ninline Missing* read() { return nullptr; }\n'
    )
    source = tmp_path / "k.cpp"
    headers = '#include "missing.h"\n#include "files.h"'
    source.write_text(
        text_of(headers, behind="int load(uint8_t* p) { return ReadFile(3, p) + !read(); }")
    )
    out = np.zeros(16, np.int32)
    result = simulate(source, "k", 1, [out, 1])
    assert out[0] == 7 and result.error is None
    told = [
        (w.slug, w.severity, w.loc.line if w.loc else 0, w.message.split()[0])
        for w in result.warnings
    ]
    left_out = ("header-left-out", "warning")
    assert told == [(*left_out, 2, '"missing.h"'), (*left_out, 3, '"files.h"')]
    (tmp_path / "missing.h").write_text("inline int ReadFile(int, void*) { return 0; }")
    (tmp_path / "missing_too.h").write_text("struct Missing;")
    assert run(source) == []


@pytest.mark.parametrize(
    ("headers", "value", "line"),
    [
        ('#include "helper.h"', "helper(7)", 2),
        ('#include "sizes.h"', "SIZE", 2),
        ('#include "acl/acl.h"\n#include <sub/helper.h>', "helper<int>(7)", 3),
    ],
)
@pytest.mark.parametrize("host", ["", "int main() { aclInit(nullptr); return 0; }"])
def test_a_header_that_the_kernel_needs(headers: str, value: str, line: int, host: str) -> None:
    with pytest.raises(BuildError) as caught:
        run(text_of(headers, value=value, last=host))
    error = caught.value
    assert error.slug == "no-such-header" and error.loc is not None
    assert error.loc.line == line
    assert "there is no header " in str(error) and "(includes=, -I)" in (error.hint or "")


def test_device_code_that_does_not_compile_is_an_error() -> None:
    """Though the kernel does not use it."""
    with pytest.raises(BuildError) as caught:
        run(text_of(before="__aicore__ inline int unused() { return missing; }"))
    assert caught.value.slug == "compiler-failed"
    assert caught.value.loc is not None and caught.value.loc.line == 5


def test_the_kernel_itself_does_not_compile() -> None:
    host = "int main() { unknown(); return 0; }"
    for value in ("missing", "AscendC::Missing()"):
        with pytest.raises(BuildError) as caught:
            run(text_of(value=value, last=host))
        assert caught.value.slug == "compiler-failed"
