"""Scripts for GPUs in a process of their own: what they import, the device they name, what they ask
`torch.cuda` and the dtypes, how they compare and time."""

from __future__ import annotations

from pathlib import Path

import pytest
from forked_python import tile_ascend

START = """\
import itertools
import math

import torch
import tilelang
import tilelang as tl
import tilelang.language as T
import tilelang.testing
from tilelang import tvm
from tilelang.autotuner import *
from tilelang.carver.arch import CDNA, CUDA, driver
from tilelang.carver.roller.rasterization import NoRasterization
from tilelang.carver.template import MatmulTemplate
from tilelang.contrib import nvcc
from tilelang.engine.callback import register_cuda_postproc_callback
from tilelang.language.fp8 import determine_fp8_type
from tilelang.layout import make_swizzled_layout
from tilelang.profiler import do_bench
from tilelang.tileop.base import GemmWarpPolicy
from tilelang.tools import Analyzer
from tilelang.utils.tensor import TensorSupplyType, get_tensor_supply, torch_assert_close
from tvm import tirx

PASS_CONFIGS = {
    tilelang.PassConfigKey.TL_ENABLE_FAST_MATH: True,
    tilelang.PassConfigKey.TL_DISABLE_TMA_LOWER: True,
    tilelang.PassConfigKey.TL_DISABLE_WARP_SPECIALIZED: True,
    "tl.disable_safe_memory_legalize": False,
}


@tilelang.jit(out_idx=[-1], target="cuda", execution_backend="cython", pass_configs=PASS_CONFIGS,
              compile_flags=["--use_fast_math", "-O3"])
def added(n, dtype=T.float32):
    @T.prim_func
    def main(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype)):
        with T.Kernel(T.ceildiv(n, 64), threads=128) as bx:
            a = T.alloc_fragment((64,), dtype)
            T.copy(A[bx * 64], a)
            for i in T.Parallel(64):
                a[i] = a[i] + 1
            T.copy(a, B[bx * 64])

    return main


kernel = added(128)
"""

