// Fixpipe (hardware.md 3.5): rows of L0C, converted, to GM (row major or NZ) or to L1 (NZ).
#include "ascend_c/fixpipe.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "atomic_write.h"
#include "instruction.h"
#include "number_arrays.h"
#include "rounding.h"

namespace tile_simulator {
namespace {

using AscendC::CO2Layout;
using AscendC::FixpipeParamsV220;

constexpr size_t block_width = 16;

const char* name_of_quant(QuantMode_t mode)
{
    switch (mode) {
        case NoQuant:
            return "NoQuant";
        case F322F16:
            return "F322F16";
        case F322BF16:
            return "F322BF16";
        case DEQF16:
            return "DEQF16";
        case VDEQF16:
            return "VDEQF16";
        case REQ8:
            return "REQ8";
        case VREQ8:
            return "VREQ8";
        case QF322B8_PRE:
            return "QF322B8_PRE";
        default:
            return "VQF322B8_PRE";
    }
}

// The one scalar mode for a pair of types, or NoQuant with `legal` false.
QuantMode_t mode_for(DataType dst, DataType src, bool& legal)
{
    legal = true;
    const bool byte = dst == DataType::i8 || dst == DataType::u8;
    if (src == DataType::f32) {
        if (dst == DataType::f32) {
            return NoQuant;
        }
        if (dst == DataType::f16) {
            return F322F16;
        }
        if (dst == DataType::bf16) {
            return F322BF16;
        }
        if (byte) {
            return QF322B8_PRE;
        }
    } else if (src == DataType::i32) {
        if (dst == DataType::i32) {
            return NoQuant;
        }
        if (dst == DataType::f16) {
            return DEQF16;
        }
        if (byte) {
            return REQ8;
        }
    }
    legal = false;
    return NoQuant;
}

void check(
    const Core& core, DataType dst, LocalOperand src, const FixpipeParamsV220& p, CO2Layout layout, bool to_l1, Use use)
{
    require_memory(src, Memory::l0c, "src", use);
    bool legal = false;
    const QuantMode_t mode = mode_for(dst, src.type, legal);
    if (!legal || (to_l1 && size_of(dst) == 4)) {
        raise("bad-argument", use,
            text_of("%s: %s to %s%s does not exist on 910B", use.api, name_of(src.type), name_of(dst),
                to_l1 ? " in L1" : ""));
    }
    if (p.quantPre == VDEQF16 || p.quantPre == VREQ8 || p.quantPre == VQF322B8_PRE) {
        raise("bad-argument", use,
            text_of("%s: quantPre %s needs the form with a scale tensor", use.api, name_of_quant(p.quantPre)));
    }
    if (p.quantPre != mode) {
        raise("bad-argument", use,
            text_of("%s: quantPre is %s, but must be %s for %s to %s", use.api, name_of_quant(p.quantPre),
                name_of_quant(mode), name_of(src.type), name_of(dst)));
    }
    const bool row_major = layout == CO2Layout::ROW_MAJOR;
    require_range(core, "nSize", p.nSize, 0, 4095, use);
    require_range(core, "mSize", p.mSize, 0, row_major ? 8192 : 65535, use);
    require_range(core, "srcStride", p.srcStride, 0, 65535, use);
    require_range(core, "dstStride", p.dstStride, 1, 0xffffffffll, use);
    require_range(core, "ndNum", p.ndNum, 1, row_major ? 65535 : 1, use);
    if (p.ndNum > 1) {
        require_range(core, "srcNdStride", p.srcNdStride, 1, 512, use);
        require_range(core, "dstNdStride", p.dstNdStride, 1, 65535, use);
    }
    if (!core.device_checks) {
        return;
    }
    const uint32_t n_unit = row_major ? 1 : p.isChannelSplit ? 8 : 16;
    if (p.nSize % n_unit != 0) {
        raise("bad-argument", use,
            text_of("%s: nSize is %u, but must be a multiple of %u in NZ layout", use.api, p.nSize, n_unit));
    }
    if (p.srcStride % 16 != 0 || p.srcStride < p.mSize) {
        raise("bad-argument", use,
            text_of("%s: srcStride is %u, but must be a multiple of 16 and at least mSize (%u)", use.api, p.srcStride,
                p.mSize));
    }
    if (p.isChannelSplit && (row_major || dst != DataType::f32)) {
        raise("bad-argument", use, text_of("%s: isChannelSplit is for float in NZ layout only", use.api));
    }
    if (row_major && p.dstStride < p.nSize && p.mSize > 1) {
        raise("bad-argument", use,
            text_of("%s: dstStride is %u elements, so the rows of %u elements would overlap", use.api, p.dstStride,
                p.nSize));
    }
}

// The scale keeps 1 + 8 + 10 bits of its float (hardware.md 3.5).
float scale_of(const FixpipeParamsV220& p)
{
    return float_of_bits(static_cast<uint32_t>(p.deqScalar) & 0xffffe000u);
}

// One run of up to 4095 values of a row to the destination type.
void convert_run(
    DataType dst, DataType src, const FixpipeParamsV220& p, const uint8_t* values, size_t count, uint8_t* out)
{
    const float scale = scale_of(p);
    if (src == DataType::f32) {
        float buffer[block_width];
        std::memcpy(buffer, values, count * 4);
        for (size_t i = 0; i < count && p.reluEn; ++i) {
            buffer[i] = buffer[i] <= 0.0f ? 0.0f : buffer[i];
        }
        switch (dst) {
            case DataType::f32:
                std::memcpy(out, buffer, count * 4);
                return;
            case DataType::f16:
                return float_to_half(buffer, reinterpret_cast<uint16_t*>(out), count);
            case DataType::bf16:
                return float_to_bfloat16(buffer, reinterpret_cast<uint16_t*>(out), count);
            default:
                for (size_t i = 0; i < count; ++i) {
                    const float scaled = round_to_integral<RoundMode::CAST_RINT>(buffer[i] * scale);
                    out[i] = dst == DataType::i8 ? static_cast<uint8_t>(saturate<int8_t>(scaled))
                                                 : saturate<uint8_t>(scaled);
                }
                return;
        }
    }
    int32_t buffer[block_width];
    std::memcpy(buffer, values, count * 4);
    for (size_t i = 0; i < count; ++i) {
        const int32_t value = p.reluEn ? std::max(buffer[i], 0) : buffer[i];
        const float scaled = static_cast<float>(value) * scale;
        switch (dst) {
            case DataType::i32:
                std::memcpy(out + i * 4, &value, 4);
                break;
            case DataType::f16: {
                const uint16_t bits = float_to_half_bits(scaled);
                std::memcpy(out + i * 2, &bits, 2);
                break;
            }
            default: {
                const float whole = round_to_integral<RoundMode::CAST_RINT>(scaled);
                out[i] = dst == DataType::i8 ? static_cast<uint8_t>(saturate<int8_t>(whole)) : saturate<uint8_t>(whole);
            }
        }
    }
}

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

// Writes one run of an NZ destination; byte types merge two source blocks into one 32-wide block.
template <class Write>
void write_nz(DataType dst, const FixpipeParamsV220& p, uint32_t row, uint32_t column, const uint8_t* converted,
    size_t count, Write write)
{
    const size_t width = nz_width(dst, p);
    const size_t size = size_of(dst);
    for (size_t i = 0; i < count; i += std::min(width, count)) {
        const size_t at = column + i;
        const size_t part = std::min(width, count - i);
        write((at / width) * uint64_t(p.dstStride) * 32 + (row * width + at % width) * size, converted + i * size,
            part * size);
    }
}

}  // namespace

void fixpipe_to_global(GlobalOperand dst, LocalOperand src, const FixpipeParamsV220& p, CO2Layout layout, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aic)) {
        return;
    }
    check(core, dst.type, src, p, layout, false, use);
    if (p.nSize == 0 || p.mSize == 0) {
        return;
    }
    check_atomic_type(core, dst.type, use);
    const uint64_t size = size_of(dst.type);
    const bool row_major = layout == CO2Layout::ROW_MAJOR;
    const uint64_t row_bytes = p.nSize * size;
    const uint64_t pitch = uint64_t(p.dstStride) * size;
    const uint64_t nd_pitch = uint64_t(p.dstNdStride) * size;
    const uint32_t matrices = row_major ? p.ndNum : 1;
    Instruction instruction(core, Pipe::fix, use);
    int to = 0;
    if (row_major) {
        to = instruction.global("dst", true, {dst.address, row_bytes, p.mSize, pitch, matrices, nd_pitch});
    } else {
        const uint64_t width = nz_width(dst.type, p);
        to = instruction.global("dst", true,
            Region::strided(dst.address, p.mSize * width * size, (p.nSize + width - 1) / width, p.dstStride * 32ull));
    }
    const int from = instruction.local("src", false, src, Memory::l0c, source_region(src, p, 0), 64);
    if (matrices > 1) {
        instruction.local("src", false, src, Memory::l0c, source_region(src, p, matrices - 1), 64);
    }
    instruction.issue();
    std::vector<uint8_t> line(row_bytes);
    for (uint32_t nd = 0; nd < matrices; ++nd) {
        uint8_t* target = instruction.data(to) + nd * nd_pitch;
        const uint8_t* source = instruction.data(from) + uint64_t(nd) * p.srcNdStride * 1024;
        uint8_t converted[64];
        for_runs(source, p, [&](uint32_t row, uint32_t column, const uint8_t* values, size_t count) {
            if (row_major) {
                convert_run(dst.type, src.type, p, values, count, line.data() + column * size);
                if (column + count == p.nSize) {
                    write_global(core, target + row * pitch, line.data(), row_bytes);
                }
            } else {
                convert_run(dst.type, src.type, p, values, count, converted);
                write_nz(dst.type, p, row, column, converted, count,
                    [&](uint64_t at, const uint8_t* from_run, size_t bytes) {
                        write_global(core, target + at, from_run, bytes);
                    });
            }
        });
    }
}

