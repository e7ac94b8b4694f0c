// ReduceSum, ReduceMax, ReduceMin: several instructions each, over UB, in the order of the device headers
// (CANN 8.1 and 9.x, dav_c220/kernel_operator_vec_reduce_impl.h), and the registers they leave results in.
#include "ascend_c/vector_reduce_all.h"

#include <cstring>

#include "ascend_c/sync.h"
#include "ascend_c/tensor.h"
#include "ascend_c/vector_reduce.h"
#include "instruction.h"
#include "pipe_handover.h"
#include "vector_reduction.h"

namespace tile_simulator {
namespace {

using AscendC::ReduceOrder;

constexpr int64_t most_repeats = 255;
constexpr int64_t pair = 2;  // elements one repeat leaves: value and index

// One call: what it reduces to where, and the sizes of its type.
struct Reduction {
    Core& core;
    ReduceOp op;
    LocalOperand dst;
    LocalOperand work;
    Use use;
    int64_t size;        // bytes of an element
    int64_t per_repeat;  // elements of a repeat
    int64_t src_stride;  // of the source, in blocks

    int64_t aligned(int64_t elements) const { return (elements * size + 31) / 32 * 32 / size; }
};

LocalOperand at(LocalOperand tensor, int64_t elements, int64_t size)
{
    tensor.address += static_cast<uint32_t>(elements * size);
    return tensor;
}

uint32_t load_bits(const Reduction& r, LocalOperand tensor, int64_t element)
{
    uint32_t bits = 0;
    local_load(tensor, static_cast<uint64_t>(element * r.size), static_cast<uint32_t>(r.size), &bits, r.use);
    return bits;
}

void store_bits(const Reduction& r, LocalOperand tensor, int64_t element, uint32_t bits)
{
    local_store(tensor, static_cast<uint64_t>(element * r.size), static_cast<uint32_t>(r.size), &bits, r.use);
}

void barrier(const Reduction& r)
{
    pipe_barrier(PIPE_V, r.use);
}

void hand_back(const Reduction& r)
{
    scalar_to_vector(r.core, r.use);
    scalar_to_mte3(r.core, r.use);
}

// The first element of a tensor to dst, by the scalar unit.
void copy_result(const Reduction& r, LocalOperand from, int64_t element)
{
    vector_to_scalar(r.core, r.use);
    store_bits(r, r.dst, 0, load_bits(r, from, element));
    hand_back(r);
}

void reduce_repeats(const Reduction& r, LocalOperand to, LocalOperand from, const VectorForm& form, int64_t stride)
{
    const ReduceOrder order = r.op == ReduceOp::sum ? ReduceOrder::ORDER_ONLY_VALUE : ReduceOrder::ORDER_VALUE_INDEX;
    vector_reduce(r.op, ReduceSpan::repeat, to, from, form, {1, 1, stride}, order, r.use);
}

// Every other lane, for `values` values that lie with their indices between them.
VectorForm value_lanes(int64_t values, int64_t repeats)
{
    VectorForm form = {VectorForm::bits, repeats, {0, 0}};
    for (int64_t i = 0; i < values; ++i) {
        form.mask[i / 32] |= uint64_t(1) << (2 * (i % 32));
    }
    return form;
}

// The source, in runs of at most 255 repeats: `results` elements per repeat.
void first_step(const Reduction& r, LocalOperand src, VectorForm form, int64_t results)
{
    const int64_t repeats = form.repeats;
    for (int64_t done = 0; done < repeats; done += most_repeats) {
        form.repeats = repeats - done < most_repeats ? repeats - done : most_repeats;
        const LocalOperand from = at(src, done * r.src_stride * 32 / r.size, r.size);
        reduce_repeats(r, at(r.work, done * results, r.size), from, form, r.src_stride);
    }
}

// `data` elements (pairs) at `from` to one pair per repeat at `to`; returns how many elements that makes.
int64_t next_step(const Reduction& r, int64_t to, int64_t from, int64_t data)
{
    const int64_t whole = data / r.per_repeat;
    const int64_t left = data % r.per_repeat;
    if (whole > 0) {
        reduce_repeats(r, at(r.work, to, r.size), at(r.work, from, r.size), value_lanes(r.per_repeat / pair, whole), 8);
    }
    if (left > 0) {
        if (whole > 0) {
            barrier(r);  // in place, it writes where the whole repeats are read
        }
        reduce_repeats(r, at(r.work, to + whole * pair, r.size), at(r.work, from + whole * r.per_repeat, r.size),
            value_lanes(left / pair, 1), 8);
    }
    return (whole + (left > 0 ? 1 : 0)) * pair;
}

void extremum_without_index(const Reduction& r, LocalOperand src, const VectorForm& form)
{
    if (form.repeats == 1) {
        reduce_repeats(r, r.work, src, form, r.src_stride);
        copy_result(r, r.work, 0);
        return;
    }
    first_step(r, src, form, pair);
    barrier(r);
    int64_t data = next_step(r, 0, 0, pair * form.repeats);
    if (data > r.per_repeat) {
        barrier(r);
        data = next_step(r, 0, 0, data);
    }
    barrier(r);
    reduce_repeats(r, r.work, r.work, value_lanes(data / pair, 1), 8);
    copy_result(r, r.work, 0);
}

// Where the winner of every step was found leads back to its place in the source.
void extremum_with_index(const Reduction& r, LocalOperand src, const VectorForm& form)
{
    if (form.repeats == 1) {
        reduce_repeats(r, r.dst, src, form, r.src_stride);
        return;
    }
    // Start of each step's results in work, and how many elements they are.
    int64_t start[4] = {0, 0, 0, 0};
    first_step(r, src, form, pair);
    int64_t data = pair * form.repeats;
    int steps = 0;
    while (steps == 0 || data > pair) {
        barrier(r);
        start[steps + 1] = r.aligned(start[steps] + data);
        data = next_step(r, start[steps + 1], start[steps], data);
        ++steps;
    }
    vector_to_scalar(r.core, r.use);
    store_bits(r, r.dst, 0, load_bits(r, r.work, start[steps]));
    // An index counts elements inside a repeat of pairs; the repeat is that of the step before.
    int64_t place = 0;
    for (int step = steps; step > 0; --step) {
        const int64_t index = load_bits(r, r.work, start[step] + place + 1);
        place = place / pair * r.per_repeat + index;
    }
    const int64_t index = load_bits(r, r.work, place + 1);
    store_bits(r, r.dst, 1, static_cast<uint32_t>(place / pair * (r.src_stride * 32 / r.size) + index));
    hand_back(r);
}

void sum_repeats(const Reduction& r, LocalOperand src, const VectorForm& form)
{
    if (form.repeats == 1) {
        reduce_repeats(r, r.work, src, form, r.src_stride);
        copy_result(r, r.work, 0);
        return;
    }
    first_step(r, src, form, 1);
    barrier(r);
    r.core.mask = {true, static_cast<uint64_t>(form.repeats), 0};
    reduce_repeats(r, r.work, r.work, VectorForm{VectorForm::preset, 1, {0, 0}}, 8);
    r.core.mask.counter = false;
    barrier(r);
    const int64_t left = (form.repeats + r.per_repeat - 1) / r.per_repeat;
    if (left == 1) {
        copy_result(r, r.work, 0);
    } else {
        require_range(r.core, "repeatTime", form.repeats, 0, r.per_repeat * r.per_repeat, r.use);
        reduce_repeats(r, r.dst, r.work, VectorForm::of_mask(true, static_cast<uint64_t>(left), 1), 8);
    }
}

void run(const Reduction& r, LocalOperand src, const VectorForm& form, bool index)
{
    if (r.op == ReduceOp::sum) {
        sum_repeats(r, src, form);
    } else if (index) {
        extremum_with_index(r, src, form);
    } else {
        extremum_without_index(r, src, form);
    }
}

VectorForm lanes_form(int64_t lanes, int64_t repeats)
{
    return VectorForm::of_mask(true, static_cast<uint64_t>(lanes), repeats);
}

// The last, partial repeat is reduced by itself and then against what the others gave.
void reduce_tail(const Reduction& r, LocalOperand src, int64_t body, int64_t tail, bool index)
{
    vector_to_scalar(r.core, r.use);
    const uint32_t body_value = load_bits(r, r.dst, 0);
    const uint32_t body_index = index ? load_bits(r, r.dst, 1) : 0;
    Reduction flat = r;
    flat.src_stride = 8;
    run(flat, at(src, body, r.size), lanes_form(tail, 1), index);
    vector_to_scalar(r.core, r.use);
    const uint32_t tail_value = load_bits(r, r.dst, 0);
    const uint32_t tail_index = index ? load_bits(r, r.dst, 1) : 0;
    store_bits(r, r.work, 0, body_value);
    store_bits(r, r.work, 1, tail_value);
    scalar_to_vector(r.core, r.use);
    run(flat, r.work, lanes_form(2, 1), index);
    if (index) {
        vector_to_scalar(r.core, r.use);
        const bool in_tail = load_bits(r, r.dst, 1) == 1;
        store_bits(r, r.dst, 1, in_tail ? static_cast<uint32_t>(body) + tail_index : body_index);
        hand_back(r);
    }
}

Reduction reduction_of(Core& core, ReduceOp op, LocalOperand dst, LocalOperand src, LocalOperand work, Use use)
{
    if (src.type != DataType::f16 && src.type != DataType::f32) {
        raise_type(use, "src", src.type, "half or float");
    }
    const int64_t size = size_of(src.type);
    return {core, op, dst, work, use, size, 256 / size, 8};
}

void read_register(Core& core, DataType found, DataType wanted, const char* source, Use use)
{
    Instruction(core, Pipe::s, use).issue();
    if (found == DataType::other) {
        raise("bad-argument", use, text_of("%s: no result to read: %s", use.api, source));
    }
    if (found != wanted) {
        raise("bad-argument", use,
            text_of("%s: read as %s, but the result is %s", use.api, name_of(wanted), name_of(found)));
    }
}

}  // namespace

void reduce_all(ReduceOp op, LocalOperand dst, LocalOperand src, LocalOperand work, const VectorForm& form,
    int64_t src_stride, bool index, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    const ComposedCall call(core);
    Reduction reduction = reduction_of(core, op, dst, src, work, use);
    require_range(core, "repeatTime", form.repeats, 0, INT32_MAX, use);
    require_range(core, "srcRepStride", src_stride, 0, 65535, use);
    reduction.src_stride = src_stride;
    if (form.repeats > 0) {
        run(reduction, src, form, index);
    }
}

void reduce_extremum_count(
    ReduceOp op, LocalOperand dst, LocalOperand src, LocalOperand work, int64_t count, bool index, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    const ComposedCall call(core);
    const Reduction reduction = reduction_of(core, op, dst, src, work, use);
    require_range(core, "count", count, 0, INT32_MAX, use);
    if (count <= 0) {
        return;
    }
    const int64_t repeats = count / reduction.per_repeat;
    const int64_t tail = count % reduction.per_repeat;
    if (repeats == 0) {
        run(reduction, src, lanes_form(tail, 1), index);
        return;
    }
    run(reduction, src, lanes_form(reduction.per_repeat, repeats), index);
    if (tail != 0) {
        reduce_tail(reduction, src, repeats * reduction.per_repeat, tail, index);
    }
}

void reduce_sum_count(LocalOperand dst, LocalOperand src, const VectorForm& form, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    const ComposedCall call(core);
    const Reduction reduction = reduction_of(core, ReduceOp::sum, dst, src, dst, use);
    if (form.repeats == 0) {
        return;
    }
    accumulate_sum(core, src, form, use);
    vector_to_scalar(core, use);
    store_bits(reduction, dst, 0, core.vector_registers.sum);
    hand_back(reduction);
}

void read_sum(DataType type, void* value, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    const VectorRegisters& registers = core.vector_registers;
    read_register(core, registers.sum_type, type, "it is what ReduceSum(dst, src, tmp, count) leaves", use);
    std::memcpy(value, &registers.sum, size_of(type));
}

void read_extremum(DataType type, void* value, void* index, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    const VectorRegisters& registers = core.vector_registers;
    read_register(core, registers.extremum_type, type,
        "it is what a maximum or minimum over contiguous repeats (srcBlkStride 1, srcRepStride 8, no counter mode) "
        "leaves",
        use);
    std::memcpy(value, &registers.extremum, size_of(type));
    std::memcpy(index, &registers.extremum_index, size_of(type));
}

}  // namespace tile_simulator
