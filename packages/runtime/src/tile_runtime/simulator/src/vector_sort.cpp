// Sort32 and MrgSort.
#include "ascend_c/vector_sort.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "operand_overlap.h"
#include "touched_bytes.h"
#include "vector_engine.h"

namespace tile_simulator {
namespace {

constexpr uint64_t pair_bytes = 8;
constexpr uint32_t group = 32;  // scores one repeat of Sort32 sorts
constexpr uint32_t most_lists = 4;
constexpr const char* names[most_lists] = {"src1", "src2", "src3", "src4"};

// Cycles for so many pairs (docs/hardware/time_model.md#vector-pipe).
uint64_t sort_work(uint64_t pairs)
{
    return (5 * pairs + 3) / 4;
}

struct Pair {
    float score;
    uint64_t bits;  // as it lies in UB
};

float score_of(const uint8_t* at, DataType type)
{
    if (type == DataType::f16) {
        uint16_t bits;
        std::memcpy(&bits, at, sizeof(bits));
        return half_bits_to_float(bits);
    }
    float value;
    std::memcpy(&value, at, sizeof(value));
    return value;
}

// Strictly before in descending order. Where a NaN comes is not published; here it counts as the largest score.
bool before(float a, float b)
{
    return std::isnan(a) ? !std::isnan(b) : a > b;
}

// A list of pairs in UB.
struct List {
    uint64_t address;
    uint32_t length;
    uint32_t taken = 0;

