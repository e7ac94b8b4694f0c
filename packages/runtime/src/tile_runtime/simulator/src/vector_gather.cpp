// Gather and Gatherb: elements or blocks of UB by byte offsets from a table in UB.
#include "ascend_c/vector_gather.h"

#include <cstring>

#include "launch.h"
#include "order_checks.h"
#include "operand_overlap.h"
#include "touched_bytes.h"
#include "vector_engine.h"

namespace tile_simulator {
namespace {

constexpr uint64_t offset_bytes = 4;
constexpr uint64_t block = 32;

uint64_t divide_up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

bool active(const Lanes& lanes, uint32_t lane)
{
    return lanes.prefix || lanes.lane(lane);
}

// The entries of the table that the active lanes of all repeats use; the table goes on from repeat to repeat.
std::vector<Region> table_regions(const LocalOperand& table, const Lanes& lanes)
{
    std::vector<Run> runs;
    for (uint32_t lane = 0; lane < lanes.top; ++lane) {
        if (active(lanes, lane)) {
            runs.push_back({table.address + lane * offset_bytes, offset_bytes});
        }
    }
    std::vector<Region> regions = regions_of(runs, lanes.repeats, lanes.per_repeat * offset_bytes);
    return regions.size() > 2 ? std::vector<Region>{covering(regions)} : regions;
}

uint32_t offset_at(Core& core, const LocalOperand& table, uint64_t entry)
{
    settle_stores(core);
    if (const OrderChecks* order = core.block.order()) {
        const uint64_t begin = table.address + entry * offset_bytes;
        order->require_defined(core, Memory::ub, begin, begin + offset_bytes);
    }
    uint32_t offset = 0;
    std::memcpy(&offset, ub_data(core, table.address + entry * offset_bytes), sizeof(offset));
    return offset;
}

// One source address, checked: aligned to what is gathered there, and inside UB.
uint64_t source_address(Core& core, const GatherSource& source, uint64_t entry, uint64_t alignment, uint64_t bytes,
    const char* table, Use use)
{
    const uint64_t offset = uint64_t(source.base) + offset_at(core, source.offsets, entry);
    const uint64_t address = source.tensor.address + offset;
    if (!in_ub(core, address, bytes)) {
        raise("out-of-bounds", use,
            text_of("%s: %s[%llu] leads to bytes [%llu, %llu) of UB, which has %u bytes", use.api, table,
                static_cast<unsigned long long>(entry), static_cast<unsigned long long>(address),
                static_cast<unsigned long long>(address + bytes), core.memory(Memory::ub).bytes()));
    }
    if (core.device_checks && address % alignment != 0) {
        raise("misaligned", use,
            text_of("%s: %s[%llu] leads to byte %llu of UB, which must be a multiple of %llu", use.api, table,
                static_cast<unsigned long long>(entry), static_cast<unsigned long long>(address),
                static_cast<unsigned long long>(alignment)));
    }
    return address;
}

}  // namespace

void vector_gather(LocalOperand dst, const GatherSource& source, const VectorForm& form, int64_t dst_repeat, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    require_memory(source.tensor, Memory::ub, "src", use);
    require_memory(source.offsets, Memory::ub, "srcOffset", use);
    require_aligned(core, "src", source.tensor, 32, use);
    require_aligned(core, "srcOffset", source.offsets, 32, use);
    const uint32_t size = size_of(dst.type);
    const VectorOperand target = {"dst", dst, size, 1, dst_repeat, 65535};
    const Lanes lanes = resolve_lanes(core, form, size, use);
    Instruction instruction(core, Pipe::v, use);
    if (lanes.nothing) {
        instruction.work = 1;
        instruction.issue();
        return;
    }
    uint64_t per_repeat = 0;
    for (uint32_t lane = 0; lane < lanes.top; ++lane) {
        per_repeat += active(lanes, lane) ? 1 : 0;
    }
    instruction.work = divide_up(per_repeat * lanes.repeats, 5);
    add_vector_operand(instruction, target, true, lanes);
    const std::vector<Region> entries = table_regions(source.offsets, lanes);
    const bool table_in_ub = in_ub(core, source.offsets.address, entries.back().end() - source.offsets.address);
    std::vector<uint64_t> addresses;
    if (table_in_ub) {
        std::vector<Run> read;
        std::vector<Run> written;
        for (uint64_t repeat = 0; repeat < lanes.repeats; ++repeat) {
            for (uint32_t lane = 0; lane < lanes.top; ++lane) {
                if (active(lanes, lane)) {
                    const uint64_t entry = repeat * lanes.per_repeat + lane;
                    addresses.push_back(source_address(core, source, entry, size, size, "srcOffset", use));
                    read.push_back({addresses.back(), size});
                    written.push_back({dst.address + repeat * uint64_t(dst_repeat) * block + lane * size, size});
                }
            }
        }
        check_apart(core, "dst", written, "src", read, use);
        for (const Region& region : entries) {
            instruction.local("srcOffset", false, source.offsets, Memory::ub, region, 0);
        }
        add_reads(instruction, "src", source.tensor, regions_of(read));
    } else {
        instruction.local("srcOffset", false, source.offsets, Memory::ub, covering(entries), 0);
    }
    instruction.issue();
    const uint64_t* from = addresses.data();
    for (uint64_t repeat = 0; repeat < lanes.repeats; ++repeat) {
        uint8_t* to = ub_data(core, dst.address + repeat * uint64_t(dst_repeat) * block);
        for (uint32_t lane = 0; lane < lanes.top; ++lane) {
            if (active(lanes, lane)) {
                std::memcpy(to + lane * size, ub_data(core, *from++), size);
            }
        }
    }
}

// Whole repeats, then the tail: two instructions, as in the device header.
void vector_gather_count(LocalOperand dst, const GatherSource& source, int64_t count, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    const int64_t size = size_of(dst.type);
    const int64_t per_repeat = 256 / size;
    // The header keeps the number of repeats in 8 bits, so a larger count would gather less than it says.
    require_range(core, "count", count, 0, 256 * per_repeat - 1, use);
    const int64_t repeats = count / per_repeat;
    const int64_t tail = count % per_repeat;
    if (repeats > 0) {
        vector_gather(
            dst, source, VectorForm::of_mask(true, static_cast<uint64_t>(per_repeat), repeats), 8, use);
    }
    if (tail > 0) {
        const int64_t done = count - tail;
        GatherSource rest = source;
        rest.offsets.address += static_cast<uint32_t>(done * int64_t(offset_bytes));
        dst.address += static_cast<uint32_t>(done * size);
        vector_gather(dst, rest, VectorForm::of_mask(true, static_cast<uint64_t>(tail), 1), 8, use);
    }
}

void vector_gather_blocks(LocalOperand dst, LocalOperand src, LocalOperand offsets, int64_t repeats,
    const AscendC::GatherRepeatParams& p, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    require_range(core, "repeatTime", repeats, 0, 255, use);
    require_range(core, "dstBlkStride", p.dstBlkStride, 0, 255, use);
    require_range(core, "dstRepStride", p.dstRepStride, 0, 65535, use);
    require_memory(src, Memory::ub, "src", use);
    require_memory(offsets, Memory::ub, "offset", use);
    require_memory(dst, Memory::ub, "dst", use);
    core.mask = MaskRegister{};
    if (repeats <= 0) {
        return;
    }
    constexpr uint64_t blocks = 8;
    const uint64_t count = static_cast<uint64_t>(repeats);
    const uint64_t block_stride = (p.dstBlkStride == 0 ? 1 : p.dstBlkStride) * block;
    const uint64_t repeat_stride = p.dstRepStride * block;
    const uint32_t size = size_of(dst.type);
    Instruction instruction(core, Pipe::v, use);
    instruction.work = divide_up(count * blocks * block / size, size == 2 ? 42 : 21);
    instruction.local(
        "dst", true, dst, Memory::ub, {dst.address, block, blocks, block_stride, count, repeat_stride}, 32);
    instruction.local("offset", false, offsets, Memory::ub,
        Region::bytes(offsets.address, count * blocks * offset_bytes), 32);
    std::vector<Run> read;
    if (in_ub(core, offsets.address, count * blocks * offset_bytes)) {
        std::vector<Run> written;
        for (uint64_t i = 0; i < count * blocks; ++i) {
            read.push_back({source_address(core, {src, offsets, 0}, i, block, block, "offset", use), block});
            written.push_back({dst.address + i / blocks * repeat_stride + i % blocks * block_stride, block});
        }
        check_apart(core, "dst", written, "src", read, use);
        add_reads(instruction, "src", src, regions_of(read));
    }
    instruction.issue();
    for (uint64_t i = 0; i < read.size(); ++i) {
        uint8_t* to = ub_data(core, dst.address + i / blocks * repeat_stride + i % blocks * block_stride);
        std::memcpy(to, ub_data(core, read[i].start), block);
    }
}

}  // namespace tile_simulator
