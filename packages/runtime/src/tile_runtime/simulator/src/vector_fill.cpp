// Duplicate, Copy and Brcb.
#include "ascend_c/vector_fill.h"

#include "elementwise.h"
#include "operand_overlap.h"

namespace tile_simulator {
namespace {

template <class T>
void fill_kernel(uint8_t* const* operands, size_t count, const void* context)
{
    const T value = static_cast<T>(*static_cast<const uint64_t*>(context));
    T* dst = reinterpret_cast<T*>(operands[0]);
    for (size_t i = 0; i < count; ++i) {
        dst[i] = value;
    }
}

template <class T>
void copy_kernel(uint8_t* const* operands, size_t count, const void*)
{
    std::memmove(operands[0], operands[1], count * sizeof(T));
}

bool fillable_type(DataType type)
{
    return type != DataType::other && (size_of(type) == 2 || size_of(type) == 4);
}

}  // namespace

void vector_duplicate(LocalOperand dst, Scalar scalar, const VectorForm& form, uint32_t dst_block_stride,
    uint32_t dst_repeat_stride, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    if (!fillable_type(dst.type)) {
        raise_type(use, "dst", dst.type, "a 16- or 32-bit type");
    }
    const VectorOperand operands[1] = {{"dst", dst, size_of(dst.type), dst_block_stride, dst_repeat_stride, 255}};
    run_elementwise(core, operands, 1, form, size_of(dst.type) == 2 ? &fill_kernel<uint16_t> : &fill_kernel<uint32_t>,
        &scalar.bits, use, 1, false, Elements::moved);
}

// Unlike everywhere else, in counter mode the mask counts the elements of every repeat (the vendor's page of Copy); their
// blocks all lie a block stride apart.
static void copy_counted(Core& core, LocalOperand dst, LocalOperand src, const VectorForm& form,
    const AscendC::CopyRepeatParams& p, VectorKernel kernel, Use use)
{
    constexpr int64_t blocks_per_repeat = 8;
    constexpr int64_t any_stride = int64_t(1) << 20;
    require_range(core, "repeatTimes", form.repeats, 0, 255, use);
    require_range(core, "dstRepeatSize", p.dstRepeatSize, 0, 4095, use);
    require_range(core, "srcRepeatSize", p.srcRepeatSize, 0, 4095, use);
    const ComposedCall call(core);
    for (int64_t repeat = 0; repeat < form.repeats; ++repeat) {
        const VectorOperand operands[2] = {
            {"dst", dst, size_of(dst.type), p.dstStride, blocks_per_repeat * p.dstStride, any_stride},
            {"src", src, size_of(src.type), p.srcStride, blocks_per_repeat * p.srcStride, any_stride},
        };
        run_elementwise(core, operands, 2, form, kernel, nullptr, use, 1, false, Elements::moved);
        dst.address += p.dstRepeatSize * 32u;
        src.address += p.srcRepeatSize * 32u;
    }
}

void vector_copy(
    LocalOperand dst, LocalOperand src, const VectorForm& form, const AscendC::CopyRepeatParams& p, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    if (!fillable_type(dst.type)) {
        raise_type(use, "dst", dst.type, "a 16- or 32-bit type");
    }
    const auto kernel = size_of(dst.type) == 2 ? &copy_kernel<uint16_t> : &copy_kernel<uint32_t>;
    if (core.mask.counter && form.kind == VectorForm::preset) {
        return copy_counted(core, dst, src, form, p, kernel, use);
    }
    const VectorOperand operands[2] = {
        {"dst", dst, size_of(dst.type), p.dstStride, p.dstRepeatSize, 4095},
        {"src", src, size_of(src.type), p.srcStride, p.srcRepeatSize, 4095},
    };
    run_elementwise(core, operands, 2, form, kernel, nullptr, use, 1, false, Elements::moved);
}

namespace {

template <class T>
void spread(const uint8_t* source, uint8_t* block)
{
    T value;
    std::memcpy(&value, source, sizeof(T));
    T filled[32 / sizeof(T)];
    for (T& element : filled) {
        element = value;
    }
    std::memcpy(block, filled, sizeof(filled));
}

}  // namespace

void vector_brcb(LocalOperand dst, LocalOperand src, int64_t repeats, const AscendC::BrcbRepeatParams& p, Use use,
    uint64_t wanted)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    require_range(core, "repeatTimes", repeats, 0, 255, use);
    require_range(core, "dstBlkStride", p.dstBlkStride, 1, 65535, use);
    require_range(core, "dstRepStride", p.dstRepStride, 0, 65535, use);
    require_memory(dst, Memory::ub, "dst", use);
    require_memory(src, Memory::ub, "src", use);
    if (repeats <= 0) {
        return;
    }
    constexpr uint64_t elements = 8;
    const uint64_t size = size_of(src.type);
    const uint64_t block_stride = p.dstBlkStride * 32ull;
    const uint64_t repeat_stride = p.dstRepStride * 32ull;
    const uint64_t count = static_cast<uint64_t>(repeats);
    Instruction instruction(core, Pipe::v, use);
    instruction.work = count;
    const int to =
        instruction.local("dst", true, dst, Memory::ub, {dst.address, 32, elements, block_stride, count, repeat_stride}, 32);
    const uint64_t read = (wanted == 0 ? count * elements : wanted) * size;
    const int from = instruction.local("src", false, src, Memory::ub, Region::bytes(src.address, read), 32);
    instruction.issue();
    if (may_overlap(instruction)) {
        std::vector<Run> blocks;
        for (uint64_t i = 0; i < elements; ++i) {
            blocks.push_back({dst.address + i * block_stride, 32});
        }
        const std::vector<Run> source = {{src.address, elements * size}};
        check_overlap(core, {"dst", blocks, blocks, repeat_stride, count, false},
            {"src", source, source, elements * size, count, false}, false, use);
    }
    for (uint64_t repeat = 0; repeat < count; ++repeat) {
        uint8_t values[elements * 4];
        std::memcpy(values, instruction.data(from) + repeat * elements * size, elements * size);
        for (uint64_t i = 0; i < elements; ++i) {
            uint8_t* block = instruction.data(to) + repeat * repeat_stride + i * block_stride;
            if (size == 2) {
                spread<uint16_t>(values + 2 * i, block);
            } else {
                spread<uint32_t>(values + 4 * i, block);
            }
        }
    }
}

}  // namespace tile_simulator