    bool exhausted() const { return taken == length; }
};

// Appends the merged lists; stops at the first exhausted one if asked to.
void merge(Core& core, std::vector<List>& lists, DataType type, bool suspend, std::vector<uint64_t>& merged)
{
    for (;;) {
        List* best = nullptr;
        float best_score = 0.0f;
        for (List& list : lists) {
            if (list.exhausted()) {
                if (suspend) {
                    return;
                }
                continue;
            }
            const float score = score_of(ub_data(core, list.address + list.taken * pair_bytes), type);
            if (best == nullptr || before(score, best_score)) {
                best = &list;
                best_score = score;
            }
        }
        if (best == nullptr) {
            return;
        }
        uint64_t bits;
        std::memcpy(&bits, ub_data(core, best->address + best->taken * pair_bytes), pair_bytes);
        merged.push_back(bits);
        ++best->taken;
    }
}

void check_merge(const Core& core, const AscendC::MrgSort4Info& info, const LocalOperand* lists, Use use)
{
    for (const uint16_t length : info.elementLengths) {
        require_range(core, "elementLengths", length, 0, 4095, use);
    }
    if (info.validBit != 3 && info.validBit != 7 && info.validBit != 15) {
        raise("bad-argument", use, text_of("%s: validBit is %u, but must be 3, 7 or 15", use.api, info.validBit));
    }
    require_range(core, "repeatTimes", info.repeatTimes, 0, 255, use);
    if (info.repeatTimes <= 1 || !core.device_checks) {
        return;
    }
    // The conditions under which repeatTimes has an effect (the vendor's page MrgSort).
    bool usual = info.validBit == 15 && !info.ifExhaustedSuspension;
    for (uint32_t i = 1; i < most_lists && usual; ++i) {
        usual = info.elementLengths[i] == info.elementLengths[0] &&
                lists[i].address == lists[i - 1].address + info.elementLengths[0] * pair_bytes;
    }
    if (!usual) {
        raise("bad-argument", use,
            text_of("%s: repeatTimes is %u, which needs four contiguous lists of equal length, validBit 15 and no "
                    "suspension",
                use.api, info.repeatTimes));
    }
}

}  // namespace

void vector_sort32(LocalOperand dst, LocalOperand scores, LocalOperand indices, int64_t repeats, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    require_memory(dst, Memory::ub, "dst", use);
    require_memory(scores, Memory::ub, "src0", use);
    require_memory(indices, Memory::ub, "src1", use);
    require_range(core, "repeatTime", repeats, 0, 255, use);
    if (repeats <= 0) {
        return;
    }
    const uint32_t size = size_of(scores.type);
    const uint64_t count = static_cast<uint64_t>(repeats) * group;
    Instruction instruction(core, Pipe::v, use);
    instruction.work = sort_work(count);
    const int to = instruction.local("dst", true, dst, Memory::ub, Region::bytes(dst.address, count * pair_bytes), 32);
    const int from =
        instruction.local("src0", false, scores, Memory::ub, Region::bytes(scores.address, count * size), 32);
    const int labels =
        instruction.local("src1", false, indices, Memory::ub, Region::bytes(indices.address, count * 4), 32);
    instruction.issue();
    check_apart(core, "dst", {{dst.address, count * pair_bytes}}, "src0", {{scores.address, count * size}}, use);
    check_apart(core, "dst", {{dst.address, count * pair_bytes}}, "src1", {{indices.address, count * 4}}, use);
    std::vector<Pair> pairs(count);
    for (uint64_t i = 0; i < count; ++i) {
        const uint8_t* score = instruction.data(from) + i * size;
        uint32_t index;
        std::memcpy(&index, instruction.data(labels) + i * 4, sizeof(index));
        uint32_t bits = 0;  // the two bytes between a half score and its index are 0
        std::memcpy(&bits, score, size);
        pairs[i] = {score_of(score, scores.type), uint64_t(index) << 32 | bits};
    }
    for (uint64_t i = 0; i < count; i += group) {
        std::stable_sort(pairs.begin() + static_cast<int64_t>(i), pairs.begin() + static_cast<int64_t>(i + group),
            [](const Pair& a, const Pair& b) { return before(a.score, b.score); });
    }
    for (uint64_t i = 0; i < count; ++i) {
        std::memcpy(instruction.data(to) + i * pair_bytes, &pairs[i].bits, pair_bytes);
    }
}

void vector_merge(LocalOperand dst, const LocalOperand* tensors, const AscendC::MrgSort4Info& info, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    check_merge(core, info, tensors, use);
    const uint32_t valid = info.validBit == 3 ? 2 : info.validBit == 7 ? 3 : 4;
    require_memory(dst, Memory::ub, "dst", use);
    require_aligned(core, "dst", dst, 32, use);
    uint64_t total = 0;  // bytes of all lists: what a repeat goes on by
    for (uint32_t i = 0; i < valid; ++i) {
        require_memory(tensors[i], Memory::ub, names[i], use);
        total += info.elementLengths[i] * pair_bytes;
    }
    if (info.repeatTimes == 0) {
        return;
    }
    const uint64_t skipped = (info.repeatTimes - 1) * total;
    bool inside = true;
    for (uint32_t i = 0; i < valid; ++i) {
        inside = inside && in_ub(core, tensors[i].address, skipped + info.elementLengths[i] * pair_bytes);
    }
    std::vector<List> lists;
    std::vector<uint64_t> merged;
    for (uint64_t repeat = 0; repeat < info.repeatTimes && inside; ++repeat) {
        lists.clear();
        for (uint32_t i = 0; i < valid; ++i) {
            lists.push_back({tensors[i].address + repeat * total, info.elementLengths[i]});
        }
        merge(core, lists, dst.type, info.ifExhaustedSuspension, merged);
    }
    Instruction instruction(core, Pipe::v, use);
    instruction.work = sort_work(merged.size());
    std::vector<Run> read;
    for (uint32_t i = 0; i < valid; ++i) {
        // Besides the pairs taken, the next one of every list was compared.
        const uint64_t length = info.elementLengths[i];
        const uint64_t bytes = pair_bytes * (inside ? std::min<uint64_t>(lists[i].taken + 1, length) : length);
        if (bytes > 0) {
            const Region region = Region::strided(tensors[i].address, bytes, info.repeatTimes, total);
            instruction.local(names[i], false, tensors[i], Memory::ub, region, 8);
            read.push_back({region.start, skipped + bytes});
        }
    }
    const uint64_t bytes = merged.size() * pair_bytes;
    if (bytes > 0) {
        check_apart(core, "dst", {{dst.address, bytes}}, "lists", read, use);
        instruction.local("dst", true, dst, Memory::ub, Region::bytes(dst.address, bytes), 0);
    }
    instruction.issue();
    if (bytes > 0) {
        std::memcpy(ub_data(core, dst.address), merged.data(), bytes);
    }
    core.vector_registers.merge_suspends = info.ifExhaustedSuspension;
    for (uint32_t i = 0; i < most_lists; ++i) {
        core.vector_registers.merged[i] = static_cast<uint16_t>(i < valid ? lists[i].taken : 0);
    }
}

void vector_merge_all(LocalOperand dst, LocalOperand temporary, int64_t repeats, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv) || repeats <= 0) {
        return;
    }
    const ComposedCall call(core);
    const auto at = [](LocalOperand tensor, uint32_t pairs) {
        tensor.address += pairs * static_cast<uint32_t>(pair_bytes);
        return tensor;
    };
    const uint32_t total = static_cast<uint32_t>(repeats) * group;
    copy_local_count(temporary, dst, total * pair_bytes, use);
    pipe_barrier(PIPE_V, use);
    for (uint32_t length = group; length < total; length *= most_lists) {
        const uint32_t full = total / (most_lists * length);  // merges of four whole lists
        const uint32_t done = full * most_lists * length;
        AscendC::MrgSort4Info info;
        info.validBit = 15;
        info.repeatTimes = full;
        std::fill(std::begin(info.elementLengths), std::end(info.elementLengths), static_cast<uint16_t>(length));
        LocalOperand lists[most_lists];
        for (uint32_t i = 0; i < most_lists; ++i) {
            lists[i] = at(temporary, i * length);
        }
        vector_merge(dst, lists, info, use);
        pipe_barrier(PIPE_V, use);
        uint32_t left = total - done;
        if (left > length) {
            uint32_t valid = 0;
            info = AscendC::MrgSort4Info{};
            for (; left > 0; ++valid) {
                lists[valid] = at(temporary, done + valid * length);
                info.elementLengths[valid] = static_cast<uint16_t>(std::min(left, length));
                left -= info.elementLengths[valid];
            }
            info.validBit = static_cast<uint16_t>((1u << valid) - 1);
            vector_merge(at(dst, done), lists, info, use);
        } else if (left > 0) {
            copy_local_count(at(dst, done), at(temporary, done), left * pair_bytes, use);
        }
        pipe_barrier(PIPE_V, use);
        copy_local_count(temporary, dst, total * pair_bytes, use);
        pipe_barrier(PIPE_V, use);
    }
}

void read_merged(uint16_t* counts, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    Instruction(core, Pipe::s, use).issue();
    if (!core.vector_registers.merge_suspends && core.device_checks) {
        raise("bad-argument", use,
            text_of("%s: the last MrgSort did not have ifExhaustedSuspension set, so it leaves no counts", use.api));
    }
    std::copy(std::begin(core.vector_registers.merged), std::end(core.vector_registers.merged), counts);
}

}  // namespace tile_simulator
