// Relu, Abs, Exp, Ln, Sqrt, Rsqrt, Reciprocal, Not.
#include "ascend_c/vector_unary.h"

#include "elementwise.h"
#include "transcendental.h"

namespace tile_simulator {
namespace {

struct ReluOp : PlainOp {
    template <class T>
    static T apply(T a, T, T, const ScalarContext&)
    {
        return rectify(a);
    }
};
struct AbsOp : PlainOp {
    static float apply(float a, float, float, const ScalarContext&) { return __builtin_fabsf(a); }
};
struct NotOp : PlainOp {
    static uint16_t apply(uint16_t a, uint16_t, uint16_t, const ScalarContext&) { return uint16_t(~a); }
};

using ArrayFunction = void (*)(const float*, float*, size_t);

template <ArrayFunction function>
void float_kernel(uint8_t* const* operands, size_t count, const void*)
{
    function(reinterpret_cast<const float*>(operands[1]), reinterpret_cast<float*>(operands[0]), count);
}

template <ArrayFunction function>
void half_function_kernel(uint8_t* const* operands, size_t count, const void*)
{
    const uint16_t* source = reinterpret_cast<const uint16_t*>(operands[1]);
    uint16_t* target = reinterpret_cast<uint16_t*>(operands[0]);
    alignas(64) float values[half_chunk];
    for (size_t start = 0; start < count; start += half_chunk) {
        const size_t n = count - start < half_chunk ? count - start : half_chunk;
        half_to_float(source + start, values, n);
        function(values, values, n);
        float_to_half(values, target + start, n);
    }
}

template <ArrayFunction function>
VectorKernel function_kernel(DataType type)
{
    return type == DataType::f32   ? &float_kernel<function>
           : type == DataType::f16 ? &half_function_kernel<function>
                                   : nullptr;
}

VectorKernel kernel_of(UnaryOp op, DataType type)
{
    switch (op) {
        case UnaryOp::relu:
            return type == DataType::i32 ? &direct_kernel<int32_t, ReluOp, 1> : floating<ReluOp, 1>(type);
        case UnaryOp::abs:
            return floating<AbsOp, 1>(type);
        case UnaryOp::exp:
            return function_kernel<exp_array>(type);
        case UnaryOp::ln:
            return function_kernel<ln_array>(type);
        case UnaryOp::sqrt:
            return function_kernel<sqrt_array>(type);
        case UnaryOp::rsqrt:
            return function_kernel<rsqrt_array>(type);
        case UnaryOp::reciprocal:
            return function_kernel<reciprocal_array>(type);
        case UnaryOp::bit_not:
            return type == DataType::i16 || type == DataType::u16 ? &direct_kernel<uint16_t, NotOp, 1> : nullptr;
    }
    return nullptr;
}

}  // namespace

void vector_unary(UnaryOp op, LocalOperand dst, LocalOperand src, const VectorForm& form,
    const AscendC::UnaryRepeatParams& p, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    const VectorKernel kernel = kernel_of(op, dst.type);
    if (kernel == nullptr) {
        raise_type(use, "dst", dst.type, "a type this operation supports on 910B");
    }
    const VectorOperand operands[2] = {
        {"dst", dst, size_of(dst.type), p.dstBlkStride, p.dstRepStride, 255},
        {"src", src, size_of(src.type), p.srcBlkStride, p.srcRepStride, 255},
    };
    const bool slow = op == UnaryOp::exp || op == UnaryOp::ln || op == UnaryOp::sqrt;
    run_elementwise(core, operands, 2, form, kernel, nullptr, use, slow ? slow_rate(size_of(dst.type)) : 1);
}

}  // namespace tile_simulator
