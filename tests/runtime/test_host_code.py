"""Sources with host code: the kernel part is found and run, wherever its pieces are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tile_ir import BuildError, CallError
from tile_runtime.source_kernels.host_code import without_host_code
from tile_runtime.source_kernels.simulate import simulate
from tile_runtime.tools.command_line import main

DEVICE = """#include "kernel_operator.h"
namespace {
constexpr uint32_t COUNT = 64;
}
struct Shape { uint32_t count; } standard = {COUNT};
template <typename T> struct Work {
    __aicore__ inline void Run(GM_ADDR x, GM_ADDR y, uint32_t n, T step)
    {
        AscendC::TPipe pipe;
        AscendC::TBuf<AscendC::TPosition::VECCALC> buffer;
        pipe.InitBuffer(buffer, n * sizeof(T));
        AscendC::GlobalTensor<T> from, to;
        from.SetGlobalBuffer((__gm__ T*)x);
        to.SetGlobalBuffer((__gm__ T*)y);
        AscendC::LocalTensor<T> tile = buffer.Get<T>();
        AscendC::DataCopy(tile, from, n);
        AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(0);
        AscendC::WaitFlag<AscendC::HardEvent::MTE2_V>(0);
        AscendC::Adds(tile, tile, step, n);
        AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(0);
        AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(0);
        AscendC::DataCopy(to, tile, n);
    }
};
"""
KERNEL = """
__global__ __vector__ void step(GM_ADDR x, GM_ADDR y)
{
    Work<float> work;
    work.Run(x, y, standard.count, 1.0f);
}
"""
PYBIND = """
#include <pybind11/pybind11.h>
#include <torch/extension.h>
#include "torch_npu/csrc/core/npu/NPUStream.h"
namespace py = pybind11;
namespace own {
at::Tensor run_step(const at::Tensor& x)
{
    auto stream = c10_npu::getCurrentNPUStream().stream(false);
    at::Tensor y = at::empty_like(x);
    step<<<1, nullptr, stream>>>((uint8_t*)x.data_ptr(), (uint8_t*)y.mutable_data_ptr());
    return y;
}
}
PYBIND11_MODULE(own, m)
{
    m.doc() = "step";
    m.def("run_step", &own::run_step, "");
}
"""
TORCH = """
#include <torch/all.h>
#include <torch/library.h>
#include "torch_npu/csrc/framework/OpCommand.h"
using namespace at;
static Tensor wrapped(const Tensor& x)
{
    Tensor y = empty_like(x);
    auto call = [=]() -> int { step<<<1, 0, nullptr>>>((uint8_t*)x.data_ptr(), (uint8_t*)y.data_ptr()); return 0; };
    at_npu::native::OpCommand::RunOpApiV2("step", call);
    return y;
}
TORCH_LIBRARY(own, m) { m.def("step(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(own, PrivateUse1, m) { m.impl("step", TORCH_FN(wrapped)); }
"""
GRAPH = """
#include "graph/custom_op.h"
#include "exe_graph/runtime/eager_op_execution_context.h"
#include "register/op_def_registry.h"
namespace ge {
class Step : public EagerExecuteOp, public ShapeInferOp {
public:
    graphStatus Execute(gert::EagerOpExecutionContext* context) override
    {
        step<<<1, 0, context->GetStream()>>>(nullptr, nullptr);
        return GRAPH_SUCCESS;
    }
    graphStatus InferShape(gert::InferShapeContext* context) override { return GRAPH_SUCCESS; }
};
REG_AUTO_MAPPING_OP(Step);
}
using namespace ge;
"""
ACL = """
#include "acl/acl.h"
#include <vector>
#define CHECK_ACL(x) do { aclError ret = x; if (ret != ACL_ERROR_NONE) { return ret; } } while (0)
enum class Mode : int32_t { once = 0, twice } mode;
class Runner {
public:
    explicit Runner(aclrtStream stream) : stream_(stream) {}
    int Run(uint8_t* x) { step<<<1, nullptr, stream_>>>(x, x); return aclrtSynchronizeStream(stream_); }
private:
    aclrtStream stream_;
};
std::vector<aclFloat16> halves;
int main() { aclrtStream s = nullptr; CHECK_ACL(aclInit(nullptr)); return Runner(s).Run(nullptr); }
"""


def check(source: Any, kernel: str = "step", **options: Any) -> None:
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    simulate(source, kernel, 1, [x, y], **options).raise_for_error()
    np.testing.assert_array_equal(y, x + 1)


@pytest.mark.parametrize(
    "host", [PYBIND, TORCH, GRAPH, ACL], ids=["pybind", "torch", "graph", "acl"]
)
@pytest.mark.parametrize("before", [False, True])
def test_the_kernel_part_is_found(host: str, before: bool) -> None:
    includes = "\n".join(line for line in host.splitlines() if line.startswith("#include"))
    rest = "\n".join(line for line in host.splitlines() if not line.startswith("#include"))
    parts = [includes, DEVICE, KERNEL, rest] if before else [DEVICE, KERNEL, host]
    text = "\n".join(parts)
    left = without_host_code(text, ["step"])
    assert [len(line) for line in left.splitlines()] == [len(line) for line in text.splitlines()]
    check(text)


def test_what_the_kernel_names_through_others_stays() -> None:
    text = """#include <torch/extension.h>
#define STEP_OF(x) (x + own::offset)
namespace own { static constexpr float offset = 0.5f, unused = 2.0f; }
using Number = float;
template <typename T> __aicore__ inline T doubled(T x);
template <typename T> __aicore__ inline T doubled(T x) { return x + x; }
template <> __aicore__ inline int doubled(int x) { return 3 * x; }
template <uint32_t n> constexpr uint32_t twice = 2 * n;
static at::Tensor host(at::Tensor x) { return x; }
"""
    kernel = """
__global__ __vector__ void step(GM_ADDR x, GM_ADDR y)
{
    Work<Number> work;
    work.Run(x, y, twice<32>, doubled(STEP_OF((Number)0)));
}
"""
    check(text + DEVICE + kernel)
    left = without_host_code(text + DEVICE + kernel, ["step"])
    assert "host" not in left and "torch" not in left and left.count("doubled") == 4


def test_a_header_with_names_of_the_runtime(tmp_path: Path) -> None:
    (tmp_path / "data_utils.h").write_text("""#include "acl/acl.h"
#include <iostream>
inline void print(const aclFloat16* values) { std::cout << aclFloat16ToFloat(values[0]); }
inline aclError load(aclrtStream s, void** p) { return aclrtMalloc(p, 8, ACL_MEM_MALLOC_HUGE_FIRST); }
""")
    source = tmp_path / "step.asc"
    source.write_text('#include "data_utils.h"\n' + DEVICE + KERNEL + ACL)
    check(source)


def test_device_functions_of_another_file(tmp_path: Path) -> None:
    """And the kernel itself, when the file that launches it is given."""
    shared = "constexpr float STEP = 1.0f;\n"
    (tmp_path / "compute.asc").write_text(f"""#include "kernel_operator.h"
{shared}__aicore__ float other_step();
__aicore__ float step_of(uint32_t n) {{ return n == 64 ? STEP : other_step(); }}
__aicore__ float other_step() {{ return 3 * STEP; }}
void host() {{ step_of(3); }}
""")
    (tmp_path / "kernel.asc").write_text(f"""{DEVICE}{shared}
extern __aicore__ float step_of(uint32_t n);
__global__ __vector__ void step(GM_ADDR x, GM_ADDR y)
{{
    Work<float> work;
    work.Run(x, y, 64, step_of(64) * STEP);
}}
""")
    (tmp_path / "main.cpp").write_text(
        "extern void run(float*);\nint main() { run(0); return 0; }\n"
    )
    check(tmp_path / "kernel.asc")
    check(tmp_path / "main.cpp")


TILED = """#include "kernel_operator.h"
extern "C" __global__ __aicore__ void step_custom(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling)
{
    GET_TILING_DATA(data, tiling);
    Work<DTYPE_X> work;
    work.Run(x, y, data.count * data.inner.times, (DTYPE_X)data.step);
}
"""
STRUCTS = """#include "register/tilingdata_base.h"
namespace optiling {
BEGIN_TILING_DATA_DEF(Inner)
TILING_DATA_FIELD_DEF(uint32_t, times);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(InnerOp, Inner)
BEGIN_TILING_DATA_DEF(StepTilingData)
TILING_DATA_FIELD_DEF(uint32_t, count);
TILING_DATA_FIELD_DEF_ARR(uint32_t, 3, rest);
TILING_DATA_FIELD_DEF(float, step);
TILING_DATA_FIELD_DEF_STRUCT(Inner, inner);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(StepCustom, StepTilingData)
}
"""


def tiling() -> Any:
    return np.array([(32, [0, 0, 0], 1.0, 2)],
                    dtype=[("count", "u4"), ("rest", "u4", 3), ("step", "f4"), ("times", "u4")])  # fmt: skip


def run_tiled(source: Path) -> None:
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    result = simulate(source, "step_custom", 1, [x, y, None, tiling()], defines=["DTYPE_X=float"])
    result.raise_for_error()
    np.testing.assert_array_equal(y, x + 1)


def test_the_tiling_struct_of_the_host_code(tmp_path: Path) -> None:
    kernel = tmp_path / "op_kernel" / "step_custom.cpp"
    host = tmp_path / "op_host" / "step_custom_tiling.h"
    for path in (kernel, host):
        path.parent.mkdir()
    kernel.write_text(DEVICE + TILED.partition("\n")[2])
    with pytest.raises(CallError, match="does not say which struct it fills, and no file near"):
        run_tiled(kernel)
    host.write_text(STRUCTS)
    run_tiled(kernel)
    # The struct of the kernel's own header comes first.
    (kernel.parent / "own.h").write_text(
        "struct StepTiling { uint32_t count, rest[3]; float step; struct { uint32_t times; } inner; };"
    )
    kernel.write_text('#include "own.h"\n' + kernel.read_text())
    host.write_text("BEGIN_TILING_DATA_DEF(X)\nEND_TILING_DATA_DEF;")
    run_tiled(kernel)
    (kernel.parent / "own.h").write_text(
        (kernel.parent / "own.h").read_text() + "\nstruct OtherTiling { uint32_t count; };"
    )
    with pytest.raises(CallError, match="which struct it fills: OtherTiling, StepTiling"):
        run_tiled(kernel)


NAMED = """#include "step.h"
extern "C" __global__ __aicore__ void step_custom(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling)
{
    GET_TILING_DATA_WITH_STRUCT(StepTilingData, data, tiling);
    GM_ADDR area = AscendC::GetUserWorkspace(workspace);
    Stepper<StepTilingData> stepper;
    if (TILING_KEY_IS(3)) {
        stepper.Run(x, y, data);
    } else if (TILING_KEY_IS(1)) {
        data.step += 1;
        stepper.Run(x, y, data);
    }
}
"""
STEPPER = """
#include "lib/matmul_intf.h"
#include "kernel_tiling/kernel_tiling.h"
#include "kernel_operator_list_tensor_intf.h"
#include "basic_api/kernel_tensor.h"
template <typename T> struct Stepper {
    const StepTilingData* kept;
    __aicore__ inline void Run(GM_ADDR x, GM_ADDR y, const T& data)
    {
        kept = &data;
        Work<float> work;
        work.Run(x, y, kept->count * kept->inner.times, kept->step + kept->rest[REST - 1]);
    }
};
"""


def test_structs_of_the_host_code_that_the_kernel_names(tmp_path: Path) -> None:
    """They are known before the kernel's own headers; nothing has to be their default."""
    kernel = tmp_path / "op_kernel" / "step_custom.cpp"
    host = tmp_path / "op_host" / "step_custom_tiling.h"
    for path in (kernel, host):
        path.parent.mkdir()
    host.write_text(
        "constexpr uint32_t REST = 3;\n#define MORE 4\n"
        + STRUCTS.replace("uint32_t, 3", "uint32_t, REST").replace(
            "END_TILING_DATA_DEF;", "END_TILING_DATA_DEF"
        )
        + "BEGIN_TILING_DATA_DEF(Unused)\nTILING_DATA_FIELD_DEF(Missing, x);\nEND_TILING_DATA_DEF;"
    )
    (kernel.parent / "step.h").write_text(DEVICE + STEPPER)
    kernel.write_text(NAMED)
    x = np.arange(64, dtype=np.float32)
    for key, step in ((3, 1), (1, 2), (2, None)):
        y = np.zeros(64, np.float32)
        result = simulate(kernel, "step_custom", 1, [x, y, None, tiling()],
                          defines=[f"TILING_KEY_VAR={key}"])  # fmt: skip
        result.raise_for_error()
        np.testing.assert_array_equal(y, 0 if step is None else x + step)
    with pytest.raises(BuildError) as caught:
        simulate(kernel, "step_custom", 1, [x, y, None, tiling()])
    assert caught.value.hint == (
        "say which variant of the operator to run: -D TILING_KEY_VAR=<key> (defines=); the source "
        "asks for 1, 3"
    )


def test_the_advanced_api_is_told_to_be_missing() -> None:
    own = "__aicore__ inline void multiply() { matmul::MatmulType<int> a; }\n"
    text = '#include "lib/matmul_intf.h"\n' + DEVICE + own + KERNEL
    with pytest.raises(BuildError) as caught:
        check(text)
    assert "what lib/ has (Matmul, SoftMax, ...) it does not" in (caught.value.hint or "")


def test_words_that_the_source_defines_for_another_compiler() -> None:
    check("#define __aicore__ [aicore]\n#define __gm__ __attribute__((gm))\n" + DEVICE + KERNEL)


def test_the_part_of_the_standard_library() -> None:
    work = """
#include "utils/std/tuple.h"
template <typename T> constexpr T one()
{
    static_assert(AscendC::Std::is_one_of_v<T, half, float> && !AscendC::Std::IsSame<T, half>::value);
    static_assert(AscendC::Std::is_floating_point_v<half> && !AscendC::Std::is_floating_point_v<int>);
    const auto pair = AscendC::Std::make_tuple(T(1), 2);
    return AscendC::Std::min(AscendC::Std::get<0>(pair), AscendC::Std::max(1, 2.5));
}
"""
    check(DEVICE + work + KERNEL.replace("1.0f", "one<float>()"))


def test_template_arguments_of_an_operator() -> None:
    """What the operator's build chooses from is no matter of a run."""
    text = (
        DEVICE
        + """
#include "ascendc/host_api/tiling/template_argument.h"
ASCENDC_TPL_ARGS_DECL(Step, ASCENDC_TPL_DATATYPE_DECL(T, C_DT_FLOAT, C_DT_FLOAT16),
    ASCENDC_TPL_UINT_DECL(N, ASCENDC_TPL_8_BW, ASCENDC_TPL_UI_LIST, 1, 64), ASCENDC_TPL_BOOL_DECL(SPLIT, 0, 1), );
ASCENDC_TPL_SEL(ASCENDC_TPL_ARGS_SEL(ASCENDC_TPL_DATATYPE_SEL(T, C_DT_FLOAT), ASCENDC_TPL_UINT_SEL(N,
    ASCENDC_TPL_UI_LIST, 64), ASCENDC_TPL_BOOL_SEL(SPLIT, 0), ), );
template <typename T, int N, int SPLIT>
__global__ __aicore__ void step(GM_ADDR x, GM_ADDR y)
{
    Work<T> work;
    work.Run(x, y, N, (T)1);
}
"""
    )
    check(text, None, template="step<float, 64, 0>")


def test_a_list_of_tensors_as_argument(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """#include "kernel_operator.h"
#include "kernel_operator_list_tensor_intf.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void total(GM_ADDR inputs, GM_ADDR y)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    ListTensorDesc list((__gm__ void*)inputs);
    GlobalTensor<float> out;
    out.SetGlobalBuffer((__gm__ float*)y);
    float sum = 0;
    for (uint32_t i = 0; i < list.GetSize(); ++i) {
        uint64_t shape[2];
        TensorDesc<float> desc;
        desc.SetShapeAddr(shape);
        list.GetDesc(desc, i);
        GlobalTensor<float> x = desc.GetDataObj();
        for (uint32_t j = 0; j < shape[0] * shape[1]; ++j) { sum += x.GetValue(j); }
        x.SetValue(0, sum);
    }
    out.SetValue(0, sum);
}
"""
    tensors = [np.full((2, 3 + i), i + 1, np.float32) for i in range(3)]
    expected = sum(t.sum() for t in tensors)
    y = np.zeros(1, np.float32)
    result = simulate(text, "total", 1, [tensors, y])
    result.raise_for_error()
    assert y[0] == expected and tensors[2][0, 0] == expected and tensors[0][0, 0] == 6
    assert result.outputs["inputs[2]"] is tensors[2]
    source = tmp_path / "total.cpp"
    source.write_text(text)
    call = [
        "sim",
        str(source),
        "--in",
        "inputs[0]=f32[2,3]:arange",
        "--in",
        "inputs[1]=f32[2,3]:arange",
    ]
    assert main([*call, "--out", "y=f32[1]"]) == 0 and "max 30" in capsys.readouterr().out
    assert main([*call[:3], "inputs[1]=f32[2,3]", "--out", "y=f32[1]"]) == 2
    with pytest.raises(CallError, match="a list of arrays of 2 ranks"):
        simulate(text, "total", 1, [[tensors[0], np.zeros(3, np.float32)], y])
    with pytest.raises(CallError, match="a list with a int"):
        simulate(text, "total", 1, [[tensors[0], 3], y])
