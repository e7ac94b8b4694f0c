// WholeReduce*, BlockReduce*, PairReduceSum, RepeatReduceSum (docs/hardware/units.md#reductions).
//
// Sums form a binary tree over the lanes of a repeat, neighbours first; masked-out lanes do not take part.
#include "ascend_c/vector_reduce.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "number_arrays.h"
#include "operand_overlap.h"
#include "touched_bytes.h"
#include "vector_engine.h"
#include "vector_reduction.h"

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
    bool saturates;  // halves, at every level of the tree
    bool whole;      // every lane is active
};

// One level of the tree: neighbours are added. Half sums are rounded to half at every level.
void add_neighbours(const Row& row, const float* from, float* to, uint32_t pairs)
{
    for (uint32_t i = 0; i < pairs; ++i) {
        to[i] = from[2 * i] + from[2 * i + 1];
    }
    if (row.type == DataType::f16) {
        uint16_t bits[max_lanes];
        float_to_half(to, bits, pairs);
        if (row.saturates) {
            saturate_small_floats(row.type, bits, pairs);
        }
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
        add_neighbours(row, levels[now], levels[1 - now], n / 2);
        now = 1 - now;
    }
    return levels[now][0];
}

// A value as its type holds it, which saturates if that is switched on.
float settled(const Row& row, float value)
{
    if (row.type != DataType::f16) {
        return value;
    }
    uint16_t bits = float_to_half_bits(value);
    if (row.saturates) {
        saturate_small_floats(row.type, &bits, 1);
    }
    return half_bits_to_float(bits);
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
    best.value = settled(row, best.value);
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

bool any_active(const Lanes& lanes, uint32_t first, uint32_t end)
{
    for (uint32_t lane = first; lane < end; ++lane) {
        if (lanes.prefix || lanes.lane(lane)) {
            return true;
        }
    }
    return false;
}

// What one repeat with `active` lanes writes from `start` on.
std::vector<Run> result_runs(uint64_t start, uint64_t bytes, uint32_t group, const Lanes& lanes, uint32_t active)
{
    std::vector<Run> runs;
    for (uint32_t lane = 0, i = 0; lane < active; lane += group, ++i) {
        if (any_active(lanes, lane, std::min(lane + group, active))) {
            runs.push_back({start + i * bytes, bytes});
        }
    }
    return runs;
}

// What `repeats` repeats from the first one on write: groups without an active lane leave their result as it was.
void add_results(Instruction& instruction, const LocalOperand& dst, uint64_t bytes, uint32_t group, const Lanes& lanes,
    uint32_t active, uint64_t first, uint64_t repeats, uint64_t step)
{
    std::vector<Region> regions =
        regions_of(result_runs(dst.address + first * step, bytes, group, lanes, active), repeats, step);
    if (regions.size() > 2) {
        regions = {covering(regions)};
    }
    for (const Region& region : regions) {
        instruction.local("dst", true, dst, Memory::ub, region, 0);
    }
}

uint32_t bits_of(DataType type, float value)
{
    return type == DataType::f16 ? float_to_half_bits(value) : bits_of_float(value);
}

// The register holds the extremum of all repeats; it is defined for contiguous sources in normal mask mode only
// (GetReduceRepeatMaxMinSpr, constraints).
void keep_extremum(Core& core, const ReduceStrides& strides, const Lanes& lanes, DataType type, bool largest,
    const Result& best, uint64_t repeat, bool first)
{
    VectorRegisters& registers = core.vector_registers;
    if (lanes.counter || strides.src_block != 1 || strides.src_repeat != 8) {
        registers.extremum_type = DataType::other;
        return;
    }
    const float held = type == DataType::f16 ? half_bits_to_float(static_cast<uint16_t>(registers.extremum))
                                             : float_of_bits(registers.extremum);
    const bool better = largest ? best.value > held : best.value < held;
    if (first || (!std::isnan(held) && (better || std::isnan(best.value)))) {
        registers.extremum_type = type;
        registers.extremum = bits_of(type, best.value);
        registers.extremum_index = static_cast<uint32_t>(repeat * lanes.per_repeat) + best.index;
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
    // docs/hardware/time_model.md#vector-rates: 7 cycles per repeat, but for pairs, the blocks of a float repeat and the sum
    // of one.
    const bool slow = span == ReduceSpan::repeat || (span == ReduceSpan::block && size == 2);
    const bool sums_floats = span == ReduceSpan::repeat && op == ReduceOp::sum && size == 4;
    instruction.work = vector_work(lanes, sums_floats ? 3 : slow ? 7 : 1);
    instruction.is_sum = span == ReduceSpan::repeat;
    if (lanes.nothing) {
        instruction.issue();
        return;
    }
    const ResultLayout layout = layout_of(span, order, size);
    const uint64_t step = static_cast<uint64_t>(strides.dst_repeat) * layout.unit;
    const uint32_t group = span == ReduceSpan::repeat ? lanes.per_repeat : span == ReduceSpan::block ? 32 / size : 2;
    const uint64_t result_bytes = span == ReduceSpan::repeat ? layout.bytes : size;
    require_aligned(core, "dst", dst, layout.alignment, use);
    const uint32_t last = lanes.active(lanes.repeats - 1);
    const bool uneven = last != lanes.top;
    if (lanes.repeats > uneven) {
        add_results(instruction, dst, result_bytes, group, lanes, lanes.top, 0, lanes.repeats - uneven, step);
    }
    if (uneven) {
        add_results(instruction, dst, result_bytes, group, lanes, last, lanes.repeats - 1, 1, step);
    }
    add_vector_operand(instruction, source, false, lanes);
    instruction.issue();
    if (may_overlap(instruction)) {
        const RepeatedBytes results = {"dst", result_runs(dst.address, result_bytes, group, lanes, lanes.top),
            result_runs(dst.address, result_bytes, group, lanes, last), step, lanes.repeats, false};
        check_overlap(core, results, repeated_bytes(source, lanes), false, use);
    }

    Row row;
    row.type = src.type;
    row.saturates = core.saturation.floats;
    alignas(64) uint8_t elements[256];
    std::memset(elements, 0, sizeof(elements));
    for (uint64_t repeat = 0; repeat < lanes.repeats; ++repeat) {
        const uint32_t active = lanes.active(repeat);
        gather_repeat(ub_data(core, src.address), source, repeat, active, elements);
        load_row(elements, lanes, active, row);
        uint8_t* target = ub_data(core, dst.address) + repeat * step;
        for (uint32_t first = 0, i = 0; first < lanes.per_repeat; first += group, ++i) {
            const Result result = reduce(row, op, first, group);
            // A block or pair without an active lane leaves its result unwritten.
            if (result.any) {
                write_result(target + i * size, result, order, src.type);
            }
            if (span == ReduceSpan::repeat && op != ReduceOp::sum) {
                keep_extremum(core, strides, lanes, src.type, op == ReduceOp::max, result, repeat, repeat == 0);
            }
        }
    }
}

void accumulate_sum(Core& core, LocalOperand src, const VectorForm& form, Use use)
{
    const uint32_t size = size_of(src.type);
    const VectorOperand source = {"src", src, size, 1, 8, 255};
    Lanes lanes = resolve_lanes(core, form, size, use);
    lanes.repeats = lanes.contiguous ? (lanes.total + lanes.per_repeat - 1) / lanes.per_repeat : lanes.repeats;
    Instruction instruction(core, Pipe::v, use);
    instruction.work = vector_work(lanes, 7);
    instruction.is_sum = true;
    if (lanes.nothing) {
        instruction.issue();
        return;
    }
    add_vector_operand(instruction, source, false, lanes);
    instruction.issue();
    lanes.counter = lanes.counter || lanes.contiguous;

    Row row;
    row.type = src.type;
    row.saturates = core.saturation.floats;
    alignas(64) uint8_t elements[256];
    std::memset(elements, 0, sizeof(elements));
    float sum = 0.0f;
    for (uint64_t repeat = 0; repeat < lanes.repeats; ++repeat) {
        const uint32_t active = lanes.active(repeat);
        gather_repeat(ub_data(core, src.address), source, repeat, active, elements);
        load_row(elements, lanes, active, row);
        // The trees of the repeats are added in order (ReduceSum, first way of adding).
        const float tree = tree_sum(row, 0, lanes.per_repeat);
        sum = settled(row, repeat == 0 ? tree : sum + tree);
    }
    core.vector_registers.sum_type = src.type;
    core.vector_registers.sum = bits_of(src.type, sum);
}

}  // namespace tile_simulator
