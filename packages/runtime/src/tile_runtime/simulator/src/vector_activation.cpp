// Sigmoid, Silu: with the instructions of the device headers (9.x, sigmoid_impl.h and silu_common_impl.h).
#include "ascend_c/vector_activation.h"

#include <algorithm>

#include "ascend_c/vector_binary.h"
#include "ascend_c/vector_fill.h"
#include "ascend_c/vector_scalar.h"
#include "ascend_c/vector_unary.h"
#include "composed_vector.h"

namespace tile_simulator {
namespace {

constexpr int64_t block_elements = 16;  // of half; two blocks of float

Scalar number(DataType type, float value)
{
    return type == DataType::f16 ? scalar_of(half(value)) : scalar_of(value);
}

// dst = 1 + e^-src
void one_plus_exponential(LocalOperand dst, LocalOperand src, const VectorForm& form, Use use)
{
    vector_scalar(ScalarOp::muls, dst, src, number(dst.type, -1), form, {}, use);
    next_step(use);
    vector_unary(UnaryOp::exp, dst, dst, form, {}, use);
    next_step(use);
    vector_scalar(ScalarOp::adds, dst, dst, number(dst.type, 1), form, {}, use);
}

}  // namespace

void vector_sigmoid(LocalOperand dst, LocalOperand src, const TemporarySpace& space, int64_t count, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    const ComposedCall call(core);
    const LocalOperand ones = as_elements(space, dst.type);
    const int64_t most = elements_at_once(core, space, size_of(dst.type), block_elements, use);
    for (int64_t done = 0; done < count; done += most) {
        const VectorForm part = VectorForm::of_count(std::min(most, count - done));
        const LocalOperand target = from_element(dst, done);
        next_step(use);
        one_plus_exponential(target, from_element(src, done), part, use);
        vector_duplicate(ones, number(dst.type, 1), part, 1, 8, use);
        next_step(use);
        vector_binary(BinaryOp::div, target, ones, target, part, {}, use);
        next_step(use);
    }
}

void vector_silu(LocalOperand dst, LocalOperand src, int64_t count, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv) || count == 0) {
        return;
    }
    const ComposedCall call(core);
    const VectorForm form = VectorForm::of_count(count);
    one_plus_exponential(dst, src, form, use);
    next_step(use);
    vector_binary(BinaryOp::div, dst, src, dst, form, {}, use);
    next_step(use);
}

}  // namespace tile_simulator
