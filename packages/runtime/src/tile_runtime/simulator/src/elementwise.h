// Building element-wise kernels from scalar functions, for every data type.
#pragma once

#include <cstring>
#include <type_traits>

#include "number_arrays.h"
#include "vector_engine.h"

namespace tile_simulator {

// Loops whose iterations are independent even where the compiler cannot see it: sources and destination coincide
// exactly or not at all (run_elementwise takes partial overlap elsewhere).
#if defined(__clang__)
#define TILE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define TILE_INDEPENDENT _Pragma("GCC ivdep")
#endif

struct ScalarContext {
    float f = 0.0f;
    int64_t i = 0;
    Saturation saturation{};
    bool in_half = false;  // half sources into a half destination
};

inline const ScalarContext& scalar_in(const void* context)
{
    return *static_cast<const ScalarContext*>(context);
}

// Op::apply(a, b, old, scalar) on a type that the host computes directly.
template <class T, class Op, int sources>
void direct_kernel(uint8_t* const* operands, size_t count, const void* context)
{
    T* dst = reinterpret_cast<T*>(operands[0]);
    const T* a = reinterpret_cast<const T*>(operands[1]);
    const T* b = sources > 1 ? reinterpret_cast<const T*>(operands[2]) : a;
    const ScalarContext scalar = context != nullptr ? scalar_in(context) : ScalarContext{};
    TILE_INDEPENDENT
    for (size_t i = 0; i < count; ++i) {
        dst[i] = static_cast<T>(Op::apply(a[i], b[i], dst[i], scalar));
    }
}

constexpr size_t half_chunk = 256;

// The same on half, computed in float and rounded once if the destination is half too; it is that or float.
template <class Op, int sources, class D = uint16_t>
void half_kernel(uint8_t* const* operands, size_t count, const void* context)
{
    constexpr bool rounds = std::is_same_v<D, uint16_t>;
    D* dst = reinterpret_cast<D*>(operands[0]);
    const uint16_t* a = reinterpret_cast<const uint16_t*>(operands[1]);
    const uint16_t* b = sources > 1 ? reinterpret_cast<const uint16_t*>(operands[2]) : a;
    ScalarContext scalar = context != nullptr ? scalar_in(context) : ScalarContext{};
    scalar.in_half = rounds;
    alignas(64) float fa[half_chunk];
    alignas(64) float fb[half_chunk];
    alignas(64) float fd[half_chunk];
    for (size_t start = 0; start < count; start += half_chunk) {
        const size_t n = count - start < half_chunk ? count - start : half_chunk;
        half_to_float(a + start, fa, n);
        if (sources > 1) {
            half_to_float(b + start, fb, n);
        }
        float* out = fd;
        if constexpr (!rounds) {
            out = dst + start;
        } else if (Op::reads_destination) {
            half_to_float(dst + start, fd, n);
        }
        const float* right = sources > 1 ? fb : fa;
        TILE_INDEPENDENT
        for (size_t i = 0; i < n; ++i) {
            out[i] = Op::apply(fa[i], right[i], out[i], scalar);
        }
        if constexpr (rounds) {
            float_to_half(fd, dst + start, n);
        }
    }
}

// The kernel of an operation on floating numbers, and of one on signed integers too; null for other types.
template <class Op, int sources>
VectorKernel floating(DataType type)
{
    return type == DataType::f32   ? &direct_kernel<float, Op, sources>
           : type == DataType::f16 ? &half_kernel<Op, sources>
                                   : nullptr;
}

template <class Op, int sources>
VectorKernel arithmetic(DataType type)
{
    return type == DataType::i16   ? &direct_kernel<int16_t, Op, sources>
           : type == DataType::i32 ? &direct_kernel<int32_t, Op, sources>
                                   : floating<Op, sources>(type);
}

struct PlainOp {
    static constexpr bool reads_destination = false;
};
struct UpdateOp {
    static constexpr bool reads_destination = true;
};

// max and min as IEEE maximum and minimum: NaN wins, and -0 < +0 (docs/hardware/units.md#edge-values).
inline float maximum(float a, float b)
{
    const float equal = float_of_bits(bits_of_float(a) & bits_of_float(b));
    const float ordered = a > b ? a : b;
    return a == b ? equal : (a != a || b != b) ? a + b : ordered;
}
inline float minimum(float a, float b)
{
    const float equal = float_of_bits(bits_of_float(a) | bits_of_float(b));
    const float ordered = a < b ? a : b;
    return a == b ? equal : (a != a || b != b) ? a + b : ordered;
}
inline float rectify(float x)
{
    return x <= 0.0f ? 0.0f : x;
}

template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
T maximum(T a, T b)
{
    return a > b ? a : b;
}
template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
T minimum(T a, T b)
{
    return a < b ? a : b;
}
template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
T rectify(T x)
{
    return x > 0 ? x : T(0);
}

// Integer arithmetic wraps or saturates; float arithmetic as it is.
template <class T>
T add(T a, T b, const Saturation& saturation)
{
    if constexpr (std::is_integral_v<T>) {
        return integer_result<T>(int64_t(a) + b, saturation);
    } else {
        return a + b;
    }
}
template <class T>
T subtract(T a, T b, const Saturation& saturation)
{
    if constexpr (std::is_integral_v<T>) {
        return integer_result<T>(int64_t(a) - b, saturation);
    } else {
        return a - b;
    }
}
template <class T>
T multiply(T a, T b, const Saturation& saturation)
{
    if constexpr (std::is_integral_v<T>) {
        return integer_result<T>(int64_t(a) * b, saturation);
    } else {
        return a * b;
    }
}

// a * b + c. A product of halves that is added to a half overflows by itself (the vendor's tables of edge values of
// Axpy, MulAddDst, FusedMulAdd); whether the device rounds it is not published, one rounding here.
inline float multiply_add(float a, float b, float c, const ScalarContext& context)
{
    return context.in_half ? product_of_halves(a * b, context.saturation) + c : fused(a, b, c);
}

}  // namespace tile_simulator
