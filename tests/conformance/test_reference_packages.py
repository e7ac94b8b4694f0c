"""What scripts import in place of packages that need a GPU, and how they are judged."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from forked_python import run_python

from conformance.references.flash_attention import (
    flash_attn_func,
    flash_attn_varlen_func,
    flash_attn_with_kvcache,
    pad_input,
    unpad_input,
)
from conformance.references.timing import timed
from conformance.wide_references import judge_in_float32
from tile_runtime.jit_kernels.profiler import Profiler

TESTS = str(Path(__file__).parents[1])


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    found = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, is_causal=causal, enable_gqa=True
    )
    return found.transpose(1, 2)


def test_of_whole_and_of_varying_lengths() -> None:
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 24, heads, 16) for heads in (4, 2, 2))
    for causal in (False, True):
        torch.testing.assert_close(
            flash_attn_func(q, k, v, causal=causal), attention(q, k, v, causal)
        )
    mask = torch.arange(24)[None] < torch.tensor([[10], [24]])
    (rows, places, begins, most), (ks, *_), (vs, *_) = (unpad_input(x, mask) for x in (q, k, v))
    found = pad_input(
        flash_attn_varlen_func(rows, ks, vs, begins, begins, most, most), places, 2, 24
    )
    torch.testing.assert_close(
        found[0, :10], attention(q[:1, :10], k[:1, :10], v[:1, :10], False)[0]
    )
    torch.testing.assert_close(found[1], attention(q, k, v, False)[1])


def test_of_a_cache_in_pages() -> None:
    torch.manual_seed(0)
    q, pages = torch.randn(2, 1, 4, 16), torch.randn(6, 8, 2, 16)
    table, lengths = torch.tensor([[3, 0, -1], [5, 1, 2]]).int(), torch.tensor([11, 24]).int()
    found = flash_attn_with_kvcache(q, pages, pages, lengths, table)
    for number, length in enumerate((11, 24)):
        rows = pages[table[number].clamp(min=0)].flatten(0, 1)[None, :length]
        torch.testing.assert_close(found[number], attention(q[number, None], rows, rows, False)[0])


IMPORTS = """
import importlib.util, torch
from conformance.reference_packages import provide
provide()
import fla
from fla.ops.common.chunk_o import chunk_fwd_o
from fla.utils import autocast_custom_fwd, contiguous
from FLA_KDA.fla_wy_fast import recompute_w_u_fwd
from conformance.references import wy_representation
assert fla.__file__ and fla.__version__ and chunk_fwd_o.__module__ == "conformance.references.chunk_outputs"
assert recompute_w_u_fwd is wy_representation.recompute_w_u_fwd_of_keys
assert contiguous(autocast_custom_fwd(lambda x: x.stride()))(torch.ones(3, 2).T) == (3, 1)
from flash_attn.bert_padding import pad_input
try:
    import fla.layers
except ModuleNotFoundError as error:
    print(error)
missing = importlib.util.find_spec("triton").loader.__class__.__name__ == "_Provided"
from torch.utils._triton import has_triton_package
assert not (missing and has_triton_package())
import triton
import triton.language as tl
from triton.testing import do_bench
@triton.autotune(configs=[triton.Config({}, num_warps=1)], key=["n"])
@triton.heuristics({"even": lambda args: True})
@triton.jit
def kernel(x, n: tl.constexpr):
    tl.store(x, n)
assert triton.cdiv(7, 2) == 4 and triton.next_power_of_2(5) == 8 and do_bench(lambda: None) >= 0
try:
    missing and kernel[(1,)](torch.ones(1), 1)
except ModuleNotFoundError as error:
    print(error)
"""


def test_modules_take_the_place_of_packages() -> None:
    path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), TESTS])
    done = run_python(["-c", IMPORTS], env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    assert "No module named 'fla.layers'" in done.stdout


def test_a_kernel_may_be_near_the_reference_in_float32() -> None:
    class Doubled:
        """A kernel that sums in float32, with a profiler of its inputs."""

        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            return (x.float() * 1000).sum(-1) + self.error

        error = 0.0

    def reference(x: torch.Tensor) -> torch.Tensor:
        total = torch.zeros_like(x[:, 0])
        for column in (x * 1000).T:
            total = total + column
        return total

    kernel = Doubled()
    torch.manual_seed(0)
    x = torch.rand(8, 60).half()
    as_written = Profiler.assert_allclose
    judge_in_float32()
    try:
        profiler = Profiler(kernel)
        profiler.assert_allclose(reference, [x], rtol=1e-4, atol=1e-4)
        kernel.error = 100.0
        with pytest.raises(AssertionError, match="differs"):
            profiler.assert_allclose(reference, [x], rtol=1e-4, atol=1e-4)
        with pytest.raises(AssertionError, match="differs"):
            profiler.assert_allclose(reference, [x.float()], rtol=1e-4, atol=1e-4)
    finally:
        Profiler.assert_allclose = as_written


def test_timings_take_the_arguments_of_what_they_time() -> None:
    calls: list[tuple[object, ...]] = []
    timed(lambda *arguments, **named: calls.append((*arguments, named)), "x", 2, chunk=3, warmup=1)
    assert calls[0] == ("x", 2, {"chunk": 3})
    calls.clear()
    timed(lambda: calls.append(()), 1, 1, return_mode="median")
    assert calls[0] == ()
