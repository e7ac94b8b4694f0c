// Cast: every pair and mode of the vendor's table for A2 and A3 (docs/hardware/units.md#conversions); any other is an
// error.
#include "ascend_c/vector_cast.h"

#include "cast_int4.h"
#include "elementwise.h"
#include "rounding.h"

namespace tile_simulator {
namespace {

struct CastContext {
    RoundMode mode;
    float scale;
    bool saturates;  // conversions to integers
};

const CastContext& cast_in(const void* context)
{
    return *static_cast<const CastContext*>(context);
}

template <class D, RoundMode mode>
void float_to_integer_loop(const float* src, D* dst, size_t count, bool saturates)
{
    if (!saturates) {
        for (size_t i = 0; i < count; ++i) {
            dst[i] = low_bits<D>(round_to_integral<mode>(src[i]));
        }
        return;
    }
    TILE_INDEPENDENT
    for (size_t i = 0; i < count; ++i) {
        dst[i] = saturate<D>(round_to_integral<mode>(src[i]));
    }
}

template <class D>
void float_to_integer_array(const float* src, D* dst, size_t count, const CastContext& context)
{
    switch (context.mode) {
        case RoundMode::CAST_FLOOR:
            return float_to_integer_loop<D, RoundMode::CAST_FLOOR>(src, dst, count, context.saturates);
        case RoundMode::CAST_CEIL:
            return float_to_integer_loop<D, RoundMode::CAST_CEIL>(src, dst, count, context.saturates);
        case RoundMode::CAST_ROUND:
            return float_to_integer_loop<D, RoundMode::CAST_ROUND>(src, dst, count, context.saturates);
        case RoundMode::CAST_TRUNC:
            return float_to_integer_loop<D, RoundMode::CAST_TRUNC>(src, dst, count, context.saturates);
        default:
            return float_to_integer_loop<D, RoundMode::CAST_RINT>(src, dst, count, context.saturates);
    }
}

template <class D>
void float_to_integer(uint8_t* const* operands, size_t count, const void* context)
{
    float_to_integer_array(
        reinterpret_cast<const float*>(operands[1]), reinterpret_cast<D*>(operands[0]), count, cast_in(context));
}

using Widen = void (*)(const uint16_t*, float*, size_t);

// half or bfloat16 to an integer, through float (exact).
template <class D, Widen widen>
void small_to_integer(uint8_t* const* operands, size_t count, const void* context)
{
    alignas(64) float values[half_chunk];
    for (size_t start = 0; start < count; start += half_chunk) {
        const size_t n = count - start < half_chunk ? count - start : half_chunk;
        widen(reinterpret_cast<const uint16_t*>(operands[1]) + start, values, n);
        float_to_integer_array(values, reinterpret_cast<D*>(operands[0]) + start, n, cast_in(context));
    }
}

template <Widen widen>
void small_to_float(uint8_t* const* operands, size_t count, const void*)
{
    widen(reinterpret_cast<const uint16_t*>(operands[1]), reinterpret_cast<float*>(operands[0]), count);
}

bool to_nearest_even(RoundMode mode)
{
    return mode == RoundMode::CAST_RINT || mode == RoundMode::CAST_NONE;
}

using Narrow = void (*)(const float*, uint16_t*, size_t);

template <class Format, Narrow narrow>
void float_to_small(uint8_t* const* operands, size_t count, const void* context)
{
    const float* src = reinterpret_cast<const float*>(operands[1]);
    uint16_t* dst = reinterpret_cast<uint16_t*>(operands[0]);
    const RoundMode mode = cast_in(context).mode;
    if (to_nearest_even(mode)) {
        return narrow(src, dst, count);
    }
    for (size_t i = 0; i < count; ++i) {
        // Beyond the range every mode gives infinity (docs/hardware/units.md#conversions).
        const bool ordinary = std::isfinite(src[i]) && !std::isinf(Format::decode(Format::encode(src[i])));
        dst[i] = ordinary ? round_to_format<Format, double>(src[i], mode) : Format::encode(src[i]);
    }
}

template <RoundMode mode>
void round_floats(const float* src, float* dst, size_t count)
{
    TILE_INDEPENDENT
    for (size_t i = 0; i < count; ++i) {
        dst[i] = round_to_integral<mode>(src[i]) + 0.0f;  // -0 becomes +0
    }
}

// float to float rounds to an integral value.
void float_to_float(uint8_t* const* operands, size_t count, const void* context)
{
    const float* src = reinterpret_cast<const float*>(operands[1]);
    float* dst = reinterpret_cast<float*>(operands[0]);
    switch (cast_in(context).mode) {
        case RoundMode::CAST_FLOOR:
            return round_floats<RoundMode::CAST_FLOOR>(src, dst, count);
        case RoundMode::CAST_CEIL:
            return round_floats<RoundMode::CAST_CEIL>(src, dst, count);
        case RoundMode::CAST_ROUND:
            return round_floats<RoundMode::CAST_ROUND>(src, dst, count);
        case RoundMode::CAST_TRUNC:
            return round_floats<RoundMode::CAST_TRUNC>(src, dst, count);
        default:
            return round_floats<RoundMode::CAST_RINT>(src, dst, count);
    }
}

template <class S>
void integer_to_float(uint8_t* const* operands, size_t count, const void* context)
{
    const S* src = reinterpret_cast<const S*>(operands[1]);
    float* dst = reinterpret_cast<float*>(operands[0]);
    const RoundMode mode = cast_in(context).mode;
    if (to_nearest_even(mode) || sizeof(S) < 4) {
        TILE_INDEPENDENT
        for (size_t i = 0; i < count; ++i) {
            dst[i] = static_cast<float>(src[i]);
        }
        return;
    }
    for (size_t i = 0; i < count; ++i) {
        dst[i] = float_of_bits(round_to_format<FloatFormat, long double>(src[i], mode));
    }
}

template <class S>
void integer_to_half(uint8_t* const* operands, size_t count, const void* context)
{
    const S* src = reinterpret_cast<const S*>(operands[1]);
    uint16_t* dst = reinterpret_cast<uint16_t*>(operands[0]);
    const RoundMode mode = cast_in(context).mode;
    for (size_t i = 0; i < count; ++i) {
        const float value = static_cast<float>(src[i]);
        dst[i] = to_nearest_even(mode) ? float_to_half_bits(value) : round_to_format<HalfFormat, double>(value, mode);
    }
}

// int32 to half multiplies by the scale of SetDeqScale; the mode is ignored.
void int32_to_half(uint8_t* const* operands, size_t count, const void* context)
{
    const int32_t* src = reinterpret_cast<const int32_t*>(operands[1]);
    uint16_t* dst = reinterpret_cast<uint16_t*>(operands[0]);
    const float scale = cast_in(context).scale;
    for (size_t i = 0; i < count; ++i) {
        dst[i] = float_to_half_bits(static_cast<float>(src[i]) * scale);
    }
}

template <class S, class D>
void integer_to_integer(uint8_t* const* operands, size_t count, const void* context)
{
    const S* src = reinterpret_cast<const S*>(operands[1]);
    D* dst = reinterpret_cast<D*>(operands[0]);
    const Saturation saturation = {false, cast_in(context).saturates, false};
    TILE_INDEPENDENT
    for (size_t i = 0; i < count; ++i) {
        dst[i] = integer_result<D>(src[i], saturation);
    }
}

constexpr uint32_t N = 1u << int(RoundMode::CAST_NONE);
constexpr uint32_t R = 1u << int(RoundMode::CAST_RINT);
constexpr uint32_t O = 1u << int(RoundMode::CAST_ODD);
constexpr uint32_t RFCAT = R | 1u << int(RoundMode::CAST_FLOOR) | 1u << int(RoundMode::CAST_CEIL) |
                           1u << int(RoundMode::CAST_ROUND) | 1u << int(RoundMode::CAST_TRUNC);
constexpr uint32_t any_mode = N | RFCAT | O;

struct CastRule {
    DataType src;
    DataType dst;
    uint32_t modes;
    VectorKernel kernel;
};

constexpr CastRule rules[] = {
    {DataType::i4, DataType::f16, N, nullptr},  // cast_int4
    {DataType::f16, DataType::i4, RFCAT | N, nullptr},
    {DataType::i8, DataType::f16, N, &integer_to_half<int8_t>},
    {DataType::u8, DataType::f16, N, &integer_to_half<uint8_t>},
    {DataType::i16, DataType::f16, RFCAT | N, &integer_to_half<int16_t>},
    {DataType::i16, DataType::f32, N, &integer_to_float<int16_t>},
    {DataType::f16, DataType::i8, RFCAT | N, &small_to_integer<int8_t, half_to_float>},
    {DataType::f16, DataType::u8, RFCAT | N, &small_to_integer<uint8_t, half_to_float>},
    {DataType::f16, DataType::i16, RFCAT, &small_to_integer<int16_t, half_to_float>},
    {DataType::f16, DataType::i32, RFCAT, &small_to_integer<int32_t, half_to_float>},
    {DataType::f16, DataType::f32, N, &small_to_float<half_to_float>},
    {DataType::bf16, DataType::i32, RFCAT, &small_to_integer<int32_t, bfloat16_to_float>},
    {DataType::bf16, DataType::f32, N, &small_to_float<bfloat16_to_float>},
    {DataType::i32, DataType::i16, N, &integer_to_integer<int32_t, int16_t>},
    {DataType::i32, DataType::f16, any_mode, &int32_to_half},
    {DataType::i32, DataType::f32, RFCAT | N, &integer_to_float<int32_t>},
    {DataType::i32, DataType::i64, N, &integer_to_integer<int32_t, int64_t>},
    {DataType::f32, DataType::i16, RFCAT, &float_to_integer<int16_t>},
    {DataType::f32, DataType::i32, RFCAT, &float_to_integer<int32_t>},
    {DataType::f32, DataType::i64, RFCAT, &float_to_integer<int64_t>},
    {DataType::f32, DataType::bf16, RFCAT, &float_to_small<Bfloat16Format, float_to_bfloat16>},
    {DataType::f32, DataType::f32, RFCAT, &float_to_float},
    {DataType::f32, DataType::f16, RFCAT | O | N, &float_to_small<HalfFormat, float_to_half>},
    {DataType::i64, DataType::i32, N, &integer_to_integer<int64_t, int32_t>},
    {DataType::i64, DataType::f32, RFCAT, &integer_to_float<int64_t>},
};

constexpr const char* mode_names[] = {
    "CAST_NONE", "CAST_RINT", "CAST_FLOOR", "CAST_CEIL", "CAST_ROUND", "CAST_TRUNC", "CAST_ODD"};

const CastRule& rule_of(DataType dst, DataType src, RoundMode mode, Use use)
{
    const CastRule* found = nullptr;
    for (const CastRule& rule : rules) {
        if (rule.src == src && rule.dst == dst) {
            found = &rule;
        }
    }
    if (found == nullptr) {
        raise("bad-argument", use,
            text_of(
                "%s: %s to %s does not exist on 910B; go through another type", use.api, name_of(src), name_of(dst)));
    }
    if ((found->modes >> int(mode) & 1u) == 0) {
        std::string legal;
        for (int i = 0; i < 7; ++i) {
            if ((found->modes >> i & 1u) != 0) {
                legal += (legal.empty() ? "" : ", ") + std::string(mode_names[i]);
            }
        }
        raise("bad-argument", use,
            text_of("%s: %s to %s with %s does not exist on 910B; use one of: %s", use.api, name_of(src), name_of(dst),
                int(mode) < 7 ? mode_names[int(mode)] : "an unknown mode", legal.c_str()));
    }
    return *found;
}

}  // namespace

void vector_cast(LocalOperand dst, LocalOperand src, RoundMode mode, const VectorForm& form,
    const AscendC::UnaryRepeatParams& p, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    const CastRule& rule = rule_of(dst.type, src.type, mode, use);
    const bool scaled = rule.src == DataType::i32 && rule.dst == DataType::f16;
    if (scaled && core.device_checks &&
        core.vector_registers.dequantization != VectorRegisters::Dequantization::half_scale) {
        raise("bad-argument", use,
            text_of("%s: int32 to half needs SetDeqScale(half); the register holds what another form set", use.api));
    }
    if (scaled) {
        require_setting(core, Register::dequantization, use);
    }
    if (rule.kernel == nullptr) {
        return cast_int4(core, dst, src, mode, form, p, use);
    }
    const CastContext context = {mode, core.dequantization_scale, core.saturation.casts};
    const VectorOperand operands[2] = {
        {"dst", dst, size_of(dst.type), p.dstBlkStride, p.dstRepStride, 255},
        {"src", src, size_of(src.type), p.srcBlkStride, p.srcRepStride, 255},
    };
    run_elementwise(core, operands, 2, form, rule.kernel, &context, use);
}

}  // namespace tile_simulator
