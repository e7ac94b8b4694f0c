#include "operand_overlap.h"

#include <algorithm>
#include <cstring>

namespace tile_simulator {
namespace {

constexpr uint64_t block_bytes = 32;

void add_run(std::vector<Run>& runs, uint64_t start, uint64_t length)
{
    if (!runs.empty() && runs.back().start + runs.back().length == start) {
        runs.back().length += length;
    } else {
        runs.push_back({start, length});
    }
}

// The bytes of the first `active` lanes of the first repeat.
std::vector<Run> runs_of(const VectorOperand& operand, const Lanes& lanes, uint32_t active, uint64_t block_stride)
{
    std::vector<Run> runs;
    const uint64_t start = operand.tensor.address;
    const uint64_t per_block = block_bytes / operand.size;
    if (lanes.prefix) {
        const uint64_t bytes = uint64_t(active) * operand.size;
        for (uint64_t at = 0; at < bytes; at += block_bytes) {
            add_run(runs, start + at * block_stride, std::min(block_bytes, bytes - at));
        }
        return runs;
    }
    for (uint32_t lane = 0; lane < active; ++lane) {
        if (lanes.lane(lane)) {
            add_run(runs, start + lane / per_block * block_stride * block_bytes + lane % per_block * operand.size,
                operand.size);
        }
    }
    return runs;
}

bool same_runs(const std::vector<Run>& a, const std::vector<Run>& b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
        [](const Run& x, const Run& y) { return x.start == y.start && x.length == y.length; });
}

std::vector<Run> moved(std::vector<Run> runs, uint64_t distance)
{
    for (Run& run : runs) {
        run.start += distance;
    }
    return runs;
}

// The bytes from the first to the last.
Run extent_of(const std::vector<Run>& runs)
{
    Run extent = runs.front();
    for (const Run& run : runs) {
        const uint64_t end = std::max(extent.start + extent.length, run.start + run.length);
        extent.start = std::min(extent.start, run.start);
        extent.length = end - extent.start;
    }
    return extent;
}

bool meet(const Run& a, const Run& b)
{
    return a.start < b.start + b.length && b.start < a.start + a.length;
}

std::vector<Run> runs_in(const RepeatedBytes& operand, uint64_t repeat)
{
    return moved(repeat + 1 == operand.repeats ? operand.last : operand.runs, repeat * operand.stride);
}

Run extent_in(const RepeatedBytes& operand, uint64_t repeat)
{
    Run extent = extent_of(repeat + 1 == operand.repeats ? operand.last : operand.runs);
    extent.start += repeat * operand.stride;
    return extent;
}

// From the first to the last byte of all repeats.
Run whole_extent(const RepeatedBytes& operand)
{
    Run extent = extent_of(operand.runs);
    extent.length += (operand.repeats - 1) * operand.stride;
    return extent;
}

std::string bytes_text(const char* name, const Run& run)
{
    return text_of("bytes [%llu, %llu) of UB as %s", static_cast<unsigned long long>(run.start),
        static_cast<unsigned long long>(run.start + run.length), name);
}

void tell_overlap(Core& core, Use use, std::string text)
{
    Fault fault = fault_of("operand-overlap", use, std::move(text));
    fault.hint = "write to bytes that this instruction does not read, or to exactly those that it reads";
    tell(core, std::move(fault));
}

// Whether the two may share bytes in one repeat.
bool same_place(const RepeatedBytes& dst, const std::vector<Run>& written, const RepeatedBytes& src,
    const std::vector<Run>& read)
{
    return dst.lane_for_lane && src.lane_for_lane ? same_runs(written, read)
                                                  : written.front().start == read.front().start;
}

// The first repeat from `from` on whose bytes of `src` end behind `begin`.
uint64_t first_repeat_behind(const RepeatedBytes& src, uint64_t from, uint64_t begin)
{
    const Run first = extent_of(src.runs);
    const uint64_t end = first.start + first.length;
    return src.stride == 0 || begin < end ? from : std::max(from, (begin - end) / src.stride);
}

}  // namespace

