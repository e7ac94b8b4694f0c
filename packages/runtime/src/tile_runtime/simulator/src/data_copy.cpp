// DataCopy and DataCopyPad (docs/hardware/units.md#transfers; the vendor's data movement pages).
#include "ascend_c/data_copy.h"

#include <cstring>

#include "atomic_write.h"
#include "copy_table.h"
#include "instruction.h"
#include "launch.h"

namespace tile_simulator {
namespace {

constexpr uint64_t block_bytes = 32;

uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

// Memory of a DMA operand, or none if the memory belongs to the other kind of core: then the call does nothing here.
Memory dma_memory(const Core& core, LocalOperand tensor, const char* operand, Use use)
{
    const Memory memory = memory_of(tensor.position);
    if (memory != Memory::ub && memory != Memory::l1) {
        raise("bad-argument", use,
            text_of("%s: %s is in %s, but must be in UB or L1", use.api, operand,
                memory == Memory::none ? "no local memory" : name_of(memory)));
    }
    return core.has(memory) ? memory : Memory::none;
}

// What a copy by count moves: whole blocks, as the vendor documents it, and says nothing about the rest.
uint64_t whole_blocks(LocalOperand tensor, uint64_t bytes, Use use)
{
    Core& core = core_of(use);
    const uint64_t moved = bytes / block_bytes * block_bytes;
    Launch& launch = core.block.launch();
    if (moved == bytes || !core.has(memory_of(tensor.position)) || launch.options().checks < TILE_CHECKS_DEVICE) {
        return moved;
    }
    Fault fault = fault_of("cut-short", use,
        text_of("%s: a count of %llu bytes is cut to %llu, whole blocks of 32: the last %llu bytes are not copied",
            use.api, static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(moved),
            static_cast<unsigned long long>(bytes - moved)));
    fault.hint = "use DataCopyPad with the length in bytes, or a count of whole blocks";
    if (launch.options().checks >= TILE_CHECKS_STRICT) {
        throw FaultError{std::move(fault)};
    }
    if (!launch.warned("cut-short", fault.file.c_str(), fault.line, core.block.index())) {
        launch.warn(core, std::move(fault));
    }
    return moved;
}

// `count` runs of `run` bytes, `stride` bytes from start to start; a unit-stride series is one run.
Region runs(uint64_t start, uint64_t run, uint64_t count, uint64_t stride)
{
    return run == stride ? Region::bytes(start, run * count) : Region::strided(start, run, count, stride);
}

void check_params(const Core& core, const AscendC::DataCopyParams& params, Use use)
{
    require_range(core, "blockCount", params.blockCount, 0, 4095, use);
    require_range(core, "blockLen", params.blockLen, 0, 65535, use);
    require_range(core, "srcStride", params.srcStride, 0, 65535, use);
    require_range(core, "dstStride", params.dstStride, 0, 65535, use);
}

void in_runs(Core& core, LocalOperand dst, GlobalOperand src, uint64_t run, uint64_t count, uint64_t src_stride,
    uint64_t dst_stride, Use use)
{
    const Memory memory = dma_memory(core, dst, "dst", use);
    if (memory == Memory::none || run == 0 || count == 0) {
        return;
    }
    Instruction instruction(core, Pipe::mte2, use);
    const int to = instruction.local("dst", true, dst, memory, runs(dst.address, run, count, dst_stride), 32);
    const int from = instruction.global("src", false, src, runs(src.address, run, count, src_stride));
    instruction.issue();
    for (uint64_t i = 0; i < count; ++i) {
        std::memcpy(instruction.data(to) + i * dst_stride, instruction.data(from) + i * src_stride, run);
    }
}

void out_runs(Core& core, GlobalOperand dst, LocalOperand src, uint64_t run, uint64_t count, uint64_t src_stride,
    uint64_t dst_stride, Use use)
{
    const Memory memory = dma_memory(core, src, "src", use);
    if (memory == Memory::none || run == 0 || count == 0) {
        return;
    }
    check_atomic_type(core, dst.type, use);
    Instruction instruction(core, Pipe::mte3, use);
    const int to = instruction.global("dst", true, dst, runs(dst.address, run, count, dst_stride));
    const int from = instruction.local("src", false, src, memory, runs(src.address, run, count, src_stride), 32);
    instruction.issue();
    for (uint64_t i = 0; i < count; ++i) {
        write_global(core, instruction.data(to) + i * dst_stride, instruction.data(from) + i * src_stride, run);
    }
}

void local_runs(Core& core, LocalOperand dst, LocalOperand src, uint64_t run, uint64_t count, uint64_t src_stride,
    uint64_t dst_stride, Use use)
{
    if (memory_of(src.position) == Memory::ub && memory_of(dst.position) == Memory::l1) {
        raise_ub_to_l1(use);
    }
    const Memory from_memory = dma_memory(core, src, "src", use);
    const Memory to_memory = dma_memory(core, dst, "dst", use);
    if (from_memory == Memory::none || to_memory == Memory::none || run == 0 || count == 0) {
        return;
    }
    if (from_memory != Memory::ub || to_memory != Memory::ub) {
        raise("bad-argument", use,
            text_of("%s: a copy from %s to %s does not exist on a split core", use.api, name_of(from_memory),
                name_of(to_memory)));
    }
    Instruction instruction(core, Pipe::v, use);
    instruction.work = round_up(run * count, 256) / 256;
    const int to = instruction.local("dst", true, dst, to_memory, runs(dst.address, run, count, dst_stride), 32);
    const int from = instruction.local("src", false, src, from_memory, runs(src.address, run, count, src_stride), 32);
    instruction.issue();
    for (uint64_t i = 0; i < count; ++i) {
        std::memmove(instruction.data(to) + i * dst_stride, instruction.data(from) + i * src_stride, run);
    }
}

}  // namespace

void copy_in(LocalOperand dst, GlobalOperand src, const AscendC::DataCopyParams& p, Use use)
{
    Core& core = core_of(use);
    check_params(core, p, use);
    const uint64_t run = p.blockLen * block_bytes;
    in_runs(core, dst, src, run, p.blockCount, run + p.srcStride * block_bytes, run + p.dstStride * block_bytes,
        use);
}

void copy_out(GlobalOperand dst, LocalOperand src, const AscendC::DataCopyParams& p, Use use)
{
    Core& core = core_of(use);
    check_params(core, p, use);
    const uint64_t run = p.blockLen * block_bytes;
    out_runs(core, dst, src, run, p.blockCount, run + p.srcStride * block_bytes, run + p.dstStride * block_bytes, use);
}

void copy_local(LocalOperand dst, LocalOperand src, const AscendC::DataCopyParams& p, Use use)
{
    Core& core = core_of(use);
    check_params(core, p, use);
    if (is_table(dst)) {
        return copy_to_table(core, dst, src, p, use);
    }
    if (dst.type != src.type) {
        raise("bad-argument", use,
            text_of("%s: dst is %s and src %s; only a copy from L1 to BT converts, half to float", use.api,
                name_of(dst.type), name_of(src.type)));
    }
    const uint64_t run = p.blockLen * block_bytes;
    local_runs(
        core, dst, src, run, p.blockCount, run + p.srcStride * block_bytes, run + p.dstStride * block_bytes, use);
}

// The count forms move whole 32 B blocks: the length is rounded down.
void copy_in_count(LocalOperand dst, GlobalOperand src, uint64_t bytes, Use use)
{
    const uint64_t run = whole_blocks(dst, bytes, use);
    in_runs(core_of(use), dst, src, run, 1, run, run, use);
}

void copy_out_count(GlobalOperand dst, LocalOperand src, uint64_t bytes, Use use)
{
    const uint64_t run = whole_blocks(src, bytes, use);
    out_runs(core_of(use), dst, src, run, 1, run, run, use);
}

void copy_local_count(LocalOperand dst, LocalOperand src, uint64_t bytes, Use use)
{
    const uint64_t run = whole_blocks(src, bytes, use);
    if (is_table(dst)) {
        return copy_to_table_count(core_of(use), dst, src, run, use);
    }
    local_runs(core_of(use), dst, src, run, 1, run, run, use);
}

void require_plain_copy(const AscendC::DataCopyEnhancedParams& p, Use use)
{
    if (p.blockMode != AscendC::BlockMode::BLOCK_MODE_NORMAL || p.deqScale != AscendC::DeqScale::DEQ_NONE ||
        p.isRelu || p.padMode != AscendC::pad_t::PAD_NONE) {
        raise("bad-argument", use,
            text_of("%s: 910B copies without a block mode, dequantization, ReLU or padding on the way "
                    "(DataCopyEnhancedParams); use Fixpipe for what leaves L0C",
                use.api));
    }
}

void raise_ub_to_l1(Use use)
{
    raise("bad-argument", use,
        text_of("%s: 910B has no way from UB to L1: the device headers send the data through the workspace of a "
                "high-level Matmul object, which is not simulated; copy to GM, and from there to L1 on the AIC",
            use.api));
}

void set_copy_padding(uint64_t bits)
{
    CubeState& state = core_of({"SetPadValue", {"", 0}}).cube;
    state.copy_padding = bits;
    state.copy_padding_set = true;
}

namespace {

void check_pad_params(const Core& core, const AscendC::DataCopyExtParams& p, DataType type, Use use)
{
    require_range(core, "blockCount", p.blockCount, 0, 4095, use);
    require_range(core, "blockLen", p.blockLen, 0, 2097151, use);
    if (core.device_checks && p.blockLen % size_of(type) != 0) {
        raise("bad-argument", use,
            text_of("%s: blockLen is %u bytes, but must be a multiple of the element size %u", use.api, p.blockLen,
                size_of(type)));
    }
}

}  // namespace

void copy_in_padded(
    LocalOperand dst, GlobalOperand src, const AscendC::DataCopyExtParams& p, const Padding& padding, Use use)
{
    Core& core = core_of(use);
    const Memory memory = dma_memory(core, dst, "dst", use);
    if (memory == Memory::l1) {
        raise("bad-argument", use, "DataCopyPad: GM to L1 does not exist on 910B; use DataCopy with whole 32 B blocks");
    }
    check_pad_params(core, p, dst.type, use);
    const uint64_t size = size_of(dst.type);
    require_range(core, "leftPadding in bytes", int64_t(padding.left * size), 0, 32, use);
    require_range(core, "rightPadding in bytes", int64_t(padding.right * size), 0, 32, use);
    if (core.device_checks && size == 8 && padding.enabled && padding.bits != 0) {
        raise("bad-argument", use, "DataCopyPad: the padding value of a 64-bit type must be 0");
    }
    if (memory == Memory::none || p.blockCount == 0 || p.blockLen == 0) {
        return;
    }
    // The value is state of the core: a call with isPad sets it, one without takes what SetPadValue or an earlier call
    // left (kernel_operator_data_copy_impl.h of dav_c220).
    if (padding.enabled) {
        core.cube.copy_padding = padding.bits;
        core.cube.copy_padding_set = true;
    }
    const uint64_t left = padding.left * size;
    const uint64_t right = padding.right * size;
    const uint64_t row = round_up(left + p.blockLen + right, block_bytes);
    const uint64_t dst_stride = row + p.dstStride * block_bytes;
    const uint64_t src_stride = uint64_t(p.blockLen) + p.srcStride;
    Instruction instruction(core, Pipe::mte2, use);
    const int to = instruction.local("dst", true, dst, memory, runs(dst.address, row, p.blockCount, dst_stride), 32);
    const int from = instruction.global("src", false, src, runs(src.address, p.blockLen, p.blockCount, src_stride));
    instruction.issue();
    for (uint64_t i = 0; i < p.blockCount; ++i) {
        uint8_t* target = instruction.data(to) + i * dst_stride;
        // What the padding value does not cover is unspecified on the device: 0xFF, so that nobody relies on it.
        std::memset(target, 0xff, left);
        std::memcpy(target + left, instruction.data(from) + i * src_stride, p.blockLen);
        std::memset(target + left + p.blockLen, 0xff, row - left - p.blockLen);
        if (core.cube.copy_padding_set) {
            for (uint64_t e = 0; e < padding.left; ++e) {
                std::memcpy(target + e * size, &core.cube.copy_padding, size);
            }
            for (uint64_t e = 0; e < padding.right; ++e) {
                std::memcpy(target + left + p.blockLen + e * size, &core.cube.copy_padding, size);
            }
        }
    }
}

void copy_out_padded(GlobalOperand dst, LocalOperand src, const AscendC::DataCopyExtParams& p, Use use)
{
    Core& core = core_of(use);
    check_pad_params(core, p, dst.type, use);
    const uint64_t src_stride = round_up(p.blockLen, block_bytes) + p.srcStride * block_bytes;
    const uint64_t dst_stride = uint64_t(p.blockLen) + p.dstStride;
    out_runs(core, dst, src, p.blockLen, p.blockCount, src_stride, dst_stride, use);
}

// Rows of an ND matrix become columns of 32 B blocks. The last block of a row is filled with zeros; rows are not
// padded to 16 (docs/hardware/units.md#transfers).
void copy_nd_to_nz(LocalOperand dst, GlobalOperand src, const AscendC::Nd2NzParams& p, Use use)
{
    Core& core = core_of(use);
    const Memory memory = dma_memory(core, dst, "dst", use);
    require_range(core, "ndNum", p.ndNum, 0, 4095, use);
    require_range(core, "nValue", p.nValue, 0, 16384, use);
    require_range(core, "dValue", p.dValue, 0, 65535, use);
    if (memory == Memory::none || p.ndNum == 0 || p.nValue == 0 || p.dValue == 0) {
        return;
    }
    require_range(core, "srcDValue", p.srcDValue, 1, 65535, use);
    require_range(core, "srcNdMatrixStride", p.srcNdMatrixStride, 0, 65535, use);
    require_range(core, "dstNzC0Stride", p.dstNzC0Stride, 1, 16384, use);
    require_range(core, "dstNzNStride", p.dstNzNStride, 1, 16384, use);
    require_range(core, "dstNzMatrixStride", p.dstNzMatrixStride, p.ndNum > 1 ? 1 : 0, 65535, use);
    const uint64_t size = size_of(dst.type);
    if (size > 4) {
        raise_type(use, "dst", dst.type, "an 8-, 16- or 32-bit type");
    }
    const uint64_t row_bytes = p.dValue * size;
    const uint64_t columns = (row_bytes + block_bytes - 1) / block_bytes;
    const uint64_t src_row = p.srcDValue * size;
    const uint64_t src_matrix = p.srcNdMatrixStride * size;
    const uint64_t dst_row = p.dstNzNStride * block_bytes;
    const uint64_t dst_column = p.dstNzC0Stride * block_bytes;
    const uint64_t dst_matrix = p.dstNzMatrixStride * size;

    Instruction instruction(core, Pipe::mte2, use);
    instruction.is_nd2nz = true;
    const int from = instruction.global("src", false, src, {src.address, row_bytes, p.nValue, src_row, p.ndNum, src_matrix});
    // Matrices beyond the operand slots are covered by one region over all columns of all of them.
    constexpr uint32_t slots = Instruction::capacity - 2;
    int to = -1;
    for (uint32_t matrix = 0; matrix < p.ndNum; ++matrix) {
        Region region = {dst.address + matrix * dst_matrix, block_bytes, p.nValue, dst_row, columns, dst_column};
        if (matrix == slots) {
            region = {region.start, (columns - 1) * dst_column + (p.nValue - 1) * dst_row + block_bytes, 1, 0,
                p.ndNum - matrix, dst_matrix};
        }
        const int operand = instruction.local("dst", true, dst, memory, region, 32);
        to = matrix == 0 ? operand : to;
        if (matrix == slots) {
            break;
        }
    }
    instruction.issue();

    const uint64_t full = row_bytes / block_bytes;
    const uint64_t tail = row_bytes % block_bytes;
    for (uint32_t matrix = 0; matrix < p.ndNum; ++matrix) {
        const uint8_t* source = instruction.data(from) + matrix * src_matrix;
        uint8_t* target = instruction.data(to) + matrix * dst_matrix;
        for (uint32_t n = 0; n < p.nValue; ++n) {
            const uint8_t* row = source + n * src_row;
            uint8_t* out = target + n * dst_row;
            for (uint64_t c = 0; c < full; ++c) {
                std::memcpy(out + c * dst_column, row + c * block_bytes, block_bytes);
            }
            if (tail != 0) {
                std::memcpy(out + full * dst_column, row + full * block_bytes, tail);
                std::memset(out + full * dst_column + tail, 0, block_bytes - tail);
            }
        }
    }
}

}  // namespace tile_simulator
