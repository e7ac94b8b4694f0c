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

template <class T>
__aicore__ constexpr bool has_sign()
{
    return static_cast<T>(-1) < static_cast<T>(0);
}

// Division that has no value: the simulator reports it, a device goes on with any.
__aicore__ inline void no_quotient(const char* what, Site site)
{
#ifdef TILE_SIMULATOR
    tile_simulator::division_fault(what, site);
#else
    (void)what;
    (void)site;
#endif
}

// Bytes of so many elements that share some: the simulator reports those that are no whole number of bytes.
template <class A>
__aicore__ inline A whole_bytes(A elements, uint32_t per_byte, Site site = Site::here())
{
    const A each = static_cast<A>(per_byte);
#ifdef TILE_SIMULATOR
    if (elements % each != 0) {
        tile_simulator::check_bytes(static_cast<int64_t>(elements), per_byte, {"whole bytes", site});
    }
#else
    (void)site;
#endif
    return elements / each;
}

// The smallest value of an integer type with a sign.
template <class T>
__aicore__ constexpr T lowest()
{
    return static_cast<T>(static_cast<T>(1) << (8 * sizeof(T) - 1));
}

// Quotient and remainder rounded towards minus infinity, for divisors above zero or below. The simulator reports a
// divisor of zero, and a quotient that has no room: on a device their value is not defined.
template <class A, class B>
__aicore__ inline auto floor_div(A a, B b, Site site = Site::here()) -> decltype(a / b)
{
    using Result = decltype(a / b);
    if (b == 0) {
        no_quotient("the divisor is 0", site);
        return 0;
    }
    if (has_sign<Result>() && static_cast<Result>(b) == static_cast<Result>(-1)) {
        if (static_cast<Result>(a) == lowest<Result>()) {
            no_quotient("the smallest integer divided by -1 has no room in its type", site);
            return static_cast<Result>(a);
        }
        return -static_cast<Result>(a);
    }
    const auto q = a / b;
    return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

template <class A, class B>
__aicore__ inline auto floor_mod(A a, B b, Site site = Site::here()) -> decltype(a % b)
{
    using Result = decltype(a % b);
    if (b == 0) {
        no_quotient("the divisor is 0", site);
        return 0;
    }
    if (has_sign<Result>() && static_cast<Result>(b) == static_cast<Result>(-1)) {
        return 0;
    }
    const auto r = a % b;
    return (r != 0 && ((r < 0) != (b < 0))) ? r + b : r;
}

// A count is taken as unsigned: of as many bits as there are, and of negative counts, nothing is left but the sign.
template <class A, class B>
__aicore__ inline auto shift_left(A a, B count) -> decltype(a << 0)
{
    const bool inside = count >= 0 && static_cast<uint64_t>(count) < 8 * sizeof(a << 0);
    return inside ? a << count : 0;
}

template <class A, class B>
__aicore__ inline auto shift_right(A a, B count) -> decltype(a >> 0)
{
    const bool inside = count >= 0 && static_cast<uint64_t>(count) < 8 * sizeof(a >> 0);
    return inside ? a >> count : a < 0 ? -1 : 0;
}

// Towards zero, beyond the range to its end, NaN to 0, as the vector unit converts (docs/hardware/units.md#conversions).
template <class To>
__aicore__ inline To to_integer(float value)
{
    constexpr float above = (has_sign<To>() ? 1.0f : 2.0f) * static_cast<float>(1ull << (8 * sizeof(To) - 1));
    constexpr To most = static_cast<To>(has_sign<To>() ? ~lowest<To>() : static_cast<To>(-1));
    if (!(value > (has_sign<To>() ? -above : 0.0f))) {
        return value == value && has_sign<To>() ? lowest<To>() : static_cast<To>(0);
    }
    return value < above ? static_cast<To>(value) : most;
}

// NaN wins, and 0 is above -0 (docs/hardware/units.md#edge-values).
template <class A, class B>
__aicore__ inline auto minimum(A one, B other) -> decltype(one + other)
{
    const decltype(one + other) a = one, b = other;
    if (a == b) {
        return a != 0 ? a : -(-a - b);
    }
    return a < b ? a : b < a ? b : a + b;
}

template <class A, class B>
__aicore__ inline auto maximum(A one, B other) -> decltype(one + other)
{
    const decltype(one + other) a = one, b = other;
    if (a == b) {
        return a != 0 ? a : a + b;
    }
    return a > b ? a : b > a ? b : a + b;
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
    return value < static_cast<T>(0) ? static_cast<T>(-value) : static_cast<T>(value + static_cast<T>(0));
}

__aicore__ inline float float_from_bits(uint32_t bits) { return bit_cast<float>(bits); }

template <class T>
__aicore__ inline T ceil_to(T value, T multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

// One element of gm from the scalar unit. Its cache is not coherent with that of other cores, so the line goes
// out at once (docs/hardware/units.md#data-cache).
template <class T>
__aicore__ inline void store_gm(AscendC::GlobalTensor<T> tensor, uint64_t index, T value, Site site = Site::here())
{
    SiteScope scope(site);
    tensor.SetValue(index, value);
    AscendC::DataCacheCleanAndInvalid<T, AscendC::CacheLine::SINGLE_CACHE_LINE, AscendC::DcciDst::CACHELINE_OUT>(
        tensor[index]);
}

}  // namespace tile

#endif
