"""Names of a variant in an emitted source: tokens, and only those that are meant."""

from __future__ import annotations

import re

import pytest

from tile_ir import BuildError
from tile_runtime.ahead_of_time.entry_symbols import Parameter, abi_of, with_variant

SOURCE = """// call call(), k_kernel
#define call_it 1
namespace n { void k_kernel_tiling_of() {} }
extern "C" __global__ __aicore__ void k_kernel(GM_ADDR x, uint64_t fftsAddr) { auto c = "call"; }
void k_kernel_tiling(int* a) { a[0] = 1; }
void helper() { o.call(); p->call(); n::call(); recall(); }
extern "C" void call(uint8_t* x_handle, const   float  & f, int64_t n, aclrtStream stream) {
  k_kernel_tiling(nullptr);
  k_kernel<<<4, nullptr, stream>>>(x_handle);
}
"""


def test_tokens_are_renamed() -> None:
    found = with_variant(SOURCE, "call", "rope__v_call", "v")
    assert found == (
        SOURCE.replace("void call(", "void rope__v_call(")
        .replace("void k_kernel(", "void k_kernel__v(")
        .replace("k_kernel<<<", "k_kernel__v<<<")
        .replace("void k_kernel_tiling(", "void k_kernel_tiling__v(")
        .replace("  k_kernel_tiling(", "  k_kernel_tiling__v(")
    )


def test_abi() -> None:
    found = abi_of(with_variant(SOURCE, "call", "e", "v"), "e")
    assert found.return_type == "void"
    assert found.parameters == (
        Parameter("uint8_t*", "x_handle"),
        Parameter("const float&", "f"),
        Parameter("int64_t", "n"),
        Parameter("aclrtStream", "stream"),
    )
    assert abi_of('extern "C" int f(void) { return 1; }', "f").parameters == ()


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("void other() {}", "defines no"),
        ('extern "C" void call(int a);', "defines no"),
        ("namespace n { void call(int a) {} }", "defines no"),
    ],
)
def test_no_entry(source: str, told: str) -> None:
    with pytest.raises(BuildError, match=re.escape(told)):
        with_variant(source, "call", "e", "v")


@pytest.mark.parametrize("parameters", ["int", "int (*f)(int)", "int a, float"])
def test_parameters_that_cannot_be_read(parameters: str) -> None:
    with pytest.raises(BuildError, match="parameter of `f`"):
        abi_of(f'extern "C" void f({parameters}) {{}}', "f")
