#include "cast_int4.h"

#include <cstring>

#include "rounding.h"
#include "vector_engine.h"

namespace tile_simulator {
namespace {

constexpr uint64_t block_bytes = 32;

// The lanes of the four-bit operand counted in bytes: a byte takes part if either of its elements does.
Lanes pairs_of(const Lanes& lanes)
{
    Lanes pairs = lanes;
    pairs.total = (lanes.total + 1) / 2;
    pairs.per_repeat = lanes.per_repeat / 2;
    pairs.top = (lanes.top + 1) / 2;
    pairs.mask[0] = pairs.mask[1] = 0;
    for (uint32_t lane = 0; lane < lanes.per_repeat; ++lane) {
        if (lanes.lane(lane)) {
            pairs.mask[0] |= uint64_t(1) << lane / 2;
        }
    }
    return pairs;
}

float rounded(float value, RoundMode mode)
{
    switch (mode) {
        case RoundMode::CAST_FLOOR:
            return round_to_integral<RoundMode::CAST_FLOOR>(value);
        case RoundMode::CAST_CEIL:
            return round_to_integral<RoundMode::CAST_CEIL>(value);
        case RoundMode::CAST_ROUND:
            return round_to_integral<RoundMode::CAST_ROUND>(value);
        case RoundMode::CAST_TRUNC:
            return round_to_integral<RoundMode::CAST_TRUNC>(value);
        default:
            return round_to_integral<RoundMode::CAST_RINT>(value);
    }
}

// Saturates unless that is switched off, as all casts to integers; NaN becomes 0.
uint8_t to_int4(half value, RoundMode mode, bool saturates)
{
    const float whole = rounded(static_cast<float>(value), mode);
    if (!saturates && std::isfinite(whole)) {
        return static_cast<uint8_t>(low_bits<int32_t>(whole) & 15);
    }
    const float inside = whole > 7 ? 7 : whole < -8 ? -8 : whole == whole ? whole : 0;
    return static_cast<uint8_t>(static_cast<int32_t>(inside) & 15);
}

void convert(uint8_t* halves, uint8_t* pair, bool second, bool widen, RoundMode mode, bool saturates)
{
    const uint32_t shift = second ? 4 : 0;
    half value;
    if (widen) {
        const int32_t four = *pair >> shift & 15;
        value = static_cast<half>(static_cast<float>(four >= 8 ? four - 16 : four));
        std::memcpy(halves, &value, 2);
        return;
    }
    std::memcpy(&value, halves, 2);
    *pair = static_cast<uint8_t>((*pair & ~(15u << shift)) | uint32_t(to_int4(value, mode, saturates)) << shift);
}

}  // namespace

void cast_int4(Core& core, LocalOperand dst, LocalOperand src, RoundMode mode, const VectorForm& form,
    const AscendC::UnaryRepeatParams& p, Use use)
{
    const bool widen = src.type == DataType::i4;
    const Lanes lanes = resolve_lanes(core, form, 2, use);
    if (lanes.contiguous && lanes.total % 2 != 0 && core.device_checks) {
        raise("bad-argument", use,
            text_of("%s: %llu elements, but int4 goes in pairs: the count must be even", use.api,
                static_cast<unsigned long long>(lanes.total)));
    }
    Instruction instruction(core, Pipe::v, use);
    instruction.work = vector_work(lanes, 1);
    if (lanes.nothing) {
        instruction.issue();
        return;
    }
    const Lanes pairs = pairs_of(lanes);
    const VectorOperand target = {"dst", dst, widen ? 2u : 1u, p.dstBlkStride, p.dstRepStride, 255};
    const VectorOperand source = {"src", src, widen ? 1u : 2u, p.srcBlkStride, p.srcRepStride, 255};
    const int to = add_vector_operand(instruction, target, true, widen ? lanes : pairs);
    const int from = add_vector_operand(instruction, source, false, widen ? pairs : lanes);
    instruction.issue();
    uint8_t* const halves = instruction.data(widen ? to : from);
    uint8_t* const four = instruction.data(widen ? from : to);
    if (lanes.contiguous) {
        for (uint64_t i = 0; i < lanes.total; ++i) {
            convert(halves + 2 * i, four + i / 2, i % 2 != 0, widen, mode, core.saturation.casts);
        }
        return;
    }
    // 16 halves or 64 four-bit elements to a block of 32 B.
    const auto place = [](const VectorOperand& operand, uint64_t repeat, uint64_t block) {
        return (repeat * uint64_t(operand.repeat_stride) + block * uint64_t(operand.block_stride)) * block_bytes;
    };
    const VectorOperand& wide = widen ? target : source;
    const VectorOperand& narrow = widen ? source : target;
    for (uint64_t repeat = 0; repeat < lanes.repeats; ++repeat) {
        for (uint32_t lane = 0; lane < lanes.active(repeat); ++lane) {
            if (lanes.prefix || lanes.lane(lane)) {
                convert(halves + place(wide, repeat, lane / 16) + lane % 16 * 2,
                    four + place(narrow, repeat, lane / 64) + lane % 64 / 2, lane % 2 != 0, widen, mode,
                    core.saturation.casts);
            }
        }
    }
}

}  // namespace tile_simulator
