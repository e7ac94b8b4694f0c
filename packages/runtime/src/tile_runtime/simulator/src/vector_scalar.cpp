// Adds, Muls, Maxs, Mins, LeakyRelu, ShiftLeft, ShiftRight, Axpy.
#include "ascend_c/vector_scalar.h"

#include <cmath>

#include "elementwise.h"

namespace tile_simulator {
namespace {

using Context = ScalarContext;

template <class T>
T scalar_as(const Context& context)
{
    if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(context.i);
    } else {
        return context.f;
    }
}

struct AddsOp : PlainOp {
    template <class T>
    static T apply(T a, T, T, const Context& c)
    {
        return add(a, scalar_as<T>(c), c.saturation);
    }
};
struct MulsOp : PlainOp {
    template <class T>
    static T apply(T a, T, T, const Context& c)
    {
        return multiply(a, scalar_as<T>(c), c.saturation);
    }
};
struct MaxsOp : PlainOp {
    template <class T>
    static T apply(T a, T, T, const Context& c)
    {
        return maximum(a, scalar_as<T>(c));
    }
};
struct MinsOp : PlainOp {
    template <class T>
    static T apply(T a, T, T, const Context& c)
    {
        return minimum(a, scalar_as<T>(c));
    }
};
// -0 counts as negative: times a negative number it gives +0, times inf NaN (docs/hardware/units.md#edge-values).
struct LeakyReluOp : PlainOp {
    static float apply(float a, float, float, const Context& c) { return std::signbit(a) ? a * c.f : a; }
};
struct AxpyOp : UpdateOp {
    static float apply(float a, float, float old, const Context& c) { return multiply_add(a, c.f, old, c); }
};
template <class T>
constexpr int64_t width = 8 * sizeof(T);
struct ShiftLeftOp : PlainOp {
    template <class T>
    static T apply(T a, T, T, const Context& c)
    {
        return c.i >= width<T> ? T(0) : T(uint32_t(a) << (c.i & 31));
    }
};
struct ShiftRightOp : PlainOp {
    template <class T>
    static T apply(T a, T, T, const Context& c)
    {
        return T(int64_t(a) >> (c.i >= width<T> ? width<T> : c.i));
    }
};
struct ShiftRightRoundOp : PlainOp {
    template <class T>
    static T apply(T a, T, T, const Context& c)
    {
        const int64_t shift = c.i > width<T> ? width<T> : c.i;
        return shift == 0 ? a : T((int64_t(a) >> shift) + (int64_t(a) >> (shift - 1) & 1));
    }
};

template <class Op>
VectorKernel shifting(DataType type)
{
    switch (type) {
        case DataType::i16:
            return &direct_kernel<int16_t, Op, 1>;
        case DataType::u16:
            return &direct_kernel<uint16_t, Op, 1>;
        case DataType::i32:
            return &direct_kernel<int32_t, Op, 1>;
        case DataType::u32:
            return &direct_kernel<uint32_t, Op, 1>;
        default:
            return nullptr;
    }
}

VectorKernel kernel_of(ScalarOp op, DataType dst, DataType src)
{
    if (op == ScalarOp::axpy && dst == DataType::f32 && src == DataType::f16) {
        return &half_kernel<AxpyOp, 1, float>;
    }
    if (dst != src) {
        return nullptr;
    }
    switch (op) {
        case ScalarOp::adds:
            return arithmetic<AddsOp, 1>(dst);
        case ScalarOp::muls:
            return arithmetic<MulsOp, 1>(dst);
        case ScalarOp::maxs:
            return arithmetic<MaxsOp, 1>(dst);
        case ScalarOp::mins:
            return arithmetic<MinsOp, 1>(dst);
        case ScalarOp::leaky_relu:
            return floating<LeakyReluOp, 1>(dst);
        case ScalarOp::axpy:
            return floating<AxpyOp, 1>(dst);
        case ScalarOp::shift_left:
            return shifting<ShiftLeftOp>(dst);
        case ScalarOp::shift_right:
            return shifting<ShiftRightOp>(dst);
        case ScalarOp::shift_right_round:
            return shifting<ShiftRightRoundOp>(dst);
    }
    return nullptr;
}

}  // namespace

void vector_scalar(ScalarOp op, LocalOperand dst, LocalOperand src, Scalar scalar, const VectorForm& form,
    const AscendC::UnaryRepeatParams& p, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    const VectorKernel kernel = kernel_of(op, dst.type, src.type);
    if (kernel == nullptr) {
        raise("bad-argument", use,
            text_of("%s: dst %s with src %s is not supported on 910B", use.api, name_of(dst.type), name_of(src.type)));
    }
    const ScalarContext context = {static_cast<float>(scalar.value), static_cast<int64_t>(scalar.bits),
        core.saturation, false};
    if (op == ScalarOp::shift_left || op == ScalarOp::shift_right || op == ScalarOp::shift_right_round) {
        require_range(core, "scalar", context.i, 0, 8 * size_of(dst.type), use);
    }
    const VectorOperand operands[2] = {
        {"dst", dst, size_of(dst.type), p.dstBlkStride, p.dstRepStride, 255},
        {"src", src, size_of(src.type), p.srcBlkStride, p.srcRepStride, 255},
    };
    run_elementwise(core, operands, 2, form, kernel, &context, use, 1, op == ScalarOp::axpy);
}

}  // namespace tile_simulator
