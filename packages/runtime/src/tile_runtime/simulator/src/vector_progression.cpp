// Arange, ArithProgression: with the instructions of the device header (9.x, arithprogression_common_impl.h).
#include "ascend_c/vector_progression.h"

#include <algorithm>

#include "ascend_c/vector_scalar.h"
#include "composed_vector.h"
#include "pipe_handover.h"

namespace tile_simulator {
namespace {

struct Progression {
    LocalOperand dst;
    Scalar first;
    Scalar step;
    Use use;
};

// first + number * step, as the scalar unit computes it: integers wrap, floats round after each operation.
uint32_t element_bits(const Progression& p, int64_t number)
{
    const float offset = static_cast<float>(p.step.value) * static_cast<float>(number);
    const float value = static_cast<float>(p.first.value) + offset;
    switch (p.dst.type) {
        case DataType::f16:
            return float_to_half_bits(value);
        case DataType::f32:
            return bits_of_float(value);
        default:
            return static_cast<uint32_t>(p.first.bits + p.step.bits * static_cast<uint64_t>(number));
    }
}

// What lies between two elements so far apart.
Scalar distance(const Progression& p, int64_t elements)
{
    const float value = static_cast<float>(p.step.value) * static_cast<float>(elements);
    switch (p.dst.type) {
        case DataType::f16:
            return scalar_of(half(value));
        case DataType::f32:
            return scalar_of(value);
        default: {
            const int64_t whole = static_cast<int64_t>(p.step.value) * elements;
            return {static_cast<double>(whole), static_cast<uint64_t>(whole)};
        }
    }
}

void store_first(const Progression& p, int64_t count)
{
    const uint32_t size = size_of(p.dst.type);
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t bits = element_bits(p, i);
        local_store(p.dst, static_cast<uint64_t>(i) * size, size, &bits, p.use);
    }
}

// The elements from `to` on, each from the one that is `back` before it.
void continue_from(const Progression& p, int64_t to, int64_t back, int64_t lanes)
{
    const VectorForm form = VectorForm::of_mask(true, static_cast<uint64_t>(lanes), 1);
    vector_scalar(ScalarOp::adds, from_element(p.dst, to), from_element(p.dst, to - back), distance(p, back), form,
        {}, p.use);
    next_step(p.use);
}

}  // namespace

void arithmetic_progression(LocalOperand dst, Scalar first, Scalar step, int64_t count, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    require_range(core, "count", count, 1, INT32_MAX, use);
    const ComposedCall call(core);
    const Progression p{dst, first, step, use};
    const int64_t block = 32 / size_of(dst.type);
    const int64_t repeat = 256 / size_of(dst.type);
    if (count <= block) {
        vector_to_scalar(core, use);
    }
    store_first(p, std::min(count, block));
    scalar_to_vector(core, use);
    for (int64_t done = block; done < std::min(count, repeat); done += block) {
        continue_from(p, done, block, block);
    }
    for (int64_t done = repeat; done < count; done += repeat) {
        const int64_t rest = (count - done + block - 1) / block * block;
        continue_from(p, done, repeat, std::min(rest, repeat));
    }
}

}  // namespace tile_simulator
