// Round: floats in one Cast, halves by way of float in the temporary space, as the device header does (9.x,
// round_v220_impl.h).
#include "ascend_c/vector_round.h"

#include <algorithm>

#include "ascend_c/vector_cast.h"
#include "composed_vector.h"

namespace tile_simulator {

void vector_round(LocalOperand dst, LocalOperand src, const TemporarySpace& space, int64_t count, Use use)
{
    using AscendC::RoundMode;
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    const ComposedCall call(core);
    if (dst.type == DataType::f32) {
        vector_cast(dst, src, RoundMode::CAST_RINT, VectorForm::of_count(count), {}, use);
        return;
    }
    const LocalOperand floats = as_elements(space, DataType::f32);
    const int64_t most = elements_at_once(core, space, 4, 32, use);
    for (int64_t done = 0; done < count; done += most) {
        const VectorForm part = VectorForm::of_count(std::min(most, count - done));
        vector_cast(floats, from_element(src, done), RoundMode::CAST_NONE, part, {1, 1, 8, 4}, use);
        next_step(use);
        vector_cast(floats, floats, RoundMode::CAST_RINT, part, {}, use);
        next_step(use);
        vector_cast(from_element(dst, done), floats, RoundMode::CAST_NONE, part, {1, 1, 4, 8}, use);
        next_step(use);
    }
}

}  // namespace tile_simulator
