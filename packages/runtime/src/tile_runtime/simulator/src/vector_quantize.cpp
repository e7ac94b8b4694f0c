// AddReluCast, SubReluCast, MulCast, CastDeq (int16 to 8 bits), and the register SetDeqScale writes.
#include "ascend_c/vector_quantize.h"

#include <algorithm>

#include "elementwise.h"
#include "rounding.h"
#include "touched_bytes.h"

namespace tile_simulator {
namespace {

// Sums and differences of int16 end at its ends, in every mode (the vendor's tables of edge values of AddReluCast and
// SubReluCast).
constexpr Saturation in_range = {false, true, true};

struct AddRelu {
    template <class T>
    static T apply(T a, T b)
    {
        return rectify(add(a, b, in_range));
    }
};
struct SubRelu {
    template <class T>
    static T apply(T a, T b)
    {
        return rectify(subtract(a, b, in_range));
    }
};
struct Mul {
    static float apply(float a, float b) { return a * b; }
};

// half to 8 bits. The result is as of two instructions (the vendor's overview of compound operations: only a wider
// destination gains precision): rounded to half, then to the nearest even integer, saturated.
template <class D, class Op>
void half_to_byte(uint8_t* const* operands, size_t count, const void*)
{
    D* dst = reinterpret_cast<D*>(operands[0]);
    alignas(64) float a[half_chunk];
    alignas(64) float b[half_chunk];
    uint16_t rounded[half_chunk];
    for (size_t start = 0; start < count; start += half_chunk) {
        const size_t n = std::min(half_chunk, count - start);
        half_to_float(reinterpret_cast<const uint16_t*>(operands[1]) + start, a, n);
        half_to_float(reinterpret_cast<const uint16_t*>(operands[2]) + start, b, n);
        for (size_t i = 0; i < n; ++i) {
            a[i] = Op::apply(a[i], b[i]);
        }
        float_to_half(a, rounded, n);
        half_to_float(rounded, a, n);
        for (size_t i = 0; i < n; ++i) {
            dst[start + i] = saturate<D>(round_to_integral<RoundMode::CAST_RINT>(a[i]));
        }
    }
}

template <class Op>
void short_to_byte(uint8_t* const* operands, size_t count, const void*)
{
    int8_t* dst = reinterpret_cast<int8_t*>(operands[0]);
    const int16_t* a = reinterpret_cast<const int16_t*>(operands[1]);
    const int16_t* b = reinterpret_cast<const int16_t*>(operands[2]);
    for (size_t i = 0; i < count; ++i) {
        dst[i] = static_cast<int8_t>(std::clamp<int16_t>(Op::apply(a[i], b[i]), INT8_MIN, INT8_MAX));
    }
}

template <class Op>
void float_to_half_pairs(uint8_t* const* operands, size_t count, const void*)
{
    uint16_t* dst = reinterpret_cast<uint16_t*>(operands[0]);
    const float* a = reinterpret_cast<const float*>(operands[1]);
    const float* b = reinterpret_cast<const float*>(operands[2]);
    for (size_t i = 0; i < count; ++i) {
        dst[i] = float_to_half_bits(Op::apply(a[i], b[i]));
    }
}

template <class Op>
VectorKernel rectifying(DataType src)
{
    return src == DataType::f16   ? &half_to_byte<int8_t, Op>
           : src == DataType::i16 ? &short_to_byte<Op>
                                  : &float_to_half_pairs<Op>;
}

VectorKernel kernel_of(ConvertingOp op, DataType dst, DataType src)
{
    switch (op) {
        case ConvertingOp::add_relu:
            return rectifying<AddRelu>(src);
        case ConvertingOp::sub_relu:
            return rectifying<SubRelu>(src);
        default:
            return dst == DataType::i8 ? &half_to_byte<int8_t, Mul> : &half_to_byte<uint8_t, Mul>;
    }
}

}  // namespace

void vector_converting(ConvertingOp op, LocalOperand dst, LocalOperand src0, LocalOperand src1, const VectorForm& form,
    const AscendC::BinaryRepeatParams& p, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    const VectorOperand operands[3] = {
        {"dst", dst, size_of(dst.type), p.dstBlkStride, p.dstRepStride, 255},
        {"src0", src0, size_of(src0.type), p.src0BlkStride, p.src0RepStride, 255},
        {"src1", src1, size_of(src1.type), p.src1BlkStride, p.src1RepStride, 255},
    };
    run_elementwise(core, operands, 3, form, kernel_of(op, dst.type, src0.type), nullptr, use);
}

namespace {

// One word of the quantisation register or table: a float of 1 + 8 + 10 bits, a 9-bit offset, the sign.
constexpr uint32_t offset_bit = 37;
constexpr uint32_t sign_bit = 46;

uint64_t quantization_word(float scale, int32_t offset, bool is_signed)
{
    return uint64_t(bits_of_float(scale)) | (uint64_t(offset) & 0x1ff) << offset_bit | uint64_t(is_signed) << sign_bit;
}

float scale_in(uint64_t word)
{
    return float_of_bits(static_cast<uint32_t>(word) & ~0x1fffu);
}

float offset_in(uint64_t word)
{
    const int32_t bits = static_cast<int32_t>(word >> offset_bit & 0x1ff);
    return static_cast<float>(bits >= 256 ? bits - 512 : bits);
}

constexpr uint32_t block = 32;
constexpr uint32_t per_block = 16;  // int16 elements of a block, and bytes of the half it is quantised to

// Where lane `lane` of a repeat goes.
uint64_t target_of(uint64_t dst, const AscendC::UnaryRepeatParams& p, bool high, uint32_t lane)
{
    return dst + uint64_t(lane / per_block) * p.dstBlkStride * block + (high ? per_block : 0) + lane % per_block;
}

void add_target(Instruction& instruction, const LocalOperand& dst, const AscendC::UnaryRepeatParams& p, bool high,
    const Lanes& lanes, uint32_t active, uint64_t first, uint64_t repeats)
{
    std::vector<Run> runs;
    const uint64_t stride = uint64_t(p.dstRepStride) * block;
    for (uint32_t lane = 0; lane < active; ++lane) {
        if (lanes.prefix || lanes.lane(lane)) {
            runs.push_back({target_of(dst.address + first * stride, p, high, lane), 1});
        }
    }
    std::vector<Region> regions = regions_of(runs, repeats, stride);
    if (regions.size() > 2) {
        regions = {covering(regions)};
    }
    for (const Region& region : regions) {
        instruction.local("dst", true, dst, Memory::ub, region, 0);
    }
}

void check_quantization(const Core& core, DataType dst, bool table, const uint64_t* words, uint32_t count, Use use)
{
    using Dequantization = VectorRegisters::Dequantization;
    const Dequantization set = core.vector_registers.dequantization;
    if (core.device_checks && set != (table ? Dequantization::table : Dequantization::one)) {
        raise("bad-argument", use,
            text_of("%s: isVecDeq = %s needs SetDeqScale(%s) before it", use.api, table ? "true" : "false",
                table ? "tensor, VdeqInfo" : "scale, offset, signMode"));
    }
    for (uint32_t i = 0; i < count && core.device_checks; ++i) {
        if ((words[i] >> sign_bit & 1u) != (dst == DataType::i8 ? 1u : 0u)) {
            raise("bad-argument", use,
                text_of("%s: dst is %s, but signMode was set %s", use.api, name_of(dst),
                    dst == DataType::i8 ? "false" : "true"));
        }
    }
}

}  // namespace

void vector_quantize(LocalOperand dst, LocalOperand src, QuantizeTarget target, const VectorForm& form,
    const AscendC::UnaryRepeatParams& p, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    require_memory(dst, Memory::ub, "dst", use);
    require_range(core, "dstBlkStride", p.dstBlkStride, 1, 65535, use);
    require_range(core, "dstRepStride", p.dstRepStride, 0, 255, use);
    const VectorOperand source = {"src", src, 2, p.srcBlkStride, p.srcRepStride, 255};
    const Lanes lanes = resolve_repeats(core, form, 2, use);
    Instruction instruction(core, Pipe::v, use);
    instruction.work = vector_work(lanes, 1);
    if (lanes.nothing) {
        instruction.issue();
        return;
    }
    require_aligned(core, "dst", dst, 32, use);
    const uint32_t last = lanes.active(lanes.repeats - 1);
    const bool uneven = last != lanes.top;
    if (lanes.repeats > uneven) {
        add_target(instruction, dst, p, target.high, lanes, lanes.top, 0, lanes.repeats - uneven);
    }
    if (uneven) {
        add_target(instruction, dst, p, target.high, lanes, last, lanes.repeats - 1, 1);
    }
    add_vector_operand(instruction, source, false, lanes);
    uint64_t words[per_block] = {core.vector_registers.dequantization_config};
    const LocalOperand& table = core.vector_registers.dequantization_table;
    check_quantization(core, dst.type, target.table, words, target.table ? 0 : 1, use);
    if (target.table) {
        instruction.local("vdeq", false, table, Memory::ub, Region::bytes(table.address, sizeof(words)), 32);
    }
    instruction.issue();
    if (target.table) {
        std::memcpy(words, ub_data(core, table.address), sizeof(words));
        check_quantization(core, dst.type, true, words, per_block, use);
    }
    alignas(64) int16_t values[128];
    for (uint64_t repeat = 0; repeat < lanes.repeats; ++repeat) {
        const uint32_t active = lanes.active(repeat);
        gather_repeat(ub_data(core, src.address), source, repeat, active, reinterpret_cast<uint8_t*>(values));
        for (uint32_t lane = 0; lane < active; ++lane) {
            if (!lanes.prefix && !lanes.lane(lane)) {
                continue;
            }
            const uint64_t word = words[target.table ? lane % per_block : 0];
            const float product = static_cast<float>(values[lane]) * scale_in(word);
            const float rounded = round_to_integral<RoundMode::CAST_RINT>(product + offset_in(word));
            uint8_t* to = ub_data(core, target_of(dst.address + repeat * p.dstRepStride * block, p, target.high, lane));
            *to = dst.type == DataType::i8 ? static_cast<uint8_t>(saturate<int8_t>(rounded))
                                           : saturate<uint8_t>(rounded);
        }
    }
}

void set_half_scale(float scale, Use use)
{
    Core& core = core_of(use);
    core.dequantization_scale = scale;
    core.vector_registers.dequantization = VectorRegisters::Dequantization::half_scale;
    record_setting(core, Register::dequantization, use);
}

void set_quantization(float scale, int32_t offset, bool is_signed, Use use)
{
    Core& core = core_of(use);
    require_range(core, "offset", offset, -256, 255, use);
    core.vector_registers.dequantization = VectorRegisters::Dequantization::one;
    core.vector_registers.dequantization_config = quantization_word(scale, offset, is_signed);
    record_setting(core, Register::dequantization, use);
}

void set_quantization_table(LocalOperand table, const AscendC::VdeqInfo& info, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    require_memory(table, Memory::ub, "vdeq", use);
    require_aligned(core, "vdeq", table, 32, use);
    for (uint32_t i = 0; i < per_block; ++i) {
        require_range(core, "vdeqOffset", info.vdeqOffset[i], -256, 255, use);
        const uint64_t word = quantization_word(info.vdeqScale[i], info.vdeqOffset[i], info.vdeqSignMode[i]);
        local_store(table, i * sizeof(word), sizeof(word), &word, use);
    }
    core.vector_registers.dequantization = VectorRegisters::Dequantization::table;
    core.vector_registers.dequantization_table = table;
    record_setting(core, Register::dequantization, use);
}

}  // namespace tile_simulator
