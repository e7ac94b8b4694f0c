// Sin, Cos: x - k pi lies within half a period, where sin is x P(x^2); k says the sign. The steps and constants are
// those of the device headers (9.x, sin_common_impl.h and cos_common_impl.h).
#include "ascend_c/vector_trigonometry.h"

#include <algorithm>

#include "ascend_c/vector_binary.h"
#include "ascend_c/vector_cast.h"
#include "ascend_c/vector_scalar.h"
#include "composed_vector.h"

namespace tile_simulator {
namespace {

using AscendC::RoundMode;

constexpr float one_over_pi = 0.3183098733425140380859375F;
// Pi in parts, each short enough for its multiples to be exact; with what remains after each.
constexpr float pi_parts[] = {
    3.140625F, 0.0009670257568359375F, 6.2771141529083251953125e-7F, 1.21644916362129151821136474609375e-10F,
    -1.0290623200529979163359041220560e-13F};
constexpr float half_pi = 1.57079637050628662109375F;
constexpr float half_pi_rest = -0.00000004371139000189375F;
// Of P, from the highest power on.
constexpr float coefficients[] = {2.604926501e-6F, -0.0001980894471F, 0.008333049340F, -0.1666665792F, 1.0F};

// One part of a call: its elements, and where intermediate values are.
struct Part {
    LocalOperand dst;
    LocalOperand src;
    LocalOperand count;    // k, then the polynomial
    LocalOperand product;  // k times a part of pi, then x^2
    LocalOperand reduced;  // x - k pi
    VectorForm form;
    Use use;
};

void with(const Part& p, ScalarOp op, LocalOperand dst, LocalOperand src, float value)
{
    vector_scalar(op, dst, src, scalar_of(value), p.form, {}, p.use);
    next_step(p.use);
}

void combine(const Part& p, BinaryOp op, LocalOperand dst, LocalOperand src0, LocalOperand src1)
{
    vector_binary(op, dst, src0, src1, p.form, {}, p.use);
    next_step(p.use);
}

void round_to(const Part& p, LocalOperand values, RoundMode mode)
{
    vector_cast(values, values, mode, p.form, {}, p.use);
    next_step(p.use);
}

void take_off(const Part& p, LocalOperand from, float part_of_pi)
{
    with(p, ScalarOp::muls, p.product, p.count, part_of_pi);
    combine(p, BinaryOp::sub, p.reduced, from, p.product);
}

void reduce_sine(const Part& p)
{
    with(p, ScalarOp::muls, p.count, p.src, one_over_pi);
    round_to(p, p.count, RoundMode::CAST_ROUND);
    take_off(p, p.src, pi_parts[0]);
    for (int i = 1; i < 4; ++i) {
        take_off(p, p.reduced, pi_parts[i]);
    }
}

void reduce_cosine(const Part& p)
{
    with(p, ScalarOp::muls, p.count, p.src, one_over_pi);
    with(p, ScalarOp::adds, p.count, p.count, 0.5F);
    round_to(p, p.count, RoundMode::CAST_RINT);
    take_off(p, p.src, pi_parts[0]);
    take_off(p, p.reduced, pi_parts[1]);
    with(p, ScalarOp::adds, p.reduced, p.reduced, half_pi);
    for (int i = 2; i < 5; ++i) {
        take_off(p, p.reduced, pi_parts[i]);
    }
    with(p, ScalarOp::adds, p.reduced, p.reduced, half_pi_rest);
}

// dst = 1 where k is even, else -1: 4 floor(k / 2) - 2 k + 1.
void sign_of(const Part& p)
{
    with(p, ScalarOp::muls, p.dst, p.count, 0.5F);
    round_to(p, p.dst, RoundMode::CAST_FLOOR);
    with(p, ScalarOp::muls, p.dst, p.dst, 4.0F);
    with(p, ScalarOp::muls, p.count, p.count, -2.0F);
    combine(p, BinaryOp::add, p.dst, p.dst, p.count);
    with(p, ScalarOp::adds, p.dst, p.dst, 1.0F);
}

void polynomial(const Part& p)
{
    combine(p, BinaryOp::mul, p.product, p.reduced, p.reduced);
    sign_of(p);
    with(p, ScalarOp::muls, p.count, p.product, coefficients[0]);
    for (int i = 1; i < 4; ++i) {
        with(p, ScalarOp::adds, p.count, p.count, coefficients[i]);
        combine(p, BinaryOp::mul, p.count, p.count, p.product);
    }
    with(p, ScalarOp::adds, p.count, p.count, coefficients[4]);
    combine(p, BinaryOp::mul, p.count, p.count, p.reduced);
    combine(p, BinaryOp::mul, p.dst, p.count, p.dst);
}

void compute(Wave wave, const Part& p)
{
    if (wave == Wave::sine) {
        reduce_sine(p);
        polynomial(p);
        return;
    }
    reduce_cosine(p);
    polynomial(p);
    with(p, ScalarOp::mins, p.dst, p.dst, 1.0F);
    with(p, ScalarOp::maxs, p.dst, p.dst, -1.0F);
}

}  // namespace

void vector_wave(Wave wave, LocalOperand dst, LocalOperand src, const TemporarySpace& space, bool reuse,
    int64_t count, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    const ComposedCall call(core);
    const bool halves = dst.type == DataType::f16;
    const int64_t parts = halves ? 4 : reuse ? 2 : 3;
    const int64_t most = elements_at_once(core, space, 4 * parts, 32, use);
    const LocalOperand work = as_elements(space, DataType::f32);
    for (int64_t done = 0; done < count; done += most) {
        const VectorForm form = VectorForm::of_count(std::min(most, count - done));
        const LocalOperand from = from_element(src, done);
        const LocalOperand to = from_element(dst, done);
        const LocalOperand floats = from_element(work, (parts - 1) * most);
        if (!halves) {
            compute(wave, {to, from, work, from_element(work, most), reuse ? from : floats, form, use});
            continue;
        }
        vector_cast(floats, from, RoundMode::CAST_NONE, form, {1, 1, 8, 4}, use);
        next_step(use);
        compute(wave,
            {floats, floats, work, from_element(work, most), from_element(work, 2 * most), form, use});
        vector_cast(to, floats, RoundMode::CAST_NONE, form, {1, 1, 4, 8}, use);
        next_step(use);
    }
}

}  // namespace tile_simulator
