"""Kernels whose Ascend C is written by hand, so that these tests need no pass and no emitter."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tile_ir import Func, Phase, Target, parse
from tile_passes import PassOptions, PassResult
from tile_runtime.launcher.signature import ScalarParam, TensorParam, signature_of

SAXPY = """file 0 "saxpy.py"
func "saxpy" phase built @0:3:1 {
  tensor $A : float32[%N] @0:4:5
  tensor $B : float32[%N] @0:5:5
  tensor $C : float32[%N] @0:6:5
  scalar %s : float32
  launch blocks(1) %cid %vid threads any @0:8:5 {
  }
}
"""

SAXPY_PYTHON = """import tile_frontend as T

@T.prim_func
def saxpy(A: T.Tensor((N,), "float32"),
    B: T.Tensor((N,), "float32"),
    C: T.Tensor((N,), "float32"),
    s: T.float32):
    with T.Kernel(1) as (cid, vid):
        T.copy(A, a_ub)
        T.copy(a_ub, C)
"""

SAXPY_CPP = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void saxpy_kernel(GM_ADDR A_handle, GM_ADDR B_handle,
                                                   GM_ADDR C_handle, float s, int64_t N) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GlobalTensor<float> a, b, c;
    a.SetGlobalBuffer((__gm__ float*)A_handle);
    b.SetGlobalBuffer((__gm__ float*)B_handle);
    c.SetGlobalBuffer((__gm__ float*)C_handle);
    for (int64_t i = 0; i < N; ++i) {
        c.SetValue(i, s * a.GetValue(i) + b.GetValue(i)); // saxpy.py:9
    }
    // FAULT
}
extern "C" void call(uint8_t* A_handle, uint8_t* B_handle, uint8_t* C_handle, float s, int64_t N,
                     void* stream) {
    tile_simulator::launch("saxpy", 1, saxpy_kernel, A_handle, B_handle, C_handle, s, N);
}
"""

# Where tests put something wrong into SAXPY_CPP.
FAULT_LINE = SAXPY_CPP[: SAXPY_CPP.index("// FAULT")].count("\n") + 1


def entry_for(func: Func) -> str:
    """What a code generator gives as `entry`, for any signature."""
    signature = signature_of(func, len(func.params))
    types = ["uint8_t*" if isinstance(p, TensorParam) else p.dtype.c_name for p in signature.params]
    assert all(isinstance(p, (TensorParam, ScalarParam)) for p in signature.params)
    types += ["int64_t"] * len(signature.symbols)
    values = "".join(f"*({t}*)args[{i}], " for i, t in enumerate(types))
    return (
        "#include <cstdint>\n"
        f'extern "C" void call({"".join(t + ", " for t in types)}void*);\n'
        'extern "C" __attribute__((visibility("default")))\n'
        f"void tile_entry(void** args, void* stream) {{ call({values}stream); }}\n"
    )


class HandWritten:
    """The stand-in for passes and code generator; counts how often it is asked."""

    language = "C++ written by hand"
    suffix = ".cpp"
    ai_cores = frozenset({"dav-c220"})
    headers = Path(__file__).parent

    def __init__(self, source: str) -> None:
        self.source = source
        self.emitted = 0

    def run_pipeline(self, func: Func, target: Target, options: PassOptions) -> PassResult:
        return PassResult(func.at_phase(Phase.SYNCED))

    def emit(self, func: Func, target: Target) -> str:
        self.emitted += 1
        return self.source

    def entry(self, func: Func) -> str:
        return entry_for(func)


def func_of(text: str, **sources: Any) -> Func:
    """A function from textual IR, with the Python text of the files it names."""
    return replace(parse(text), sources={f"{k}.py": v for k, v in sources.items()})
