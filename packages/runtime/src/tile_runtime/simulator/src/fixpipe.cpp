// Fixpipe (docs/hardware/units.md#fixpipe): rows of L0C, converted, to GM (row major or NZ) or to L1 (NZ).
#include "ascend_c/fixpipe.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "ascend_c/sync.h"
#include "atomic_write.h"
#include "fixpipe_modes.h"
#include "instruction.h"
#include "quantize.h"
#include "unit_flags.h"

namespace tile_simulator {
namespace {

using AscendC::CO2Layout;
using AscendC::FixpipeParamsV220;

constexpr size_t block_width = 16;

// 32 B wide column blocks of the NZ destination, in elements: 16, or 8 for split float and 32 for bytes.
size_t nz_width(DataType dst, const FixpipeParamsV220& p)
{
    return size_of(dst) == 1 ? 32 : p.isChannelSplit ? 8 : 16;
}

Region source_region(LocalOperand src, const FixpipeParamsV220& p, uint32_t nd)
{
    const uint64_t blocks = (p.nSize + block_width - 1) / block_width;
    return Region::strided(
        src.address + uint64_t(nd) * p.srcNdStride * 1024, uint64_t(p.mSize) * 64, blocks, uint64_t(p.srcStride) * 64);
}

// Calls visit(row, first column, values, count) for every 16-wide run of the source.
template <class Visit>
void for_runs(const uint8_t* source, const FixpipeParamsV220& p, Visit visit)
{
    for (uint32_t row = 0; row < p.mSize; ++row) {
        for (uint32_t column = 0; column < p.nSize; column += block_width) {
            const size_t count = std::min<size_t>(block_width, p.nSize - column);
            visit(row, column, source + (uint64_t(column / block_width) * p.srcStride + row) * 64, count);
        }
    }
}

// Column blocks of an NZ destination. Bytes merge two source blocks into one 32 wide; an odd last one stays 16 wide (the
// vendor's page on channel merge).
struct Blocks {
    size_t width;
    size_t size;  // bytes of an element
    size_t whole;
    size_t tail;  // columns of the last block where it is not whole
};

Blocks blocks_of(DataType dst, const FixpipeParamsV220& p)
{
    const size_t width = nz_width(dst, p);
    const size_t size = size_of(dst);
    return size == 1 ? Blocks{width, size, p.nSize / width, p.nSize % width}
                     : Blocks{width, size, (p.nSize + width - 1) / width, 0};
}

// Calls add(region) for the whole blocks and for the last.
template <class Add>
void for_block_regions(uint64_t start, const Blocks& blocks, const FixpipeParamsV220& p, Add add)
{
    const uint64_t pitch = p.dstStride * 32ull;
    if (blocks.whole > 0) {
        add(Region::strided(start, p.mSize * blocks.width * blocks.size, blocks.whole, pitch));
    }
    if (blocks.tail > 0) {
        add(Region::bytes(start + blocks.whole * pitch, p.mSize * blocks.tail * blocks.size));
    }
}

// Writes one run of an NZ destination.
template <class Write>
void write_nz(const Blocks& blocks, const FixpipeParamsV220& p, uint32_t row, uint32_t column, const uint8_t* converted,
    size_t count, Write write)
{
    for (size_t i = 0; i < count; i += std::min(blocks.width, count)) {
        const size_t block = (column + i) / blocks.width;
        const size_t width = block < blocks.whole ? blocks.width : blocks.tail;
        const size_t part = std::min(blocks.width, count - i);
        write(block * uint64_t(p.dstStride) * 32 + (row * width + (column + i) % blocks.width) * blocks.size,
            converted + i * blocks.size, part * blocks.size);
    }
}

// Where the words with the scales are: one in a register, or one per column in FB.
struct Scales {
    uint64_t word;
    bool in_table;
    uint32_t address;  // in FB
};

// One instruction from L0C. `to_l1` and `layout` say where and how; GM takes part in atomic modes.
struct Move {
    Core& core;
    const FixpipeParamsV220& p;
    CO2Layout layout;
    Scales scales;
    Use use;