RepeatedBytes repeated_bytes(const VectorOperand& operand, const Lanes& lanes)
{
    if (!lanes.contiguous) {
        const auto block_stride = static_cast<uint64_t>(operand.block_stride);
        return {operand.name, runs_of(operand, lanes, lanes.top, block_stride),
            runs_of(operand, lanes, lanes.active(lanes.repeats - 1), block_stride),
            static_cast<uint64_t>(operand.repeat_stride) * block_bytes, lanes.repeats, true};
    }
    const uint64_t repeats = (lanes.total + lanes.per_repeat - 1) / lanes.per_repeat;
    const auto rest = static_cast<uint32_t>(lanes.total - (repeats - 1) * lanes.per_repeat);
    const uint32_t first = repeats == 1 ? rest : lanes.per_repeat;
    return {operand.name, runs_of(operand, lanes, first, 1), runs_of(operand, lanes, rest, 1),
        uint64_t(lanes.per_repeat) * operand.size, repeats, true};
}

void check_overlap(Core& core, const RepeatedBytes& dst, const RepeatedBytes& src, bool may_read_results, Use use)
{
    if (!core.device_checks || core.composed_call != 0 || dst.runs.empty() || src.runs.empty() ||
        !meet(whole_extent(dst), whole_extent(src))) {
        return;
    }
    for (uint64_t repeat = 0; repeat < dst.repeats; ++repeat) {
        const std::vector<Run> written = runs_in(dst, repeat);
        if (written.empty()) {
            continue;
        }
        const Run target = extent_of(written);
        for (uint64_t later = first_repeat_behind(src, repeat, target.start); later < src.repeats; ++later) {
            const std::vector<Run> read = runs_in(src, later);
            if (read.empty() || (may_read_results && later > repeat)) {
                break;
            }
            const Run source = extent_in(src, later);
            const bool legal = later == repeat && same_place(dst, written, src, read);
            if (!legal && meet(target, source) && share_bytes(written, read)) {
                return tell_overlap(core, use,
                    later == repeat
                        ? text_of("%s: in repeat %llu it writes %s and reads %s, which overlap without being the same",
                              use.api, static_cast<unsigned long long>(repeat), bytes_text(dst.name, target).c_str(),
                              bytes_text(src.name, source).c_str())
                        : text_of("%s: repeat %llu writes %s, and repeat %llu has yet to read %s", use.api,
                              static_cast<unsigned long long>(repeat), bytes_text(dst.name, target).c_str(),
                              static_cast<unsigned long long>(later), bytes_text(src.name, source).c_str()));
            }
            // All later repeats read the same bytes, or bytes behind the written ones.
            if (later > repeat && (src.stride == 0 || source.start >= target.start + target.length)) {
                break;
            }
        }
    }
}

bool may_overlap(const Instruction& instruction)
{
    if (!instruction.core.device_checks || instruction.core.composed_call != 0) {
        return false;
    }
    for (int i = 0; i < instruction.count; ++i) {
        const Operand& dst = instruction.operands[i];
        for (int j = 0; j < instruction.count && dst.write; ++j) {
            const Operand& src = instruction.operands[j];
            if (!src.write && src.memory == dst.memory && std::strcmp(src.name, dst.name) != 0 &&
                src.region.start < dst.region.end() && dst.region.start < src.region.end()) {
                return true;
            }
        }
    }
    return false;
}

void check_overlaps(const Instruction& instruction, const VectorOperand* operands, int count, const Lanes& lanes)
{
    if (!may_overlap(instruction)) {
        return;
    }
    const VectorOperand& dst = operands[0];
    for (int i = 1; i < count; ++i) {
        const VectorOperand& src = operands[i];
        // In place and without a repeat that reaches into the next one, the most frequent case, all is well.
        const bool steps = lanes.contiguous || lanes.repeats == 1 || dst.repeat_stride >= 7 * dst.block_stride + 1;
        const bool same = dst.tensor.address == src.tensor.address && dst.size == src.size &&
                          (lanes.contiguous ||
                              (dst.block_stride == src.block_stride && dst.repeat_stride == src.repeat_stride));
        if (same && steps) {
            continue;
        }
        RepeatedBytes written = repeated_bytes(dst, lanes);
        RepeatedBytes read = repeated_bytes(src, lanes);
        written.lane_for_lane = read.lane_for_lane = dst.size == src.size;
        check_overlap(
            instruction.core, written, read, src.may_read_results && !lanes.contiguous, instruction.use);
    }
}

void check_apart(Core& core, const char* dst, const std::vector<Run>& written, const char* src,
    const std::vector<Run>& read, Use use)
{
    if (core.device_checks && !written.empty() && !read.empty() && share_bytes(written, read)) {
        tell_overlap(core, use,
            text_of("%s: it writes %s and reads %s, which must share no byte", use.api,
                bytes_text(dst, extent_of(written)).c_str(), bytes_text(src, extent_of(read)).c_str()));
    }
}

}  // namespace tile_simulator
