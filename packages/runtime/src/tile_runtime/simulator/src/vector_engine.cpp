#include "vector_engine.h"

#include <algorithm>
#include <cstring>

#include "operand_overlap.h"
#include "touched_bytes.h"

namespace tile_simulator {
namespace {

constexpr uint32_t repeat_bytes = 256;
constexpr uint64_t block_bytes = 32;
constexpr int max_operands = 4;

void set_lane_mask(uint64_t (&mask)[2], uint64_t lanes)
{
    mask[0] = lanes >= 64 ? ~uint64_t(0) : (uint64_t(1) << lanes) - 1;
    mask[1] = lanes >= 128 ? ~uint64_t(0) : lanes > 64 ? (uint64_t(1) << (lanes - 64)) - 1 : 0;
}

void finish_mask(Lanes& lanes)
{
    if (lanes.per_repeat <= 64) {
        lanes.mask[1] = 0;
        if (lanes.per_repeat < 64) {
            lanes.mask[0] &= (uint64_t(1) << lanes.per_repeat) - 1;
        }
    }
    const uint64_t low = lanes.mask[0];
    const uint64_t high = lanes.mask[1];
    if (high != 0) {
        lanes.top = 128u - static_cast<uint32_t>(__builtin_clzll(high));
    } else {
        lanes.top = low == 0 ? 0 : 64u - static_cast<uint32_t>(__builtin_clzll(low));
    }
    uint64_t full[2];
    set_lane_mask(full, lanes.top);
    lanes.prefix = full[0] == low && full[1] == high;
}

bool is_unit(const VectorOperand& operand, uint32_t lanes)
{
    return operand.block_stride == 1 && operand.repeat_stride * int64_t(block_bytes) == int64_t(lanes) * operand.size;
}

void check_strides(const Core& core, const VectorOperand& operand, bool write, Use use)
{
    if (!core.device_checks) {
        return;
    }
    if (write && operand.block_stride == 0) {
        raise("bad-argument", use,
            text_of("%s: the block stride of %s is 0, which is undefined for a destination", use.api, operand.name));
    }
    if (operand.repeat_stride < 0 || operand.repeat_stride > operand.repeat_limit) {
        raise("bad-argument", use,
            text_of("%s: the repeat stride of %s is %lld blocks, but must be 0..%lld", use.api, operand.name,
                static_cast<long long>(operand.repeat_stride), static_cast<long long>(operand.repeat_limit)));
    }
    if (operand.block_stride < 0 || operand.block_stride > 65535) {
        raise("bad-argument", use,
            text_of("%s: the block stride of %s is %lld blocks, but must be 0..65535", use.api, operand.name,
                static_cast<long long>(operand.block_stride)));
    }
}

// The active lanes of one repeat.
std::vector<Run> runs_of_repeat(const VectorOperand& operand, const Lanes& lanes)
{
    std::vector<Run> runs;
    const uint32_t per_block = static_cast<uint32_t>(block_bytes) / operand.size;
    for (uint32_t lane = 0; lane < lanes.top; ++lane) {
        if (lanes.lane(lane)) {
            const uint64_t block = uint64_t(lane / per_block) * uint64_t(operand.block_stride) * block_bytes;
            runs.push_back({operand.tensor.address + block + uint64_t(lane % per_block) * operand.size, operand.size});
        }
    }
    return runs;
}

// Lanes chosen one by one: up to two patterns are told exactly; of a more irregular mask, first to last lane.
int add_chosen_lanes(Instruction& instruction, const VectorOperand& operand, bool write, const Lanes& lanes)
{
    require_aligned(instruction.core, operand.name, operand.tensor, 32, instruction.use);
    std::vector<Region> regions = regions_of(
        runs_of_repeat(operand, lanes), lanes.repeats, uint64_t(operand.repeat_stride) * block_bytes);
    if (regions.size() > 2) {
        regions = {covering(regions)};
    }
    const int first = instruction.count;
    for (const Region& region : regions) {
        instruction.local(operand.name, write, operand.tensor, Memory::ub, region, 0);
    }
    return first;
}

}  // namespace

Lanes resolve_lanes(Core& core, const VectorForm& form, uint32_t widest, Use use)
{
    Lanes lanes;
    lanes.per_repeat = repeat_bytes / widest;
    if (form.kind == VectorForm::count) {
        if (form.repeats < 0) {
            raise("bad-argument", use,
                text_of("%s: count is %lld, but must not be negative", use.api, static_cast<long long>(form.repeats)));
        }
        core.mask = MaskRegister{};
        lanes.contiguous = true;
        lanes.total = static_cast<uint64_t>(form.repeats);
        lanes.nothing = lanes.total == 0;
        lanes.top = lanes.per_repeat;
        return lanes;
    }
    if (form.kind != VectorForm::preset) {
        if (core.mask.counter && core.device_checks) {
            raise("bad-argument", use,
                text_of("%s: the mask is in counter mode (SetMaskCount), so it must come from SetVectorMask: use "
                        "isSetMask = false, or SetMaskNorm first",
                    use.api));
        }
        if (form.kind == VectorForm::lanes) {
            const int64_t wanted = static_cast<int64_t>(form.mask[0]);
            require_range(core, "mask", wanted, 0, lanes.per_repeat, use);
            uint64_t mask[2];
            set_lane_mask(mask, form.mask[0] > 128 ? 128 : form.mask[0]);
            core.mask.set_lanes(mask[0], mask[1]);
        } else {
            core.mask.set_lanes(form.mask[0], form.mask[1]);
            const bool beyond = (lanes.per_repeat <= 64 && form.mask[1] != 0) ||
                                (lanes.per_repeat < 64 && form.mask[0] >> lanes.per_repeat != 0);
            if (beyond && core.device_checks) {
                raise("bad-argument", use,
                    text_of("%s: mask[] selects lanes beyond the %u of a repeat", use.api, lanes.per_repeat));
            }
        }
    }
    if (form.kind == VectorForm::preset) {
        require_mask(core, use);
    }
    if (core.mask.counter) {
        lanes.counter = true;
        lanes.total = core.mask.low;
        if (lanes.total > 0xffffffffull) {
            raise("bad-argument", use,
                text_of("%s: the mask is in counter mode (SetMaskCount), but SetVectorMask has set no count since",
                    use.api));
        }
        lanes.nothing = lanes.total == 0;
        lanes.repeats = (lanes.total + lanes.per_repeat - 1) / lanes.per_repeat;
        lanes.top = static_cast<uint32_t>(std::min<uint64_t>(lanes.per_repeat, lanes.total));
        return lanes;
    }
    require_range(core, "repeatTimes", form.repeats, 0, 255, use);
    if (form.repeats < 0) {
        raise("bad-argument", use, text_of("%s: repeatTimes is negative", use.api));
    }
    lanes.repeats = static_cast<uint64_t>(form.repeats);
    lanes.mask[0] = core.mask.low;
    lanes.mask[1] = core.mask.high;
    finish_mask(lanes);
    lanes.nothing = lanes.repeats == 0 || lanes.top == 0;
    return lanes;
}

Lanes resolve_repeats(Core& core, const VectorForm& form, uint32_t widest, Use use)
{
    Lanes lanes = resolve_lanes(core, form, widest, use);
    if (lanes.contiguous) {
        lanes.contiguous = false;
        lanes.counter = true;
        lanes.repeats = (lanes.total + lanes.per_repeat - 1) / lanes.per_repeat;
        lanes.top = static_cast<uint32_t>(std::min<uint64_t>(lanes.total, lanes.per_repeat));
    }
    return lanes;
}

int add_vector_operand(Instruction& instruction, const VectorOperand& operand, bool write, const Lanes& lanes)
{
    require_memory(operand.tensor, Memory::ub, operand.name, instruction.use);
    const uint64_t start = operand.tensor.address;
    if (lanes.contiguous) {
        const Region region = Region::bytes(start, lanes.total * operand.size);
        return instruction.local(operand.name, write, operand.tensor, Memory::ub, region, 32);
    }
    check_strides(instruction.core, operand, write, instruction.use);
    if (!lanes.prefix) {
        return add_chosen_lanes(instruction, operand, write, lanes);
    }
    const auto add = [&](uint64_t first, uint64_t repeats, uint32_t active) {
        const uint64_t bytes = uint64_t(active) * operand.size;
        Region region = {start + first * uint64_t(operand.repeat_stride) * block_bytes, bytes, 1, 0, repeats,
            uint64_t(operand.repeat_stride) * block_bytes};
        if (operand.block_stride != 1) {
            region.run = std::min(bytes, block_bytes);
            region.inner = (bytes + block_bytes - 1) / block_bytes;
            region.inner_stride = uint64_t(operand.block_stride) * block_bytes;
        }
        return instruction.local(operand.name, write, operand.tensor, Memory::ub, region, first == 0 ? 32 : 0);
    };
    const uint32_t last = lanes.active(lanes.repeats - 1);
    if (last == lanes.top || lanes.repeats == 1) {
        return add(0, lanes.repeats, last);
    }
    const int index = add(0, lanes.repeats - 1, lanes.top);
    add(lanes.repeats - 1, 1, last);
    return index;
}

void gather_repeat(const uint8_t* base, const VectorOperand& operand, uint64_t repeat, uint32_t lanes, uint8_t* buffer)
{
    const uint8_t* start = base + repeat * uint64_t(operand.repeat_stride) * block_bytes;
    const uint64_t bytes = uint64_t(lanes) * operand.size;
    if (operand.block_stride == 1) {
        std::memcpy(buffer, start, bytes);
        return;
    }
    for (uint64_t at = 0; at < bytes; at += block_bytes) {
        std::memcpy(buffer + at, start + at * uint64_t(operand.block_stride), std::min(block_bytes, bytes - at));
    }
}

namespace {

// Writes the active lanes of one repeat from a contiguous buffer.
void scatter_repeat(uint8_t* base, const VectorOperand& operand, uint64_t repeat, const Lanes& lanes, uint32_t active,
    const uint8_t* buffer)
{
    uint8_t* start = base + repeat * uint64_t(operand.repeat_stride) * block_bytes;
    const uint32_t per_block = static_cast<uint32_t>(block_bytes) / operand.size;
    for (uint32_t lane = 0; lane < active; ++lane) {
        if (!lanes.prefix && !lanes.lane(lane)) {
            continue;
        }
        const uint64_t block = lane / per_block;
        const uint64_t inside = uint64_t(lane % per_block) * operand.size;
        std::memcpy(start + block * uint64_t(operand.block_stride) * block_bytes + inside,
            buffer + uint64_t(lane) * operand.size, operand.size);
    }
}

// From the start of a tensor to the end of what the operands [first, last) of the instruction touch of it.
struct Extent {
    uint64_t start;
    uint64_t end;
};

Extent extent_of(const Instruction& instruction, const VectorOperand& operand, int first, int last)
{
    Extent extent = {operand.tensor.address, 0};
    for (int i = first; i < last; ++i) {
        extent.end = std::max(extent.end, instruction.operands[i].region.end());
    }
    return extent;
}

bool overlaps_partly(const Extent& a, const Extent& b)
{
    return a.start != b.start && a.start < b.end && b.start < a.end;
}

}  // namespace

uint64_t vector_work(const Lanes& lanes, uint64_t rate)
{
    const uint64_t repeats = lanes.contiguous ? (lanes.total + lanes.per_repeat - 1) / lanes.per_repeat : lanes.repeats;
    return lanes.nothing ? 1 : repeats * rate;
}

void run_elementwise(Core& core, const VectorOperand* operands, int count, const VectorForm& form, VectorKernel kernel,
    const void* context, Use use, uint64_t rate, bool updates, Elements elements)
{
    uint32_t widest = 0;
    for (int i = 0; i < count; ++i) {
        widest = std::max(widest, operands[i].size);
    }
    const Lanes lanes = resolve_lanes(core, form, widest, use);
    Instruction instruction(core, Pipe::v, use);
    instruction.work = vector_work(lanes, rate);
    instruction.passes = rate;
    if (lanes.nothing) {
        instruction.issue();
        return;
    }
    Extent extents[max_operands];
    bool unit = true;
    for (int i = 0; i < count; ++i) {
        const int first = add_vector_operand(instruction, operands[i], i == 0, lanes);
        extents[i] = extent_of(instruction, operands[i], first, instruction.count);
        if (i == 0 && updates) {
            add_vector_operand(instruction, operands[0], false, lanes);
        }
        unit = unit && is_unit(operands[i], lanes.per_repeat);
    }
    instruction.issue();
    check_overlaps(instruction, operands, count, lanes);

    const DataType type = operands[0].tensor.type;
    const bool saturates = core.saturation.floats && elements == Elements::computed && is_small_float(type);
    const auto compute = [&](uint8_t* const* views, size_t lanes_of_views) {
        kernel(views, lanes_of_views, context);
        if (saturates) {
            saturate_small_floats(type, reinterpret_cast<uint16_t*>(views[0]), lanes_of_views);
        }
    };
    uint8_t* data[max_operands];
    bool overlap = false;
    for (int i = 0; i < count; ++i) {
        data[i] = ub_data(core, operands[i].tensor.address);
        overlap = overlap || (i > 0 && overlaps_partly(extents[0], extents[i]));
        overlap = overlap || (i > 0 && data[i] == data[0] && operands[i].size != operands[0].size);
    }
    if (!overlap) {
        if (lanes.contiguous || (unit && lanes.counter)) {
            compute(data, lanes.total);
            return;
        }
        if (unit && lanes.prefix && (lanes.top == lanes.per_repeat || lanes.repeats == 1)) {
            compute(data, (lanes.repeats - 1) * lanes.per_repeat + lanes.top);
            return;
        }
    }

    // Repeat by repeat. Operands whose blocks lie apart, and lanes chosen one by one, go through buffers. Operands
    // that overlap partly are undefined on the device; here every repeat reads before it writes.
    alignas(64) uint8_t buffers[max_operands][repeat_bytes];
    const uint64_t repeats = lanes.contiguous ? (lanes.total + lanes.per_repeat - 1) / lanes.per_repeat : lanes.repeats;
    VectorOperand walked[max_operands];
    for (int i = 0; i < count; ++i) {
        walked[i] = operands[i];
        if (lanes.contiguous) {
            walked[i].block_stride = 1;
            walked[i].repeat_stride = int64_t(lanes.per_repeat) * operands[i].size / int64_t(block_bytes);
        }
    }
    for (uint64_t repeat = 0; repeat < repeats; ++repeat) {
        uint32_t active = lanes.active(repeat);
        if (lanes.contiguous) {
            active =
                static_cast<uint32_t>(std::min<uint64_t>(lanes.per_repeat, lanes.total - repeat * lanes.per_repeat));
        }
        uint8_t* views[max_operands];
        bool buffered_target = false;
        for (int i = 0; i < count; ++i) {
            const bool direct = walked[i].block_stride == 1 && !overlap && (i > 0 || lanes.prefix);
            if (direct) {
                views[i] = data[i] + repeat * uint64_t(walked[i].repeat_stride) * block_bytes;
            } else {
                gather_repeat(data[i], walked[i], repeat, active, buffers[i]);
                views[i] = buffers[i];
                buffered_target = buffered_target || i == 0;
            }
        }
        compute(views, active);
        if (buffered_target) {
            scatter_repeat(data[0], walked[0], repeat, lanes, active, buffers[0]);
        }
    }
}

}  // namespace tile_simulator
