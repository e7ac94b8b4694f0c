// AddDeqRelu: eight vector instructions for every part that fits the temporary space at the end of UB.
#include <algorithm>

#include "ascend_c/sync.h"
#include "ascend_c/vector_binary.h"
#include "ascend_c/vector_fill.h"
#include "ascend_c/vector_quantize.h"
#include "ascend_c/vector_scalar.h"
#include "instruction.h"
#include "reserved_ub.h"

namespace tile_simulator {
namespace {

constexpr int64_t temporary_elements = reserved_ub_bytes / 4;
constexpr int64_t lanes_of_int32 = 64;
constexpr int64_t block = 32;

LocalOperand viewed(LocalOperand tensor, DataType type)
{
    tensor.type = type;
    return tensor;
}

LocalOperand moved(LocalOperand tensor, int64_t bytes)
{
    tensor.address += static_cast<uint32_t>(bytes);
    return tensor;
}

void scale_by(LocalOperand values, float factor, const VectorForm& form, Use use)
{
    vector_scalar(ScalarOp::muls, values, values, scalar_of(factor), form, {}, use);
    pipe_barrier(PIPE_V, use);
}

// One part that fits the temporary space, with the steps of the device header (kernel_operator_vec_binary_impl.h).
void add_dequantize_relu_part(Core& core, LocalOperand dst, LocalOperand src0, LocalOperand src1,
    const VectorForm& form, bool counted, int64_t elements, const AscendC::BinaryRepeatParams& p, Use use)
{
    const LocalOperand sum = reserved_ub(DataType::i32);
    const LocalOperand floats = viewed(src0, DataType::f32);
    const LocalOperand halves = viewed(src1, DataType::f16);
    const LocalOperand zeros = viewed(sum, DataType::f16);
    const AscendC::BinaryRepeatParams into_sum(
        1, p.src0BlkStride, p.src1BlkStride, 8, p.src0RepStride, p.src1RepStride);
    vector_binary(BinaryOp::add, sum, src0, src1, form, into_sum, use);
    pipe_barrier(PIPE_V, use);
    vector_cast(floats, sum, AscendC::RoundMode::CAST_NONE, form, {}, use);
    pipe_barrier(PIPE_V, use);
    scale_by(floats, 0x1p-17f, form, use);  // keeps the product inside the range
    scale_by(floats, core.dequantization_scale, form, use);
    scale_by(floats, 0x1p17f, form, use);
    vector_cast(halves, floats, AscendC::RoundMode::CAST_NONE, form, {1, 1, 4, 8}, use);
    pipe_barrier(PIPE_V, use);
    if (!counted) {
        core.mask = {true, static_cast<uint64_t>(elements), 0};
    }
    vector_duplicate(zeros, Scalar{0.0, 0}, VectorForm{VectorForm::preset, 1, {0, 0}}, 1, 8, use);
    if (!counted) {
        core.mask = MaskRegister{};
    }
    pipe_barrier(PIPE_V, use);
    const uint32_t repeat = counted ? 8 : 4;
    vector_binary(BinaryOp::max, dst, zeros, halves, form, {p.dstBlkStride, 1, 1, p.dstRepStride, repeat, repeat}, use);
    pipe_barrier(PIPE_V, use);
}

}  // namespace

void add_dequantize_relu(LocalOperand dst, LocalOperand src0, LocalOperand src1, const VectorForm& form,
    const AscendC::BinaryRepeatParams& p, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    if (core.device_checks && core.vector_registers.dequantization != VectorRegisters::Dequantization::half_scale) {
        raise("bad-argument", use, text_of("%s needs SetDeqScale(half) before it", use.api));
    }
    require_setting(core, Register::dequantization, use);
    if (form.kind == VectorForm::count) {
        require_range(core, "count", form.repeats, 0, INT32_MAX, use);
        for (int64_t done = 0; done < form.repeats; done += temporary_elements) {
            const int64_t part = std::min(temporary_elements, form.repeats - done);
            core.mask = {true, static_cast<uint64_t>(part), 0};
            add_dequantize_relu_part(core, moved(dst, 2 * done), moved(src0, 4 * done), moved(src1, 4 * done),
                VectorForm{VectorForm::preset, 1, {0, 0}}, true, part, {}, use);
        }
        core.mask = MaskRegister{};
        return;
    }
    require_range(core, "repeatTime", form.repeats, 0, 255, use);
    constexpr int64_t most = temporary_elements / lanes_of_int32;
    for (int64_t done = 0; done < form.repeats; done += most) {
        VectorForm part = form;
        part.repeats = std::min(most, form.repeats - done);
        add_dequantize_relu_part(core, moved(dst, done * p.dstRepStride * block),
            moved(src0, done * p.src0RepStride * block), moved(src1, done * p.src1RepStride * block), part, false,
            std::min(most, form.repeats) * lanes_of_int32, p, use);
    }
}

}  // namespace tile_simulator
