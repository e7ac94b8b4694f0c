// CreateVecIndex, with the instructions of the device header (9.x, kernel_operator_vec_createvecindex_impl.h): scalar
// stores make the first block (or, for a bit mask, the first repeat), every other part is an earlier one plus a number.
#include "ascend_c/vector_index.h"

#include "ascend_c/sync.h"
#include "ascend_c/tensor.h"
#include "ascend_c/vector_scalar.h"
#include "instruction.h"
#include "pipe_handover.h"

namespace tile_simulator {
namespace {

// One call, with the sizes of its type.
struct Index {
    Core& core;
    LocalOperand dst;
    Scalar first;
    Use use;
    int64_t size;
    int64_t per_block;
    int64_t per_repeat;
};

Index index_of(Core& core, LocalOperand dst, Scalar first, Use use)
{
    const int64_t size = size_of(dst.type);
    require_memory(dst, Memory::ub, "dst", use);
    if (core.device_checks && dst.address % 32 != 0) {
        raise("misaligned", use,
            text_of("%s: dst starts at byte %u of UB, which must be a multiple of 32", use.api, dst.address));
    }
    return {core, dst, first, use, size, 32 / size, 256 / size};
}

// The value of one lane: integers wrap, floats are summed in float.
uint32_t value_bits(const Index& index, int64_t lane)
{
    switch (index.dst.type) {
        case DataType::f16:
            return float_to_half_bits(static_cast<float>(index.first.value) + static_cast<float>(lane));
        case DataType::f32:
            return bits_of_float(static_cast<float>(index.first.value) + static_cast<float>(lane));
        default:
            return static_cast<uint32_t>(index.first.bits + static_cast<uint64_t>(lane));
    }
}

void store_lane(const Index& index, int64_t element, int64_t lane)
{
    const uint32_t bits = value_bits(index, lane);
    local_store(
        index.dst, static_cast<uint64_t>(element * index.size), static_cast<uint32_t>(index.size), &bits, index.use);
}

// dst[to ...] = dst[from ...] + step on the lanes of the form.
void add_step(const Index& index, int64_t to, int64_t from, int64_t step, const VectorForm& form,
    const AscendC::UnaryRepeatParams& strides)
{
    LocalOperand target = index.dst;
    LocalOperand source = index.dst;
    target.address += static_cast<uint32_t>(to * index.size);
    source.address += static_cast<uint32_t>(from * index.size);
    const Scalar scalar = {static_cast<double>(step), static_cast<uint64_t>(step)};
    vector_scalar(ScalarOp::adds, target, source, scalar, form, strides, index.use);
    pipe_barrier(PIPE_V, index.use);
}

VectorForm first_lanes(int64_t lanes)
{
    return VectorForm::of_mask(true, static_cast<uint64_t>(lanes), 1);
}

void first_block(const Index& index, int64_t lanes)
{
    for (int64_t i = 0; i < lanes && i < index.per_block; ++i) {
        store_lane(index, i, i);
    }
    scalar_to_vector(index.core, index.use);
}

// Blocks 1 to 7 of the first repeat, of which `lanes` lanes are wanted.
void other_blocks(const Index& index, int64_t lanes, int64_t block_stride)
{
    const int64_t pitch = block_stride * index.per_block;
    const int64_t whole = lanes / index.per_block;
    for (int64_t i = 1; i < whole; ++i) {
        add_step(index, i * pitch, (i - 1) * pitch, index.per_block, first_lanes(index.per_block), {});
    }
    const int64_t tail = lanes % index.per_block;
    if (whole > 0 && tail > 0) {
        add_step(index, whole * pitch, (whole - 1) * pitch, index.per_block, first_lanes(tail), {});
    }
}

void other_repeats(const Index& index, const VectorForm& form, int64_t block_stride, int64_t repeat_stride)
{
    VectorForm one = form;
    one.repeats = 1;
    AscendC::UnaryRepeatParams strides;
    strides.dstBlkStride = strides.srcBlkStride = static_cast<uint32_t>(block_stride);
    const int64_t pitch = repeat_stride * index.per_block;
    for (int64_t i = 1; i < form.repeats; ++i) {
        add_step(index, i * pitch, (i - 1) * pitch, index.per_repeat, one, strides);
    }
}

}  // namespace

void create_index_count(LocalOperand dst, Scalar first, int64_t count, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv) || count == 0) {
        return;
    }
    const ComposedCall call(core);
    const Index index = index_of(core, dst, first, use);
    first_block(index, count);
    other_blocks(index, count < index.per_repeat ? count : index.per_repeat, 1);
    const int64_t whole = count / index.per_repeat;
    other_repeats(index, VectorForm::of_mask(true, static_cast<uint64_t>(index.per_repeat), whole), 1, 8);
    const int64_t tail = count % index.per_repeat;
    if (whole > 0 && tail > 0) {
        const int64_t done = whole * index.per_repeat;
        add_step(index, done, done - index.per_repeat, index.per_repeat, first_lanes(tail), {});
    }
}

void create_index(
    LocalOperand dst, Scalar first, const VectorForm& form, int64_t block_stride, int64_t repeat_stride, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    const ComposedCall call(core);
    const Index index = index_of(core, dst, first, use);
    require_range(core, "repeatTime", form.repeats, 0, 255, use);
    require_range(core, "dstBlkStride", block_stride, 1, 65535, use);
    require_range(core, "dstRepStride", repeat_stride, 0, 255, use);
    if (form.kind == VectorForm::lanes) {
        require_range(core, "mask", static_cast<int64_t>(form.mask[0]), 0, index.per_repeat, use);
    }
    const bool none = form.mask[0] == 0 && (form.kind == VectorForm::lanes || form.mask[1] == 0);
    if (form.repeats <= 0 || none) {
        return;
    }
    if (form.kind == VectorForm::lanes) {
        first_block(index, static_cast<int64_t>(form.mask[0]));
        other_blocks(index, static_cast<int64_t>(form.mask[0]), block_stride);
    } else {
        for (int64_t lane = 0; lane < index.per_repeat; ++lane) {
            if ((form.mask[lane / 64] >> (lane % 64) & 1u) != 0) {
                const int64_t block = lane / index.per_block * block_stride;
                store_lane(index, block * index.per_block + lane % index.per_block, lane);
            }
        }
        scalar_to_vector(core, use);
    }
    other_repeats(index, form, block_stride, repeat_stride);
}

}  // namespace tile_simulator