void fixpipe_to_l1(LocalOperand dst, LocalOperand src, const FixpipeParamsV220& p, CO2Layout layout, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aic)) {
        return;
    }
    if (layout != CO2Layout::NZ) {
        raise("bad-argument", use, text_of("%s: L0C to L1 exists in NZ layout only (CFG_NZ)", use.api));
    }
    check(core, dst.type, src, p, layout, true, use);
    require_memory(dst, Memory::l1, "dst", use);
    if (p.nSize == 0 || p.mSize == 0) {
        return;
    }
    const uint64_t size = size_of(dst.type);
    const uint64_t width = nz_width(dst.type, p);
    Instruction instruction(core, Pipe::fix, use);
    const int to = instruction.local("dst", true, dst, Memory::l1,
        Region::strided(dst.address, p.mSize * width * size, (p.nSize + width - 1) / width, p.dstStride * 32ull), 32);
    const int from = instruction.local("src", false, src, Memory::l0c, source_region(src, p, 0), 64);
    instruction.issue();
    uint8_t converted[64];
    for_runs(instruction.data(from), p, [&](uint32_t row, uint32_t column, const uint8_t* values, size_t count) {
        convert_run(dst.type, src.type, p, values, count, converted);
        write_nz(dst.type, p, row, column, converted, count,
            [&](uint64_t at, const uint8_t* run, size_t bytes) { std::memcpy(instruction.data(to) + at, run, bytes); });
    });
}

}  // namespace tile_simulator
