// Sine and cosine on the vector unit, in float. An argument is x = h * pi + r, with h a whole number of half turns (and
// a half more for the cosine); pi is taken off in five parts, of which the first four have 8 bits, so that their
// products with h are exact up to 2 ** 15 half turns. The polynomial is the minimax one of sin(r) / r up to pi / 2.
#ifndef TILE_TRIGONOMETRY_H
#define TILE_TRIGONOMETRY_H

namespace tile {

// dst = a * b + c on one chunk, a product and a sum.
__aicore__ inline void horner(const AscendC::LocalTensor<float>& sum, const AscendC::LocalTensor<float>& factor,
    float addend, int32_t size)
{
    AscendC::Mul(sum, sum, factor, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Adds(sum, sum, addend, size);
    AscendC::PipeBarrier<PIPE_V>();
}

// result = sin(x) or cos(x). `x` may be `rest`; `turns`, `rest`, `work` and `result` are four different tensors.
template <bool cosine>
__aicore__ inline void wave(const AscendC::LocalTensor<float>& result, const AscendC::LocalTensor<float>& x,
    const AscendC::LocalTensor<float>& turns, const AscendC::LocalTensor<float>& rest,
    const AscendC::LocalTensor<float>& work, int32_t size)
{
    constexpr float inverse_pi = 0.31830987f;
    const float parts[5] = {3.140625f, 0.000965118408203125f, 2.5331974029541016e-06f, 1.979060471057892e-09f,
        5.126688136514179e-12f};
    const uint32_t count = static_cast<uint32_t>(size);
    AscendC::Muls(turns, x, inverse_pi, size);
    AscendC::PipeBarrier<PIPE_V>();
    if constexpr (cosine) {
        AscendC::Adds(turns, turns, -0.5f, size);
        AscendC::PipeBarrier<PIPE_V>();
    }
    AscendC::Cast(turns, turns, AscendC::RoundMode::CAST_RINT, count);
    AscendC::PipeBarrier<PIPE_V>();
    // work = 1 for an odd number of half turns, 0 for an even one.
    AscendC::Muls(work, turns, 0.5f, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Cast(work, work, AscendC::RoundMode::CAST_FLOOR, count);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Muls(work, work, -2.0f, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Add(work, work, turns, size);
    AscendC::PipeBarrier<PIPE_V>();
    // Its sign: cos(h pi + r) is -sin(r) for h = 1/2.
    AscendC::Muls(work, work, cosine ? 2.0f : -2.0f, size);
    if constexpr (cosine) {
        AscendC::Adds(turns, turns, 0.5f, size);
    }
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Adds(work, work, cosine ? -1.0f : 1.0f, size);
    for (uint32_t i = 0; i < 5; ++i) {
        AscendC::Muls(result, turns, -parts[i], size);
        AscendC::PipeBarrier<PIPE_V>();
        if (i == 0) {
            AscendC::Add(rest, x, result, size);
        } else {
            AscendC::Add(rest, rest, result, size);
        }
        AscendC::PipeBarrier<PIPE_V>();
    }
    AscendC::Mul(turns, rest, rest, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Muls(result, turns, -2.38871677993302e-08f, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Adds(result, result, 2.752541377049056e-06f, size);
    AscendC::PipeBarrier<PIPE_V>();
    horner(result, turns, -0.00019840871391352266f, size);
    horner(result, turns, 0.008333330973982811f, size);
    horner(result, turns, -0.1666666716337204f, size);
    AscendC::Mul(result, result, turns, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Mul(result, result, rest, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Add(result, result, rest, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Mul(result, result, work, size);
    AscendC::PipeBarrier<PIPE_V>();
}

// A whole operand, chunk by chunk; `scratch` holds four chunks.
template <bool cosine, class T>
__aicore__ inline void waves(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const AscendC::LocalTensor<float>& scratch, uint32_t count)
{
    const auto turns = scratch;
    const auto rest = scratch[kChunk];
    const auto work = scratch[2 * kChunk];
    const auto result = scratch[3 * kChunk];
    for (uint32_t start = 0; start < count; start += kChunk) {
        const uint32_t size = minimum(count - start, kChunk);
        AscendC::PipeBarrier<PIPE_V>();
        if constexpr (Same<T, float>::value) {
            wave<cosine>(result, src[start], turns, rest, work, static_cast<int32_t>(size));
            copy_ub_ub(dst[start], result, size);
        } else {
            AscendC::Cast(rest, src[start], AscendC::RoundMode::CAST_NONE, size);
            AscendC::PipeBarrier<PIPE_V>();
            wave<cosine>(result, rest, turns, rest, work, static_cast<int32_t>(size));
            AscendC::Cast(dst[start], result, AscendC::RoundMode::CAST_RINT, size);
        }
    }
}

template <class T>
__aicore__ inline void sine(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const AscendC::LocalTensor<float>& scratch, uint32_t count, Site site = Site::here())
{
    SiteScope scope(site);
    waves<false>(dst, src, scratch, count);
}

template <class T>
__aicore__ inline void cosine(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const AscendC::LocalTensor<float>& scratch, uint32_t count, Site site = Site::here())
{
    SiteScope scope(site);
    waves<true>(dst, src, scratch, count);
}

}  // namespace tile

#endif
