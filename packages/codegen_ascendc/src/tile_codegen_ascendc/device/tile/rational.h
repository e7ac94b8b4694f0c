// Odd functions that level off at 1, on the vector unit, in float: x P(x * x) / Q(x * x) on the range where they have
// not levelled off. P and Q are fitted for the least relative error, so that small values keep their precision.
#ifndef TILE_RATIONAL_H
#define TILE_RATIONAL_H

namespace tile {

struct HyperbolicTangent {
    static constexpr float limit = 9.0f;
    static constexpr uint32_t over = 6;
    static constexpr uint32_t under = 5;
    __aicore__ static float numerator(uint32_t i)
    {
        const float factors[over] = {1.0f, 0.13680893182754517f, 0.0038695537950843573f, 2.803219649649691e-05f,
            3.0644514481537044e-08f, -1.2247590094882632e-11f};
        return factors[i];
    }
    __aicore__ static float denominator(uint32_t i)
    {
        const float factors[under] = {1.0f, 0.4701422452926636f, 0.027250325307250023f, 0.0003940792812500149f,
            1.2890950529254042e-06f};
        return factors[i];
    }
};

struct ErrorFunction {
    static constexpr float limit = 3.95f;
    static constexpr uint32_t over = 6;
    static constexpr uint32_t under = 6;
    __aicore__ static float numerator(uint32_t i)
    {
        const float factors[over] = {1.1283791065216064f, 0.19152241945266724f, 0.0528717041015625f,
            0.0038069465663284063f, 0.0002846574643626809f, 2.0260861219867365e-06f};
        return factors[i];
    }
    __aicore__ static float denominator(uint32_t i)
    {
        const float factors[under] = {1.0f, 0.5030649900436401f, 0.11454804241657257f, 0.015052665024995804f,
            0.001170425210148096f, 3.783205829677172e-05f};
        return factors[i];
    }
};

// dst = f(src) on one chunk; `square` lies in the half of the groups of banks that the numerator and the denominator
// do not begin in, and `x` with it. Their Horner schemes run side by side: neither waits for the other.
template <class Function>
__aicore__ inline void levelling(const AscendC::LocalTensor<float>& dst, const AscendC::LocalTensor<float>& src,
    const AscendC::LocalTensor<float>& x, const AscendC::LocalTensor<float>& square,
    const AscendC::LocalTensor<float>& numerator, const AscendC::LocalTensor<float>& denominator, int32_t size)
{
    AscendC::Maxs(x, src, -Function::limit, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Mins(x, x, Function::limit, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Mul(square, x, x, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Muls(numerator, square, Function::numerator(Function::over - 1), size);
    AscendC::Muls(denominator, square, Function::denominator(Function::under - 1), size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Adds(numerator, numerator, Function::numerator(Function::over - 2), size);
    AscendC::Adds(denominator, denominator, Function::denominator(Function::under - 2), size);
    AscendC::PipeBarrier<PIPE_V>();
    static_assert(Function::under <= Function::over, "the numerator has as many factors at least");
    for (uint32_t i = Function::over - 2; i > 0; --i) {
        const bool both = i <= Function::under - 2;
        AscendC::Mul(numerator, numerator, square, size);
        if (both) {
            AscendC::Mul(denominator, denominator, square, size);
        }
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Adds(numerator, numerator, Function::numerator(i - 1), size);
        if (both) {
            AscendC::Adds(denominator, denominator, Function::denominator(i - 1), size);
        }
        AscendC::PipeBarrier<PIPE_V>();
    }
    AscendC::Mul(x, x, numerator, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Div(x, x, denominator, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Maxs(x, x, -1.0f, size);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Mins(dst, x, 1.0f, size);
}

// A whole operand, `part` elements at a time, of which `scratch` holds four times as many: an odd number of repeats, so
// that every second part begins in the other half of the groups of banks.
template <class Function, class T>
__aicore__ inline void levelled(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const AscendC::LocalTensor<float>& scratch, uint32_t part, uint32_t count, Site site = Site::here())
{
    SiteScope scope(site);
    const auto numerator = scratch[part];
    const auto square = scratch[2 * part];
    const auto denominator = scratch[3 * part];
    for (uint32_t start = 0; start < count; start += part) {
        const uint32_t size = minimum(count - start, part);
        const int32_t length = static_cast<int32_t>(size);
        AscendC::PipeBarrier<PIPE_V>();
        if constexpr (Same<T, float>::value) {
            levelling<Function>(dst[start], src[start], scratch, square, numerator, denominator, length);
        } else {
            AscendC::Cast(scratch, src[start], AscendC::RoundMode::CAST_NONE, size);
            AscendC::PipeBarrier<PIPE_V>();
            levelling<Function>(scratch, scratch, scratch, square, numerator, denominator, length);
            AscendC::PipeBarrier<PIPE_V>();
            AscendC::Cast(dst[start], scratch, AscendC::RoundMode::CAST_RINT, size);
        }
    }
}

}  // namespace tile

#endif
