// Powers on the vector unit: floats as e ** (y ln |x|), integers by squaring. Signs and exceptions are computed rather
// than selected, as Select works in the part of ub that kernels use themselves.
#ifndef TILE_POWER_H
#define TILE_POWER_H

namespace tile {

constexpr float kHuge = 1e38f;

// value = 1 where it was above 0, however small, and 0 where it was 0.
__aicore__ inline void to_flag(const AscendC::LocalTensor<float>& value, int32_t size)
{
    for (uint32_t i = 0; i < 2; ++i) {
        AscendC::Muls(value, value, kHuge, size);
        AscendC::PipeBarrier<PIPE_V>();
    }
    AscendC::Mins(value, value, 1.0f, size);
    AscendC::PipeBarrier<PIPE_V>();
}

// work = the factor of the power for the sign of the base: 1, -1, or NaN for a fraction of a negative number.
// `negative` and `odd` are scratch; `y` is finite.
__aicore__ inline void sign_of_power(const AscendC::LocalTensor<float>& work, const AscendC::LocalTensor<float>& x,
    const AscendC::LocalTensor<float>& y, const AscendC::LocalTensor<float>& negative,
    const AscendC::LocalTensor<float>& odd, int32_t size)
{
    const uint32_t count = static_cast<uint32_t>(size);
    constexpr float even_from_here = 33554432.0f;  // 2 ** 25
    AscendC::Muls(negative, x, -1.0f, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Maxs(negative, negative, 0.0f, size);
    AscendC::PipeBarrier<PIPE_V>();
    to_flag(negative, size);
    AscendC::Maxs(work, y, -even_from_here, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Mins(work, work, even_from_here, size);
    AscendC::PipeBarrier<PIPE_V>();
    // odd = floor(y) modulo 2.
    AscendC::Cast(odd, work, AscendC::RoundMode::CAST_FLOOR, count);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Sub(work, work, odd, size);  // the fraction
    AscendC::PipeBarrier<PIPE_V>();
    to_flag(work, size);
    AscendC::Mul(work, work, negative, size);
    AscendC::PipeBarrier<PIPE_V>();
    // 1 or 0 / 0.
    AscendC::Muls(work, work, -1.0f, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Adds(work, work, 1.0f, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Div(work, work, work, size);
    AscendC::PipeBarrier<PIPE_V>();
    // 1 - 2 * negative * odd, with odd = f - 2 * floor(f / 2); `negative` becomes the product.
    AscendC::Mul(odd, odd, negative, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Muls(negative, odd, 0.5f, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Cast(negative, negative, AscendC::RoundMode::CAST_FLOOR, count);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Muls(negative, negative, -2.0f, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Add(odd, odd, negative, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Muls(odd, odd, -2.0f, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Adds(odd, odd, 1.0f, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Mul(work, work, odd, size);
    AscendC::PipeBarrier<PIPE_V>();
}

// result = x ** y in float. `y` may be `exponent`; the other tensors differ, but `x` may be a source.
__aicore__ inline void float_power(const AscendC::LocalTensor<float>& result, const AscendC::LocalTensor<float>& x,
    const AscendC::LocalTensor<float>& y, const AscendC::LocalTensor<float>& exponent,
    const AscendC::LocalTensor<float>& sign, const AscendC::LocalTensor<float>& spare, int32_t size)
{
    AscendC::Maxs(exponent, y, -3e38f, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Mins(exponent, exponent, 3e38f, size);
    AscendC::PipeBarrier<PIPE_V>();
    sign_of_power(sign, x, exponent, result, spare, size);
    AscendC::Abs(result, x, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Ln(result, result, size);
    AscendC::PipeBarrier<PIPE_V>();
    // Finite, so that times 0 is 0.
    AscendC::Maxs(result, result, -kHuge, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Mins(result, result, kHuge, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Mul(result, result, exponent, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Exp(result, result, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Mul(result, result, sign, size);
    AscendC::PipeBarrier<PIPE_V>();
}

// result = base ** exponent of one chunk, modulo 2 ** 32. `base` and `step` are changed.
__aicore__ inline void integer_power(const AscendC::LocalTensor<int32_t>& result,
    const AscendC::LocalTensor<int32_t>& base, const AscendC::LocalTensor<int32_t>& exponent,
    const AscendC::LocalTensor<int32_t>& step, const AscendC::LocalTensor<int32_t>& unit, int32_t size)
{
    // unit = 1 for the bases 1 and -1, which have an inverse, else 0: s (4 - s) / 2 of the square s of the base
    // limited to 2; then 1 for an exponent that is not negative.
    AscendC::Maxs(step, base, -2, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Mins(step, step, 2, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Mul(step, step, step, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Muls(unit, step, -1, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Adds(unit, unit, 4, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Mul(unit, unit, step, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::ShiftRight(unit, unit, 1, size);
    AscendC::ShiftRight(step, exponent, 31, size);  // -1 for a negative exponent
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Adds(step, step, 1, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Max(unit, unit, step, size);
    AscendC::Duplicate(result, 1, size);
    AscendC::PipeBarrier<PIPE_V>();
    for (int32_t bit = 0; bit < 31; ++bit) {
        // step = base where the bit of the exponent is set, else 1: 1 - (-bit) * (base - 1).
        AscendC::ShiftLeft(step, exponent, 31 - bit, size);
        AscendC::Adds(base, base, -1, size);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::ShiftRight(step, step, 31, size);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Mul(step, step, base, size);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Muls(step, step, -1, size);
        AscendC::Adds(base, base, 1, size);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Adds(step, step, 1, size);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Mul(result, result, step, size);
        AscendC::Mul(base, base, base, size);
        AscendC::PipeBarrier<PIPE_V>();
    }
    AscendC::Mul(result, result, unit, size);
    AscendC::PipeBarrier<PIPE_V>();
}

// dst = x ** y, chunk by chunk; `scratch` holds five chunks.
__aicore__ inline void power(const AscendC::LocalTensor<float>& dst, const AscendC::LocalTensor<float>& x,
    const AscendC::LocalTensor<float>& y, const AscendC::LocalTensor<float>& scratch, uint32_t count,
    Site site = Site::here())
{
    SiteScope scope(site);
    for (uint32_t start = 0; start < count; start += kChunk) {
        const uint32_t size = minimum(count - start, kChunk);
        AscendC::PipeBarrier<PIPE_V>();
        float_power(scratch, x[start], y[start], scratch[kChunk], scratch[2 * kChunk], scratch[3 * kChunk],
            static_cast<int32_t>(size));
        copy_ub_ub(dst[start], scratch, size);
    }
}

__aicore__ inline void power(const AscendC::LocalTensor<half>& dst, const AscendC::LocalTensor<half>& x,
    const AscendC::LocalTensor<half>& y, const AscendC::LocalTensor<float>& scratch, uint32_t count,
    Site site = Site::here())
{
    SiteScope scope(site);
    const auto base = scratch[4 * kChunk];
    const auto exponent = scratch[kChunk];
    for (uint32_t start = 0; start < count; start += kChunk) {
        const uint32_t size = minimum(count - start, kChunk);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Cast(base, x[start], AscendC::RoundMode::CAST_NONE, size);
        AscendC::Cast(exponent, y[start], AscendC::RoundMode::CAST_NONE, size);
        AscendC::PipeBarrier<PIPE_V>();
        float_power(scratch, base, exponent, exponent, scratch[2 * kChunk], scratch[3 * kChunk],
            static_cast<int32_t>(size));
        AscendC::Cast(dst[start], scratch, AscendC::RoundMode::CAST_RINT, size);
    }
}

__aicore__ inline void power(const AscendC::LocalTensor<int32_t>& dst, const AscendC::LocalTensor<int32_t>& x,
    const AscendC::LocalTensor<int32_t>& y, const AscendC::LocalTensor<float>& scratch, uint32_t count,
    Site site = Site::here())
{
    SiteScope scope(site);
    const auto work = scratch.ReinterpretCast<int32_t>();
    const auto base = work[kChunk];
    for (uint32_t start = 0; start < count; start += kChunk) {
        const uint32_t size = minimum(count - start, kChunk);
        AscendC::PipeBarrier<PIPE_V>();
        copy_ub_ub(base, x[start], size);
        AscendC::PipeBarrier<PIPE_V>();
        integer_power(work, base, y[start], work[2 * kChunk], work[3 * kChunk], static_cast<int32_t>(size));
        copy_ub_ub(dst[start], work, size);
    }
}

}  // namespace tile

#endif
