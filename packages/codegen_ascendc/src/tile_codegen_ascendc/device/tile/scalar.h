// Scalar arithmetic with the meaning the language gives it.
#ifndef TILE_SCALAR_H
#define TILE_SCALAR_H

namespace tile {

// Type traits, spelt out because device compilers do not promise the standard library.
template <class A, class B>
struct Same {
    static constexpr bool value = false;
};
template <class A>
struct Same<A, A> {
    static constexpr bool value = true;
};
template <bool condition, class A, class B>
struct Choose {
    using type = A;
};
template <class A, class B>
struct Choose<false, A, B> {
    using type = B;
};

// Quotient and remainder rounded towards minus infinity, for divisors above zero or below.
template <class A, class B>
__aicore__ inline auto floor_div(A a, B b) -> decltype(a / b)
{
    const auto q = a / b;
    return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

template <class A, class B>
__aicore__ inline auto floor_mod(A a, B b) -> decltype(a % b)
{
    const auto r = a % b;
    return (r != 0 && ((r < 0) != (b < 0))) ? r + b : r;
}

// NaN wins (docs/hardware/vector.md#edge-values): it is neither below nor above, and a sum with it is NaN.
template <class A, class B>
__aicore__ inline auto minimum(A a, B b) -> decltype(a + b)
{
    return a < b ? a : b <= a ? b : a + b;
}

template <class A, class B>
__aicore__ inline auto maximum(A a, B b) -> decltype(a + b)
{
    return a > b ? a : b >= a ? b : a + b;
}

template <class To, class From>
__aicore__ inline To bit_cast(From value)
{
    static_assert(sizeof(To) == sizeof(From), "bit_cast keeps the size");
    union {
        From from;
        To to;
    } both;
    both.from = value;
    return both.to;
}

template <class T>
__aicore__ inline T absolute(T value)
{
    return value < static_cast<T>(0) ? static_cast<T>(-value) : value;
}

__aicore__ inline float float_from_bits(uint32_t bits) { return bit_cast<float>(bits); }

template <class T>
__aicore__ inline T ceil_to(T value, T multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

// One element of gm from the scalar unit. Its cache is not coherent with that of other cores, so the line goes
// out at once (docs/hardware/scalar.md#data-cache).
template <class T>
__aicore__ inline void store_gm(AscendC::GlobalTensor<T>& tensor, uint64_t index, T value, Site site = Site::here())
{
    SiteScope scope(site);
    tensor.SetValue(index, value);
    AscendC::DataCacheCleanAndInvalid<T, AscendC::CacheLine::SINGLE_CACHE_LINE, AscendC::DcciDst::CACHELINE_OUT>(
        tensor[index]);
}

}  // namespace tile

#endif
