"""Hints for GPUs change no result, and names that two dialects share mean what the kernel's own says.
Each at `strict`."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime import compile, jit

pytestmark = pytest.mark.usefixtures("strict")

M, N, K = 64, 32, 96


def product(hinted: bool) -> Any:
    """A product with all hints, and without any."""
    none: dict[str, Any] = {}
    of_gemm = {"policy": T.GemmWarpPolicy.FullRow, "k_pack": 2} if hinted else none
    of_copy = {"coalesced_width": 8, "disable_tma": True, "eviction_policy": "evict_first"}
    of_loop = {"coalesced_width": 4, "loop_layout": None, "annotations": {"a": 1}}
    of_atomic = {"memory_order": "relaxed", "use_tma": True}
    # The threads that load, and one group that multiplies.
    of_stages = {"order": [-1, -1, 0], "stage": [-1, -1, 0], "group": [[0], [1], [2]]}
    if not hinted:
        of_copy = of_loop = of_atomic = of_stages = none

    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"),
             C: T.Tensor((M, N), "float32"), D: T.Tensor((N,), "float32")):  # fmt: skip
        with T.Kernel(T.ceildiv(N, 16), M // 32, threads=128) as (bx, by):
            a = T.alloc_shared((32, 32), "float16")
            b = T.alloc_shared((32, 16), "float16")
            c = T.alloc_fragment((32, 16), "float32")
            if hinted:
                T.use_swizzle(panel_size=4, order="column", enable=True)
                T.annotate_layout(
                    {a: T.Layout((32, 32), lambda i, j: (i, j)), b: T.Fragment((32, 16))}
                )
                T.annotate_l2_hit_ratio({B: 0.9})
                T.annotate_min_blocks_per_sm(2)
                T.no_set_max_nreg()
                T.annotate_pass_configs({"tl.disable_tma_lower": True})
                T.annotate_compile_flags("-O3")
            T.clear(c)
            for ko in T.Pipelined(K // 32, num_stages=2, **of_stages):
                T.copy(A[by * 32, ko * 32], a, **of_copy)
                T.copy(B[ko * 32, bx * 16], b, **of_copy)
                T.gemm(a, b, c, **of_gemm)
            for i, j in T.Parallel(32, 16, **of_loop):
                c[i, j] = T.max(c[i, j], 0)
            T.copy(c, C[by * 32, bx * 16], **of_copy)
            for i, j in T.Parallel(32, 16):
                T.atomic_add(D[bx * 16 + j], c[i, j], **of_atomic)

    return main


def test_results_with_hints_and_without() -> None:
    a, b = torch.randint(-3, 4, (M, K)).half(), torch.randint(-3, 4, (K, N)).half()
    found = []
    for hinted in (False, True):
        c, d = torch.zeros(M, N), torch.zeros(N)
        compile(product(hinted))(a, b, c, d)
        found.append((c, d))
    expected = torch.relu(a.float() @ b.float())
    for c, d in found:
        assert torch.equal(c, expected) and torch.equal(d, expected.sum(0))


def test_a_layout_of_a_tensor_is_told() -> None:
    """Its elements stay where they are."""

    @T.prim_func
    def main(A: T.Tensor((16, 32), "float32"), B: T.Tensor((16, 32), "float32")):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((16, 32), "float32")
            T.annotate_layout({B: T.Layout((16, 32), lambda i, j: [j, i]), a: T.Layout((16, 32))})
            T.copy(A, a)
            T.copy(a, B)

    a = torch.randn(16, 32)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert torch.equal(compile(main, out_idx=1)(a), a)
    assert any("the layout of `B` is ignored" in str(w.message) for w in told)


CONFIGS = ["tl.disable_tma_lower", "tl.disable_warp_specialized", "tl.enable_fast_math",
           "tl.disable_safe_memory_legalize", "tl.disable_buffer_init_check",
           "tl.disable_data_race_check", "tl.config_index_bitwidth", "tirx.disable_vectorize",
           "tl.ptxas_register_usage_level", "tl.disable_out_of_bound_warning"]  # fmt: skip


def test_options_for_gpus_change_nothing() -> None:
    a, b = torch.randint(-3, 4, (M, K)).half(), torch.randint(-3, 4, (K, N)).half()
    expected = torch.relu(a.float() @ b.float())
    sources = []
    for options in ({}, {
        "pass_configs": dict.fromkeys(CONFIGS, 1), "target": "cuda", "execution_backend": "tvm_ffi",
        "compile_flags": ["--use_fast_math"], "verbose": False,
    }):  # fmt: skip
        kernel = compile(product(False), **options)
        c, d = torch.zeros(M, N), torch.zeros(N)
        kernel(a, b, c, d)
        assert torch.equal(c, expected)
        sources.append(kernel.get_kernel_source())
    assert sources[0] == sources[1]


def test_names_of_two_dialects_are_those_of_the_kernel() -> None:
    """`T.transpose`, `T.clamp`, and a reduction of as many elements as it has results."""

    @T.prim_func
    def of_gpus(A: T.Tensor((16, 32), "float32"), B: T.Tensor((32, 16), "float32"),
                C: T.Tensor((1,), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((16, 32), "float32")
            b = T.alloc_shared((32, 16), "float32")
            one = T.alloc_fragment((1,), "float32")
            same = T.alloc_fragment((1,), "float32")
            T.copy(A, a)
            for i, j in T.Parallel(16, 32):
                a[i, j] = T.clamp(a[i, j], -0.5, 0.25)
            T.transpose(a, b)
            T.copy(b, B)
            T.fill(one, 3)
            T.reduce_max(one, same, dim=0)
            T.copy(same, C)

    @T.prim_func
    def of_ascend(A: T.Tensor((16, 32), "float32"), B: T.Tensor((32, 16), "float32"),
                  C: T.Tensor((16, 32), "float32")):  # fmt: skip
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((16, 32), "float32")
            b = T.alloc_ub((32, 16), "float32")
            c = T.alloc_ub((16, 32), "float32")
            if vid == 0:
                T.copy(A, a)
                T.transpose(b, a)
                T.tile.clamp(c, a, -0.5, 0.25, 16 * 32)
                T.copy(b, B)
                T.copy(c, C)

    a = torch.randn(16, 32)
    b, c = compile(of_gpus, out_idx=[1, 2])(a)
    assert torch.equal(b, a.clamp(-0.5, 0.25).T) and c.item() == 3
    automatic = {"tl.ascend_auto_sync": True, "tl.ascend_memory_planning": True}
    b, c = compile(of_ascend, out_idx=[1, 2], pass_configs=automatic)(a)
    assert torch.equal(b, a.T) and torch.equal(c, a.clamp(-0.5, 0.25))


def test_an_attribute_of_a_value_decides_no_dialect() -> None:
    sizes = SimpleNamespace(tile=16)

    @jit
    def k(A):
        N = T.const("N")
        A: T.Tensor((N,), T.float16)
        with T.Kernel(N // sizes.tile, threads=128) as bx:
            a = T.alloc_shared((sizes.tile + 8,), T.float16)
            T.copy(A[bx * sizes.tile : (bx + 1) * sizes.tile], a[8:24])
            T.copy(a[8:24], A[bx * sizes.tile : (bx + 1) * sizes.tile])

    a = torch.randn(48).half()
    found = a.clone()
    k(found)
    assert torch.equal(found, a)


@pytest.mark.parametrize("dtype", ["float64", "double"])
@pytest.mark.parametrize("how", ["tile", "tensor"])
def test_doubles_are_refused_at_their_line(dtype: str, how: str) -> None:
    with pytest.raises(KernelError) as raised:

        @T.prim_func
        def k(A: T.Tensor((16,), "float64" if how == "tensor" else "float32")):
            with T.Kernel(1, threads=128) as bx:
                a = T.alloc_shared((16,), dtype)
                T.copy(A, a)

        compile(k)
    assert raised.value.loc is not None and raised.value.hint
