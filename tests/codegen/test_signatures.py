"""The boundary of an emitted kernel (docs/language/index.md#emitted-source): names, types and order of
parameters."""

from __future__ import annotations

import re

import tile_ir
from tile_codegen_ascendc import emit, entry_source
from tile_ir import DEFAULT_TARGET, Func
from tile_passes import run_pipeline

TEXT = """file 0 "k.py"
func "half" phase built @0:1:1 {
  tensor $A: float16 [%rows, 64] @0:1:1
  scalar %n: int32
  scalar %eps: float16
  tensor $call: int32 [%batch, %rows] @0:1:1
  scalar %flag: uint32
  scalar %big: int64
  launch blocks(%batch * 2) %cid %vid threads any @0:1:1 {
    alloc $u: ub float16 [64] @0:2:1
    section vector @0:3:1 {
      add($u, $u, %eps) @0:4:1
      store $call[%cid, %n] = cast<int32>(%flag) + cast<int32>(%big) @0:5:1
      printf(%n) {fmt="call %d\\n"} @0:6:1
    }
  }
}
"""


def lowered() -> Func:
    return run_pipeline(tile_ir.parse(TEXT), DEFAULT_TARGET).func


def test_parameters_keep_their_order_and_symbols_follow() -> None:
    text = emit(lowered(), DEFAULT_TARGET)
    host = re.search(r'extern "C" void call\((.*)\) \{', text)
    assert host and host.group(1) == (
        "uint8_t* A_handle, int n, float eps_given, uint8_t* call_handle, int64_t flag_given, "
        "int64_t big, int64_t rows, int64_t batch, aclrtStream stream"
    )
    kernel = re.search(r'extern "C" __global__ __aicore__ void half_kernel\((.*)\) \{', text)
    assert kernel and kernel.group(1) == (
        "GM_ADDR A_handle, int n, float eps_given, GM_ADDR call_handle, int64_t flag_given, "
        "int64_t big, int64_t rows, int64_t batch, uint64_t fftsAddr"
    )
    assert "const half eps = static_cast<half>(eps_given);" in text
    assert "void half_kernel_tiling(" in text
    assert "const int64_t blocks = batch * 2;" in text


def test_reserved_words_are_renamed() -> None:
    """`call` is the entry and stands nowhere else: not as a name, not in a string."""
    text = emit(lowered(), DEFAULT_TARGET)
    assert len(re.findall(r"\bcall\b", text)) == 1
    assert "AscendC::GlobalTensor<int32_t> call_;" in text and '"ca" "ll %d\\n"' in text


def test_the_entry_unpacks_the_same_types() -> None:
    source = entry_source(lowered())
    assert (
        "void call(uint8_t*, int, float, uint8_t*, int64_t, int64_t, int64_t, int64_t, void*)"
        in source
    )
    assert "*static_cast<float*>(args[2])" in source and "args[7]), stream);" in source


def test_scalar_stores_to_gm_leave_the_cache() -> None:
    assert "tile::store_gm(call_, cid * rows + n, " in emit(lowered(), DEFAULT_TARGET)
