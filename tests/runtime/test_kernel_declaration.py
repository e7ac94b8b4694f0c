"""Kernels are found in Ascend C text: names, parameters, qualifiers, positions; host code is left out."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kept_cases import examples

from tile_ir import KernelError
from tile_runtime.source_kernels.cxx_text import Lines, tokens_of, without_comments
from tile_runtime.source_kernels.declaration import find_kernel, kernels_of
from tile_runtime.source_kernels.host_code import without_host_code
from tile_runtime.source_kernels.kernel_type import kernel_type


def only(text: str, kernel: str | None = None, template: str | None = None):
    return find_kernel(text, "k.cpp", kernel, template)


def parameters(text: str) -> list[tuple[str, str, str | None]]:
    return [(p.type, p.name, p.default) for p in only(text)[0].parameters]


HEADS = {
    'extern "C" __global__ __aicore__ void k(': None,
    "__global__ __aicore__ void k(": None,
    "__aicore__ __global__ void k(": None,
    'extern "C"\n__global__\n__aicore__\nvoid\nk\n(': None,
    "inline static __global__ __aicore__ void k(": None,
    "__attribute__((used)) __global__ __aicore__ void k(": None,
    "__global__ __launch_bounds__(512) void k(": None,
    "__vector__ __global__ __aicore__ void k(": "KERNEL_TYPE_AIV_ONLY",
    "__global__ __cube__ void k(": "KERNEL_TYPE_AIC_ONLY",
    "__global__ __mix__(1, 2) void k(": "KERNEL_TYPE_MIX_AIC_1_2",
    "__mix__(1,1) __schedmode__(1) __global__ void k(": "KERNEL_TYPE_MIX_AIC_1_1",
    "__global__ __mix__(1, 0) __aicore__ void k(": "KERNEL_TYPE_MIX_AIC_1_0",
    "__global__ __mix__(0, 1) __aicore__ void k(": "KERNEL_TYPE_MIX_AIV_1_0",
}


@pytest.mark.parametrize("head", HEADS)
def test_qualifiers(head: str) -> None:
    kernel, expression = only(head + "GM_ADDR x, int32_t n) { Add(x); }")
    assert (kernel.name, expression) == ("k", "::k")
    assert [p.name for p in kernel.parameters] == ["x", "n"]
    assert kernel.type == HEADS[head]


PARAMETERS = {
    "": [],
    "void": [],
    "GM_ADDR x": [("GM_ADDR", "x", None)],
    "__gm__ uint8_t *x": [("__gm__ uint8_t *", "x", None)],
    "__gm__ half* __restrict__ x": [("__gm__ half * __restrict__", "x", None)],
    "const Tiling tiling": [("const Tiling", "tiling", None)],
    "ns::Tiling<half, 3> t, int n": [("ns :: Tiling < half , 3 >", "t", None), ("int", "n", None)],
    "unsigned int": [("unsigned int", "argument0", None)],
    "GM_ADDR, float": [("GM_ADDR", "argument0", None), ("float", "argument1", None)],
    "int n = f(1, 2), bool b = {true}": [("int", "n", "f(1, 2)"), ("bool", "b", "{true}")],
    "GM_ADDR /* in, first */ x, // out\n GM_ADDR z": [("GM_ADDR", "x", None), ("GM_ADDR", "z", None)],
    "uint64_t n = sizeof(Pair<int, 2>)": [("uint64_t", "n", "sizeof(Pair<int, 2>)")],
}  # fmt: skip


@pytest.mark.parametrize("text", PARAMETERS)
def test_parameters(text: str) -> None:
    assert parameters(f"__global__ __aicore__ void k({text}) {{}}") == PARAMETERS[text]


def test_what_looks_like_a_kernel_and_is_none() -> None:
    text = r"""
    // __global__ __aicore__ void a(GM_ADDR x) {}
    /* __global__ __aicore__ void b(GM_ADDR x) {} */
    #define KERNEL __global__ __aicore__ void c(GM_ADDR x) {}
    const char* s = "__global__ void d() {}", q = '"';
    const char* raw = R"x(__global__ void e() { )x";
    constexpr int big = 1'000'000;
    class F { __global__ void f(); };
    __global__ __aicore__ void real(GM_ADDR x) { if (1) { } }
    """
    assert [k.qualified for k in kernels_of(text, "k.cpp")] == ["real"]


def test_scopes_and_templates() -> None:
    text = """
    namespace a { inline namespace b { namespace { struct S { int x; };
      template <typename T, int N = (3 > 2)> __global__ __aicore__ void k(GM_ADDR x, T alpha) {}
    } } }
    namespace c::d { extern "C" { __global__ __aicore__ void k2(GM_ADDR x) {} } }
    """
    assert only(text, "k2")[1] == "::c::d::k2"
    assert only(text, "d::k2")[1] == "::c::d::k2"
    assert only(text, "a::b::k", "k<half, 64>")[1] == "::a::b::k<half, 64>"
    assert only(text, "k<half, 64>")[1] == "::a::b::k<half, 64>"
    assert only(text, None, "k<half>")[1] == "::a::b::k<half>"


def test_declaration_and_definition_are_one_kernel() -> None:
    text = "__global__ void k(int n, int m = 3);\n__global__ void k(int n, int m) {}"
    kernel = only(text)[0]
    assert kernel.parameters[1].default == "3"


ERRORS = {
    "void k(GM_ADDR x) {}": ("no-such-kernel", "k", 1, 6),
    "": ("no-such-kernel", "k", 1, 1),
    "__global__ void other() {}": ("no-such-kernel", "k", 1, 1),
    "__global__ void k(int n) {}\n__global__ void k(float f) {}": ("no-such-kernel", "k", 2, 17),
    "\n__global__ void k() {}\n__global__ void m() {}": ("no-such-kernel", None, 3, 17),
    "template <int n>\n__global__ void k() {}": ("kernel-template", "k", 2, 17),
    "__global__ void k() {}": ("kernel-template", "k<3>", 1, 17),
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors_have_a_position(text: str) -> None:
    slug, kernel, line, column = ERRORS[text]
    with pytest.raises(KernelError) as caught:
        only(text, kernel)
    assert caught.value.slug == slug
    assert caught.value.loc is not None
    assert (caught.value.loc.line, caught.value.loc.column) == (line, column)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("Add(z, x, y, 8);", "KERNEL_TYPE_AIV_ONLY"),
        ("Mmad(c, a, b, p);", "KERNEL_TYPE_AIC_ONLY"),
        ("if ASCEND_IS_AIC { Mmad(c, a, b, p); } if ASCEND_IS_AIV { }", "KERNEL_TYPE_MIX_AIC_1_2"),
        ("CrossCoreWaitFlag(3);", "KERNEL_TYPE_MIX_AIC_1_2"),
        ("SyncAll();", "KERNEL_TYPE_MIX_AIV_1_0"),
        ("SyncAll(gm, ub, 8);", "KERNEL_TYPE_AIV_ONLY"),
        ("Mmad(c, a, b, p); SyncAll<true>( );", "KERNEL_TYPE_MIX_AIC_1_0"),
        ("KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1); Mmad();", "KERNEL_TYPE_MIX_AIC_1_1"),
        ("\n#if A\nKERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);\n#endif\n", None),
        ("/* KERNEL_TYPE_AIV_ONLY */ KERNEL_TASK_TYPE_DEFAULT(TYPE);", None),
        (
            "if (a) { KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY); } else { "
            "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY); }",
            None,
        ),
    ],
)
def test_kernel_type_is_inferred(body: str, expected: str | None) -> None:
    text = f"__global__ __aicore__ void k() {{ {body} }} // Mmad(ASCEND_IS_AIV)\n"
    others = "__global__ void k2() { KERNEL_TASK_TYPE_DEFAULT(0); Mmad(); CrossCoreWaitFlag(1); }"
    assert kernel_type(text + others, "k", []) == expected


def test_a_qualifier_becomes_a_mix_type_where_cores_synchronise() -> None:
    one, two = "KERNEL_TYPE_AIV_ONLY", "KERNEL_TYPE_MIX_AIV_1_0"
    for body, expected in (("Add();", one), ("SyncAll();", two), ("CrossCoreSetFlag<0>(1);", two)):
        text = f"__global__ __vector__ void k() {{ {body} }}"
        assert kernel_type(text, "k", [], one) == expected
    assert (
        kernel_type("SyncAll();", "k", [], "KERNEL_TYPE_MIX_AIC_1_2") == "KERNEL_TYPE_MIX_AIC_1_2"
    )


def test_headers_tell_the_kernel_type_too(tmp_path: Path) -> None:
    text = '#include "kernel_operator.h"\n#include "a.h"\n__global__ void k() { go(); }'
    (tmp_path / "a.h").write_text('#include "a.h"\n#include "inside/b.h"\n')
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "b.h").write_text("void go() { Mmad(); }")
    assert kernel_type(text, "k", []) == "KERNEL_TYPE_AIV_ONLY"
    assert kernel_type(text, "k", [tmp_path]) == "KERNEL_TYPE_AIC_ONLY"


HOST = """#include "acl/acl.h"
__global__ __aicore__ void k(GM_ADDR x) { int aclNothing = 1; }
int plain(int n) { return n; }
void run(uint8_t* x)
{
    k<<<8, nullptr, nullptr>>>(x);
}
namespace n { void indirect() { run(nullptr); } }
int32_t main(int argc, char** argv) { n::indirect(); }
"""


def test_host_code_is_left_out_and_lines_stay() -> None:
    left = without_host_code(HOST)
    assert len(left) == len(HOST) and left.count("\n") == HOST.count("\n")
    assert "<<<" not in left and "indirect" not in left and "main" not in left
    assert "int plain(int n) { return n; }" in left and "aclNothing" in left


@settings(max_examples=examples(200))
@given(st.text(alphabet=st.sampled_from("ab{}()<>;:,#\"'/*\\\n =_global__void R1"), max_size=80))
@example(",}{")
def test_any_text_is_read(text: str) -> None:
    """No text hangs or breaks the reader; blanking keeps every place."""
    blank = without_comments(text)
    assert len(blank) == len(text)
    assert [i for i, c in enumerate(blank) if c == "\n"] == [
        i for i, c in enumerate(text) if c == "\n"
    ]
    for token in tokens_of(text):
        assert text.startswith(token.text, token.start)
        line, column = Lines(text).place(token.start)
        assert text.split("\n")[line - 1][column - 1 :].startswith(token.text.split("\n")[0])
    kernels_of(text, "k.cpp")
    kernels_of(f"__global__ void k({text}", "k.cpp")
    kernels_of(f"{text} __global__ {text}", "k.cpp")
    without_host_code(text + " main() {")