    int add_table(Instruction& instruction) const
    {
        if (!scales.in_table) {
            return -1;
        }
        const LocalOperand table = {scales.address, static_cast<uint8_t>(AscendC::TPosition::C2PIPE2GM), DataType::u64, {}};
        return instruction.local(
            "scales", false, table, Memory::fixpipe, Region::bytes(scales.address, p.nSize * 8ull), 0);
    }
    const uint64_t* words(const Instruction& instruction, int table, uint32_t column) const
    {
        return table < 0 ? &scales.word : reinterpret_cast<const uint64_t*>(instruction.data(table)) + column;
    }
    void add_source(Instruction& instruction, LocalOperand src, uint32_t matrices, int& from) const
    {
        instruction.unit_flag = p.unitFlag;
        for (uint32_t nd = 0; nd < matrices; ++nd) {
            const Region region = source_region(src, p, nd);
            unit_flags_read(core, region, p.unitFlag, use);
            // Matrices beyond the operand slots are covered by one region from the next to the last.
            const bool last_slot = instruction.count + 1 == Instruction::capacity && nd + 1 < matrices;
            const uint64_t end = source_region(src, p, matrices - 1).end();
            const Region covered = last_slot ? Region::bytes(region.start, end - region.start) : region;
            if (instruction.count < Instruction::capacity) {
                const int operand = instruction.local("src", false, src, Memory::l0c, covered, 64);
                from = nd == 0 ? operand : from;
            }
        }
    }
    void to_global(GlobalOperand dst, LocalOperand src) const;
    void to_l1(LocalOperand dst, LocalOperand src) const;
};

void Move::to_global(GlobalOperand dst, LocalOperand src) const
{
    const uint64_t size = size_of(dst.type);
    const bool row_major = layout == CO2Layout::ROW_MAJOR;
    const uint64_t row_bytes = p.nSize * size;
    const uint64_t pitch = uint64_t(p.dstStride) * size;
    const uint64_t nd_pitch = uint64_t(p.dstNdStride) * size;
    const uint32_t matrices = row_major ? p.ndNum : 1;
    const Blocks blocks = blocks_of(dst.type, p);
    Instruction instruction(core, Pipe::fix, use);
    int to = 0;
    if (row_major) {
        to = instruction.global("dst", true, dst, {dst.address, row_bytes, p.mSize, pitch, matrices, nd_pitch});
    } else {
        for_block_regions(dst.address, blocks, p, [&](const Region& region) { instruction.global("dst", true, dst, region); });
    }
    const int table = add_table(instruction);
    int from = 0;
    add_source(instruction, src, matrices, from);
    instruction.issue();
    if (core.astray) {
        return;
    }
    std::vector<uint8_t> line(row_bytes);
    for (uint32_t nd = 0; nd < matrices; ++nd) {
        uint8_t* target = instruction.data(to) + nd * nd_pitch;
        const uint8_t* source = instruction.data(from) + uint64_t(nd) * p.srcNdStride * 1024;
        uint8_t converted[64];
        for_runs(source, p, [&](uint32_t row, uint32_t column, const uint8_t* values, size_t count) {
            const uint64_t* scale = words(instruction, table, column);
            if (row_major) {
                quantize(dst.type, src.type, p.reluEn, core.saturation.floats, scale, table >= 0, values, count,
                    line.data() + column * size);
                if (column + count == p.nSize) {
                    write_global(core, target + row * pitch, line.data(), row_bytes);
                }
            } else {
                quantize(dst.type, src.type, p.reluEn, core.saturation.floats, scale, table >= 0, values, count,
                    converted);
                write_nz(blocks, p, row, column, converted, count,
                    [&](uint64_t at, const uint8_t* run, size_t bytes) {
                        write_global(core, target + at, run, bytes);
                    });
            }
        });
    }
}

void Move::to_l1(LocalOperand dst, LocalOperand src) const
{
    const Blocks blocks = blocks_of(dst.type, p);
    Instruction instruction(core, Pipe::fix, use);
    const int to = 0;  // the first operand starts where dst does
    for_block_regions(dst.address, blocks, p,
        [&](const Region& region) { instruction.local("dst", true, dst, Memory::l1, region, 32); });
    const int table = add_table(instruction);
    int from = 0;
    add_source(instruction, src, 1, from);
    instruction.issue();
    uint8_t converted[64];
    for_runs(instruction.data(from), p, [&](uint32_t row, uint32_t column, const uint8_t* values, size_t count) {
        quantize(dst.type, src.type, p.reluEn, core.saturation.floats, words(instruction, table, column), table >= 0,
            values, count, converted);
        write_nz(blocks, p, row, column, converted, count,
            [&](uint64_t at, const uint8_t* run, size_t bytes) { std::memcpy(instruction.data(to) + at, run, bytes); });
    });
}

// The device headers hold 256 scales in FB at a time: more columns are moved in parts of 128.
constexpr uint32_t table_columns = 256;
constexpr uint32_t part_columns = 128;

// Moves the scales of `columns` columns to the start of FB.
void load_scales(Core& core, LocalOperand scales, uint32_t first, uint32_t columns, Use use)
{
    require_memory(scales, Memory::l1, "scales", use);
    const uint64_t bytes = (columns * 8ull + 127) / 128 * 128;
    const LocalOperand table = {0, static_cast<uint8_t>(AscendC::TPosition::C2PIPE2GM), DataType::u64, {}};
    Instruction instruction(core, Pipe::fix, use);
    const int to = instruction.local("FB", true, table, Memory::fixpipe, Region::bytes(0, bytes), 128);
    const int from = instruction.local(
        "scales", false, scales, Memory::l1, Region::bytes(scales.address + first * 8ull, bytes), 32);
    instruction.issue();
    std::memcpy(instruction.data(to), instruction.data(from), bytes);
    core.cube.quant_address = 0;
    core.cube.has_quant_table = true;
}

// Runs `move(parameters, scales, first column)` once, or for a tensor of scales once for every part. Every call of
// Fixpipe starts with a barrier of its pipe (kernel_operator_fixpipe_v2_impl.h).
template <class MovePart>
void for_parts(Core& core, const LocalOperand* scales, const FixpipeParamsV220& p, Use use, MovePart move)
{
    if (scales == nullptr || !is_vector_mode(p.quantPre)) {
        if (is_scaled_mode(p.quantPre)) {
            core.cube.pre_quant = p.deqScalar;
            mark_known(core, Register::pre_quantization);
        }
        pipe_barrier(PIPE_FIX, use);
        return move(p, Scales{core.cube.pre_quant, false, 0}, 0);
    }
    const uint32_t step = p.nSize <= table_columns ? p.nSize : part_columns;
    for (uint32_t first = 0; first < p.nSize; first += step) {
        FixpipeParamsV220 part = p;
        part.nSize = std::min(step, p.nSize - first);
        pipe_barrier(PIPE_FIX, use);
        load_scales(core, *scales, first, part.nSize, use);
        pipe_barrier(PIPE_FIX, use);
        move(part, Scales{0, true, 0}, first);
    }
}

LocalOperand column_of(LocalOperand src, const FixpipeParamsV220& p, uint32_t first)
{
    src.address += first / block_width * p.srcStride * 64;
    return src;
}

FixpipeParamsV220 params_of(Core& core, const AscendC::DataCopyCO12DstParams& p, Use use)
{
    if (p.clipReluPre != 0 || p.eltWiseOp != 0) {
        raise("bad-argument", use, text_of("%s: clipReluPre and eltWiseOp do not exist on 910B", use.api));
    }
    require_range(core, "reluPre", p.reluPre, 0, 1, use);
    if (p.nz2ndEn) {
        require_setting(core, Register::nd_matrices, use);
    }
    if (is_scaled_mode(p.quantPre) && !is_vector_mode(p.quantPre)) {
        require_setting(core, Register::pre_quantization, use);
    }
    FixpipeParamsV220 result(p.nSize, p.mSize, p.srcStride, p.dstStride, p.reluPre != 0);
    result.quantPre = p.quantPre;
    result.unitFlag = p.unitFlag;
    result.isChannelSplit = p.channelSplit;
    result.ndNum = p.nz2ndEn ? core.cube.nd_count : 1;
    result.srcNdStride = core.cube.src_nd_stride;
    result.dstNdStride = core.cube.dst_nd_stride;
    return result;
}

Scales scales_of(const Core& core, QuantMode_t mode)
{
    return {core.cube.pre_quant, is_vector_mode(mode), core.cube.quant_address};
}

}  // namespace

void fixpipe_to_global(GlobalOperand dst, LocalOperand src, const LocalOperand* scales, const FixpipeParamsV220& p,
    CO2Layout layout, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aic)) {
        return;
    }
    check_fixpipe(core, dst.type, src, p, layout, false, scales != nullptr, use);
    if (p.nSize == 0 || p.mSize == 0) {
        return;
    }
    check_atomic_type(core, dst.type, use);
    if (layout == CO2Layout::ROW_MAJOR) {
        set_fixpipe_matrices(p.ndNum, p.srcNdStride, p.dstNdStride, use);
    }
    for_parts(core, scales, p, use, [&](const FixpipeParamsV220& part, Scales words, uint32_t first) {
        GlobalOperand target = dst;
        // NZ: as the headers step, a column block of the destination for every 16 columns of the source.
        target.address += layout == CO2Layout::ROW_MAJOR ? first * uint64_t(size_of(dst.type))
                                                         : first / block_width * uint64_t(p.dstStride) * 32;
        Move{core, part, layout, words, use}.to_global(target, column_of(src, p, first));
    });
}

