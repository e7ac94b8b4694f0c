// Xor: (a | b) & ~(a & b), with the instructions of the device header (9.x, xor_membase_impl.h).
#include "ascend_c/vector_xor.h"

#include <algorithm>

#include "ascend_c/vector_binary.h"
#include "ascend_c/vector_unary.h"
#include "composed_vector.h"

namespace tile_simulator {

void vector_xor(LocalOperand dst, LocalOperand src0, LocalOperand src1, const TemporarySpace& space, int64_t count,
    Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    const ComposedCall call(core);
    const LocalOperand either = as_elements(space, dst.type);
    const int64_t most = elements_at_once(core, space, 2, 32, use);
    for (int64_t done = 0; done < count; done += most) {
        const VectorForm part = VectorForm::of_count(std::min(most, count - done));
        const LocalOperand target = from_element(dst, done);
        const LocalOperand a = from_element(src0, done);
        const LocalOperand b = from_element(src1, done);
        vector_binary(BinaryOp::bit_and, target, a, b, part, {}, use);
        vector_binary(BinaryOp::bit_or, either, a, b, part, {}, use);
        next_step(use);
        vector_unary(UnaryOp::bit_not, target, target, part, {}, use);
        next_step(use);
        vector_binary(BinaryOp::bit_and, target, either, target, part, {}, use);
        next_step(use);
    }
}

}  // namespace tile_simulator