CHECKS = {
    "runs": "assert torch.equal(kernel(torch.ones(128)), torch.full((128,), 2.0))",
    "devices": """
assert torch.cuda.is_available()
device = torch.device("cuda")
a = torch.randn(128, device="cuda")
for other in (torch.ones(128).cuda(), torch.ones(128).to("cuda"), torch.zeros(128, device=device),
              torch.empty(128, device="cuda:0").fill_(1), torch.randn(128).to(device)):
    assert kernel(other).shape == (128,) and kernel(other).device == other.device
    assert other.is_cuda
g = torch.Generator(device="cuda")
g.manual_seed(1)
b = torch.randn(128, device="cuda", generator=g)
torch.testing.assert_close(kernel(b), b + 1)
torch.set_default_device("cuda")
torch.testing.assert_close(kernel(torch.ones(128)), torch.full((128,), 2.0))
assert torch.cuda.get_device_capability() == (8, 0)
assert torch.cuda.get_device_capability(0)[0] == 8
assert torch.cuda.get_device_properties(0).multi_processor_count == driver.get_num_sms() > 0
assert torch.version.hip is None
assert nvcc.get_target_compute_version(None) == "8.0"
""",
    "questions": """
torch.cuda.init()
torch.cuda.set_device(0)
assert torch.cuda.current_device() == 0 and torch.cuda.device_count() >= 1
torch.cuda.manual_seed(0)
torch.cuda.manual_seed_all(0)
torch.cuda.empty_cache()
stream = torch.cuda.Stream()
with torch.cuda.stream(stream):
    kernel(torch.ones(128))
torch.cuda.current_stream().synchronize()
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
start.record()
kernel(torch.ones(128))
end.record()
torch.cuda.synchronize()
assert start.elapsed_time(end) >= 0
torch.cuda.profiler.start()
torch.cuda.profiler.stop()
""",
    "dtypes": """
assert getattr(torch, T.float16) is torch.float16 and getattr(torch, T.bfloat16) is torch.bfloat16
assert T.float16 == "float16" and str(T.float16) == "float16" and isinstance(T.float16, str)
assert T.dtype(torch.int8) == "int8" and T.dtype("float32") == T.float32
assert T.bfloat16.as_torch() is torch.bfloat16
assert T.float32.bits == 32 and T.float16.bytes == 2 and T.int8.itemsize == 1 and T.int32.lanes == 1
assert {"float16": 1}[T.float16] == 1 and f"{T.int32}" == "int32"
for dtype in (torch.float16, T.float16, "float16"):
    assert added(128, dtype)(torch.ones(128).half()).dtype == torch.float16
assert added(128, float)(torch.ones(128)).dtype == torch.float32
assert added(128, int)(torch.ones(128, dtype=torch.int32)).dtype == torch.int32
""",
    "comparisons": """
a = torch.zeros(1000)
b = a.clone()
b[3] = 1
torch_assert_close(a, b, rtol=1e-2, atol=1e-3, max_mismatched_ratio=2e-3)
try:
    torch_assert_close(a, b, rtol=1e-2, atol=1e-3, max_mismatched_ratio=0)
except AssertionError:
    pass
else:
    raise SystemExit("no difference was found")
profiler = kernel.get_profiler(tensor_supply_type=tilelang.TensorSupplyType.Auto)
profiler.assert_allclose(lambda a: a + 1, rtol=1e-2, atol=1e-2, max_mismatched_ratio=0.01)
try:
    profiler.assert_allclose(lambda a: a + 2, rtol=1e-2, atol=1e-2)
except AssertionError:
    pass
else:
    raise SystemExit("a wrong kernel passed")
profiler.assert_consistent(repeat=2)
""",
    "times": """
a = torch.ones(128, device="cuda")
modelled = kernel.get_profiler().do_bench(warmup=1, rep=1)
assert 0 < modelled < 1
assert kernel.get_profiler().do_bench(lambda a: a + 1, warmup=1, rep=1) > 0
for given in ({"backend": "event"}, {"backend": "cupti"}, {"backend": "cudagraph"},
              {"return_mode": "median"}, {"quantiles": [0.5, 0.9]}, {"fast_flush": True},
              {"_n_warmup": 1, "_n_repeat": 1}, {"device": "cuda"}, {"cache_size": 1},
              {"early_stop_baseline": None}):
    found = do_bench(lambda: kernel(a), warmup=1, rep=1, **given)
    assert min(found if isinstance(found, (list, tuple)) else [found]) > 0, given
assert do_bench(lambda: torch.ones(8) + 1, 1, 1) > 0
""",
    "pass configs": """
keys = [n for n in dir(tilelang.PassConfigKey) if n.startswith(("TL_", "TIR_", "CUDA_"))]
assert len(keys) >= 20
for name in ("TL_ENABLE_FAST_MATH", "TL_DISABLE_TMA_LOWER", "TL_DISABLE_WARP_SPECIALIZED",
             "TL_DISABLE_SAFE_MEMORY_ACCESS", "TL_CONFIG_INDEX_BITWIDTH", "TL_SIMPLIFY",
             "TL_DISABLE_THREAD_STORAGE_SYNC", "TL_ENABLE_AGGRESSIVE_SHARED_MEMORY_MERGE",
             "TL_DISABLE_VECTORIZE_256", "TL_DISABLE_WGMMA", "TL_DEBUG_MERGE_SHARED_MEMORY_ALLOCATIONS",
             "TL_FORCE_LET_INLINE", "TL_AST_PRINT_ENABLE", "TL_LAYOUT_VISUALIZATION_ENABLE",
             "TL_DISABLE_DATA_RACE_CHECK", "TL_PTXAS_REGISTER_USAGE_LEVEL", "TIR_DISABLE_VECTORIZE",
             "TIR_MERGE_STATIC_SMEM"):
    assert isinstance(getattr(tilelang.PassConfigKey, name), str), name
""",
}  # fmt: skip


def run(tmp_path: Path, text: str) -> str:
    script = tmp_path / "script.py"
    script.write_text(text)
    done = tile_ascend("run", str(script))
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a script says that makes all checks, whichever fail."""
    checks = "".join(
        f"\ndef check_{i}():\n" + "".join(f"    {line}\n" for line in text.strip().splitlines())
        for i, text in enumerate(CHECKS.values())
    )
    end = f"""
import traceback
for number in range({len(CHECKS)}):
    try:
        globals()[f"check_{{number}}"]()
        print(f"check {{number}} is right")
    except BaseException:
        traceback.print_exc()
"""
    return run(tmp_path_factory.mktemp("script"), START + checks + end)


@pytest.mark.whole
@pytest.mark.parametrize("check", CHECKS)
def test_what_scripts_for_gpus_ask(check: str, told: str) -> None:
    assert f"check {list(CHECKS).index(check)} is right\n" in told, told


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("import einops_of_nobody", "No module named 'einops_of_nobody'"),
        ("import tilelang.quantize", "tilelang.quantize"),
        ("tilelang.compille", "did you mean `compile`"),
        ("T.no_such_name", "no_such_name"),
    ],
)
def test_whether_a_package_or_a_name_is_missing(line: str, says: str, tmp_path: Path) -> None:
    text = f"import tilelang\nimport tilelang.language as T\n{line}\n"
    assert says in run(tmp_path, text)