void fixpipe_to_l1(LocalOperand dst, LocalOperand src, const LocalOperand* scales, const FixpipeParamsV220& p,
    CO2Layout layout, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aic)) {
        return;
    }
    if (layout != CO2Layout::NZ) {
        raise("bad-argument", use, text_of("%s: L0C to L1 exists in NZ layout only (CFG_NZ)", use.api));
    }
    check_fixpipe(core, dst.type, src, p, layout, true, scales != nullptr, use);
    require_memory(dst, Memory::l1, "dst", use);
    if (p.nSize == 0 || p.mSize == 0) {
        return;
    }
    for_parts(core, scales, p, use, [&](const FixpipeParamsV220& part, Scales words, uint32_t first) {
        LocalOperand target = dst;
        target.address += first / static_cast<uint32_t>(block_width) * p.dstStride * 32;
        Move{core, part, layout, words, use}.to_l1(target, column_of(src, p, first));
    });
}

void copy_l0c_to_global(GlobalOperand dst, LocalOperand src, const AscendC::DataCopyCO12DstParams& params, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aic)) {
        return;
    }
    const CO2Layout layout = params.nz2ndEn ? CO2Layout::ROW_MAJOR : CO2Layout::NZ;
    const FixpipeParamsV220 p = params_of(core, params, use);
    check_fixpipe(core, dst.type, src, p, layout, false, core.cube.has_quant_table, use);
    if (p.nSize != 0 && p.mSize != 0) {
        check_atomic_type(core, dst.type, use);
        Move{core, p, layout, scales_of(core, p.quantPre), use}.to_global(dst, src);
    }
}

void copy_l0c_to_l1(LocalOperand dst, LocalOperand src, const AscendC::DataCopyCO12DstParams& params, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aic)) {
        return;
    }
    if (params.nz2ndEn) {
        raise("bad-argument", use, text_of("%s: L0C to L1 exists in NZ layout only (nz2ndEn = false)", use.api));
    }
    const FixpipeParamsV220 p = params_of(core, params, use);
    check_fixpipe(core, dst.type, src, p, CO2Layout::NZ, true, core.cube.has_quant_table, use);
    require_memory(dst, Memory::l1, "dst", use);
    if (p.nSize != 0 && p.mSize != 0) {
        Move{core, p, CO2Layout::NZ, scales_of(core, p.quantPre), use}.to_l1(dst, src);
    }
}

}  // namespace tile_simulator
