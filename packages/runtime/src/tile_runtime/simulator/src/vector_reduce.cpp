// WholeReduce*, BlockReduce*, PairReduceSum, RepeatReduceSum (hardware.md 3.7).
//
// Sums form a binary tree over the lanes of a repeat, neighbours first; masked-out lanes do not take part.
#include "ascend_c/vector_reduce.h"

#include <cmath>
#include <cstring>

#include "number_arrays.h"
#include "vector_engine.h"

namespace tile_simulator {
namespace {

using AscendC::ReduceOrder;

constexpr uint32_t max_lanes = 128;

struct Result {
    float value;
    uint32_t index;
    bool any;
};

// Values of one repeat as floats.
struct Row {
    float values[max_lanes];
    bool active[max_lanes];
    DataType type;
    bool whole;  // every lane is active
};

// One level of the tree: neighbours are added. Half sums are rounded to half at every level.
void add_neighbours(DataType type, const float* from, float* to, uint32_t pairs)
{
    for (uint32_t i = 0; i < pairs; ++i) {
        to[i] = from[2 * i] + from[2 * i + 1];
    }
    if (type == DataType::f16) {
        uint16_t bits[max_lanes];
        float_to_half(to, bits, pairs);
        half_to_float(bits, to, pairs);
    }
}

float tree_sum(const Row& row, uint32_t first, uint32_t count)
{
    float levels[2][max_lanes];
    for (uint32_t i = 0; i < count; ++i) {
        levels[0][i] = row.whole || row.active[first + i] ? row.values[first + i] : 0.0f;
    }
    int now = 0;
    for (uint32_t n = count; n > 1; n /= 2) {
        add_neighbours(row.type, levels[now], levels[1 - now], n / 2);
        now = 1 - now;
    }
    return levels[now][0];
}

// Extremum of the active lanes; the lowest index wins ties, and a NaN wins over every number.
Result extremum(const Row& row, bool largest, uint32_t first, uint32_t count)
{
    Result best = {0.0f, 0, false};
    for (uint32_t i = first; i < first + count; ++i) {
        if (!row.active[i]) {
            continue;
        }
        const float value = row.values[i];
        const bool better = largest ? value > best.value : value < best.value;
        if (!best.any || (!std::isnan(best.value) && (better || std::isnan(value)))) {
            best = {value, i, true};
        }
    }
    return best;
}

Result reduce(const Row& row, ReduceOp op, uint32_t first, uint32_t count)
{
    if (op != ReduceOp::sum) {
        return extremum(row, op == ReduceOp::max, first, count);
    }
    bool any = row.whole;
    for (uint32_t i = first; i < first + count && !any; ++i) {
        any = row.active[i];
    }
    return {any ? tree_sum(row, first, count) : 0.0f, 0, any};
}

void load_row(const uint8_t* elements, const Lanes& lanes, uint32_t active, Row& row)
{
    if (row.type == DataType::f16) {
        half_to_float(reinterpret_cast<const uint16_t*>(elements), row.values, lanes.per_repeat);
    } else {
        std::memcpy(row.values, elements, lanes.per_repeat * sizeof(float));
    }
    row.whole = lanes.prefix && active == lanes.per_repeat;
    for (uint32_t i = 0; i < lanes.per_repeat; ++i) {
        row.active[i] = i < active && (lanes.prefix || lanes.lane(i));
    }
}

void store(uint8_t* target, DataType type, float value)
{
    if (type == DataType::f16) {
        const uint16_t bits = float_to_half_bits(value);
        std::memcpy(target, &bits, sizeof(bits));
    } else {
        std::memcpy(target, &value, sizeof(value));
    }
}

void store_index(uint8_t* target, uint32_t index, uint32_t bytes)
{
    std::memcpy(target, &index, bytes);  // the low bytes come first on every host we build for
}

// Bytes one repeat writes at most, and the unit of the destination stride (the vendor's table 3 of ReduceRepeat).
struct ResultLayout {
    uint32_t bytes;
    uint32_t unit;
    uint32_t alignment;
};

ResultLayout layout_of(ReduceSpan span, ReduceOrder order, uint32_t size)
{
    if (span == ReduceSpan::block) {
        return {8 * size, 8 * size, 8 * size};
    }
    if (span == ReduceSpan::pair) {
        return {128, 128, 32};
    }
    switch (order) {
        case ReduceOrder::ORDER_ONLY_VALUE:
            return {size, size, size};
        case ReduceOrder::ORDER_ONLY_INDEX:
            return {4, 4, 4};
        default:
            return {2 * size, 2 * size, 2 * size};
    }
}

void write_result(uint8_t* target, const Result& result, ReduceOrder order, DataType type)
{
    const uint32_t size = size_of(type);
    switch (order) {
        case ReduceOrder::ORDER_VALUE_INDEX:
            store(target, type, result.value);
            store_index(target + size, result.index, size);
            break;
        case ReduceOrder::ORDER_INDEX_VALUE:
            store_index(target, result.index, size);
            store(target + size, type, result.value);
            break;
        case ReduceOrder::ORDER_ONLY_VALUE:
            store(target, type, result.value);
            break;
        case ReduceOrder::ORDER_ONLY_INDEX:
            store_index(target, result.index, 4);
            break;
    }
}

}  // namespace

void vector_reduce(ReduceOp op, ReduceSpan span, LocalOperand dst, LocalOperand src, const VectorForm& form,
    const ReduceStrides& strides, ReduceOrder order, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    if (src.type != DataType::f16 && src.type != DataType::f32) {
        raise_type(use, "src", src.type, "half or float");
    }
    require_memory(dst, Memory::ub, "dst", use);
    require_range(core, "dstRepStride", strides.dst_repeat, 0, 65535, use);
    const uint32_t size = size_of(src.type);
    const VectorOperand source = {"src", src, size, strides.src_block, strides.src_repeat, 65535};
    const Lanes lanes = resolve_lanes(core, form, size, use);
    Instruction instruction(core, Pipe::v, use);
    // hardware.md 4.2: 7 cycles per repeat, but for pairs and for the blocks of a float repeat.
    const bool slow = span == ReduceSpan::repeat || (span == ReduceSpan::block && size == 2);
    instruction.work = vector_work(lanes, slow ? 7 : 1);
    if (lanes.nothing) {
        instruction.issue();
        return;
    }
    const ResultLayout layout = layout_of(span, order, size);
    const uint64_t step = static_cast<uint64_t>(strides.dst_repeat) * layout.unit;
    const int to = instruction.local(
        "dst", true, dst, Memory::ub, Region::strided(dst.address, layout.bytes, lanes.repeats, step), layout.alignment);
    const int from = add_vector_operand(instruction, source, false, lanes);
    instruction.issue();

    const uint32_t group = span == ReduceSpan::repeat ? lanes.per_repeat : span == ReduceSpan::block ? 32 / size : 2;
    Row row;
    row.type = src.type;
    alignas(64) uint8_t elements[256];
    std::memset(elements, 0, sizeof(elements));
    for (uint64_t repeat = 0; repeat < lanes.repeats; ++repeat) {
        const uint32_t active = lanes.active(repeat);
        gather_repeat(instruction.data(from), source, repeat, active, elements);
        load_row(elements, lanes, active, row);
        uint8_t* target = instruction.data(to) + repeat * step;
        for (uint32_t first = 0, i = 0; first < lanes.per_repeat; first += group, ++i) {
            const Result result = reduce(row, op, first, group);
            // A block or pair without an active lane leaves its result unwritten.
            if (result.any) {
                write_result(target + i * size, result, order, src.type);
            }
        }
    }
}

}  // namespace tile_simulator
