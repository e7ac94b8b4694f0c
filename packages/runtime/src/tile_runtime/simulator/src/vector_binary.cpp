// Add, Sub, Mul, Div, Max, Min, And, Or, AddRelu, SubRelu, FusedMulAdd(Relu), MulAddDst.
#include "ascend_c/vector_binary.h"

#include <algorithm>
#include <iterator>

#include "elementwise.h"

namespace tile_simulator {
namespace {

using Context = ScalarContext;

struct AddOp : PlainOp {
    template <class T>
    static T apply(T a, T b, T, const Context& c)
    {
        return add(a, b, c.saturation);
    }
};
struct SubOp : PlainOp {
    template <class T>
    static T apply(T a, T b, T, const Context& c)
    {
        return subtract(a, b, c.saturation);
    }
};
struct MulOp : PlainOp {
    template <class T>
    static T apply(T a, T b, T, const Context& c)
    {
        return multiply(a, b, c.saturation);
    }
};
struct DivOp : PlainOp {
    static float apply(float a, float b, float, const Context&) { return a / b; }
};
struct MaxOp : PlainOp {
    template <class T>
    static T apply(T a, T b, T, const Context&)
    {
        return maximum(a, b);
    }
};
struct MinOp : PlainOp {
    template <class T>
    static T apply(T a, T b, T, const Context&)
    {
        return minimum(a, b);
    }
};
struct AndOp : PlainOp {
    static uint16_t apply(uint16_t a, uint16_t b, uint16_t, const Context&) { return uint16_t(a & b); }
};
struct OrOp : PlainOp {
    static uint16_t apply(uint16_t a, uint16_t b, uint16_t, const Context&) { return uint16_t(a | b); }
};
struct AddReluOp : PlainOp {
    template <class T>
    static T apply(T a, T b, T, const Context& c)
    {
        return rectify(add(a, b, c.saturation));
    }
};
struct SubReluOp : PlainOp {
    template <class T>
    static T apply(T a, T b, T, const Context& c)
    {
        return rectify(subtract(a, b, c.saturation));
    }
};
struct FusedMulAddOp : UpdateOp {
    static float apply(float a, float b, float old, const Context& c)
    {
        return multiply_add(a, old, b, c);
    }
};
struct FusedMulAddReluOp : UpdateOp {
    static float apply(float a, float b, float old, const Context& c)
    {
        return rectify(multiply_add(a, old, b, c));
    }
};
struct MulAddDstOp : UpdateOp {
    static float apply(float a, float b, float old, const Context& c)
    {
        return multiply_add(a, b, old, c);
    }
};

template <class Op>
VectorKernel bitwise(DataType type)
{
    return type == DataType::i16 || type == DataType::u16 ? &direct_kernel<uint16_t, Op, 2> : nullptr;
}

template <class Op>
VectorKernel mixed_kernel(DataType dst, DataType src)
{
    if (dst == DataType::f32 && src == DataType::f16) {
        return &half_kernel<Op, 2, float>;
    }
    return dst == src ? floating<Op, 2>(dst) : nullptr;
}

VectorKernel kernel_of(BinaryOp op, DataType dst, DataType src)
{
    if (op == BinaryOp::mul_add_dst) {
        return mixed_kernel<MulAddDstOp>(dst, src);
    }
    if (dst != src) {
        return nullptr;
    }
    switch (op) {
        case BinaryOp::add:
            return arithmetic<AddOp, 2>(dst);
        case BinaryOp::sub:
            return arithmetic<SubOp, 2>(dst);
        case BinaryOp::mul:
            return arithmetic<MulOp, 2>(dst);
        case BinaryOp::div:
            return floating<DivOp, 2>(dst);
        case BinaryOp::max:
            return arithmetic<MaxOp, 2>(dst);
        case BinaryOp::min:
            return arithmetic<MinOp, 2>(dst);
        case BinaryOp::bit_and:
            return bitwise<AndOp>(dst);
        case BinaryOp::bit_or:
            return bitwise<OrOp>(dst);
        case BinaryOp::add_relu:
            return dst == DataType::i32 ? nullptr : arithmetic<AddReluOp, 2>(dst);
        case BinaryOp::sub_relu:
            return dst == DataType::i32 ? nullptr : arithmetic<SubReluOp, 2>(dst);
        case BinaryOp::fused_mul_add:
            return floating<FusedMulAddOp, 2>(dst);
        case BinaryOp::fused_mul_add_relu:
            return floating<FusedMulAddReluOp, 2>(dst);
        default:
            return nullptr;
    }
}

// Sums over repeats: the second source may be the destination (the vendor's page of general constraints).
bool may_read_results(BinaryOp op, DataType type, const AscendC::BinaryRepeatParams& p)
{
    static constexpr BinaryOp ops[] = {BinaryOp::add, BinaryOp::sub, BinaryOp::mul, BinaryOp::max, BinaryOp::min,
        BinaryOp::add_relu, BinaryOp::sub_relu};
    const bool typed = type == DataType::f16 || type == DataType::i32 || type == DataType::f32;
    return typed && (p.dstRepStride == 0 || p.src1RepStride == 0) &&
           std::find(std::begin(ops), std::end(ops), op) != std::end(ops);
}

}  // namespace

void vector_binary(BinaryOp op, LocalOperand dst, LocalOperand src0, LocalOperand src1, const VectorForm& form,
    const AscendC::BinaryRepeatParams& p, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    const VectorKernel kernel = kernel_of(op, dst.type, src0.type);
    if (kernel == nullptr) {
        raise("bad-argument", use,
            text_of(
                "%s: dst %s with sources %s is not supported on 910B", use.api, name_of(dst.type), name_of(src0.type)));
    }
    const VectorOperand operands[3] = {
        {"dst", dst, size_of(dst.type), p.dstBlkStride, p.dstRepStride, 255},
        {"src0", src0, size_of(src0.type), p.src0BlkStride, p.src0RepStride, 255},
        {"src1", src1, size_of(src1.type), p.src1BlkStride, p.src1RepStride, 255,
            may_read_results(op, dst.type, p)},
    };
    const bool fused = op == BinaryOp::fused_mul_add || op == BinaryOp::fused_mul_add_relu;
    const bool updates = fused || op == BinaryOp::mul_add_dst;
    // docs/hardware/time_model.md#vector-rates.
    const bool twice = fused || (op == BinaryOp::mul_add_dst && size_of(dst.type) == 4);
    const uint64_t rate = op == BinaryOp::div ? slow_rate(size_of(dst.type)) : twice ? 2 : 1;
    const ScalarContext scalars = {0.0f, 0, core.saturation, false};
    run_elementwise(core, operands, 3, form, kernel, &scalars, use, rate, updates);
}

}  // namespace tile_simulator
