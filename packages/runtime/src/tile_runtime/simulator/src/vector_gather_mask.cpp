// GatherMask: the elements whose bit is set, moved together. Bits come from a built-in pattern or from UB.
#include <cstring>

#include "ascend_c/vector_gather.h"
#include "touched_bytes.h"
#include "vector_engine.h"

namespace tile_simulator {
namespace {

constexpr uint64_t block = 32;

// Which elements one call looks at: `repeats` times `per_repeat` elements.
struct Walk {
    const AscendC::GatherMaskParams& strides;
    uint64_t repeats;
    uint64_t per_repeat;
    uint32_t size;

    uint64_t address(const LocalOperand& src, uint64_t repeat, uint64_t element) const
    {
        const uint64_t per_block = block / size;
        return src.address + repeat * strides.src0RepeatStride * block +
               element / per_block * strides.src0BlockStride * block + element % per_block * size;
    }
};

// Patterns 1 and 2 take every second element, 3 to 6 every fourth, 7 all (the vendor's page GatherMask).
bool in_pattern(uint32_t pattern, uint64_t element)
{
    if (pattern <= 2) {
        return element % 2 == pattern - 1;
    }
    return pattern == 7 || element % 4 == pattern - 3;
}

bool chosen(Core& core, const GatherPattern& pattern, const Walk& walk, uint64_t repeat, uint64_t element)
{
    if (pattern.bits == nullptr) {
        return in_pattern(pattern.built_in, element);
    }
    const uint64_t byte = pattern.bits->address + repeat * walk.strides.src1RepeatStride * block + element / 8;
    return (*ub_data(core, byte) >> (element % 8) & 1u) != 0;
}

// The bytes of the kept elements: exactly, or from first to last where they are too irregular.
void add_source(Instruction& instruction, const LocalOperand& src, const Walk& walk, bool same_every_repeat,
    const std::vector<Run>& first_repeat, const std::vector<Run>& all)
{
    std::vector<Region> regions = same_every_repeat
                                      ? regions_of(first_repeat, walk.repeats, walk.strides.src0RepeatStride * block)
                                      : regions_of(all);
    if (regions.size() > 4) {
        regions = {covering(regions)};
    }
    for (const Region& region : regions) {
        instruction.local("src0", false, src, Memory::ub, region, 0);
    }
}

}  // namespace

uint64_t vector_gather_mask(LocalOperand dst, LocalOperand src, const GatherPattern& pattern, bool counter,
    uint32_t mask, const AscendC::GatherMaskParams& p, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return 0;
    }
    require_memory(dst, Memory::ub, "dst", use);
    require_memory(src, Memory::ub, "src0", use);
    require_aligned(core, "src0", src, 32, use);
    require_range(core, "src0BlockStride", p.src0BlockStride, 0, 255, use);
    require_range(core, "repeatTimes", p.repeatTimes, 0, 65535, use);
    require_range(core, "src0RepeatStride", p.src0RepeatStride, 0, 65535, use);
    require_range(core, "src1RepeatStride", p.src1RepeatStride, 0, 255, use);
    if (pattern.bits == nullptr) {
        require_range(core, "src1Pattern", pattern.built_in, 1, 7, use);
    } else {
        require_memory(*pattern.bits, Memory::ub, "src1Pattern", use);
    }
    if (counter) {
        require_range(core, "mask", mask, 1, UINT32_MAX, use);
    }
    const uint32_t size = size_of(src.type);
    const Walk walk = {p, p.repeatTimes, counter ? mask : 256 / size, size};
    // The device header leaves the mask register as the instruction needed it, in normal mode.
    core.mask = {false, mask, 0};
    Instruction instruction(core, Pipe::v, use);
    const uint64_t looked_at = walk.repeats * walk.per_repeat;
    instruction.work = looked_at == 0 ? 1 : (looked_at + 128 / size - 1) / (128 / size);
    if (looked_at == 0) {
        instruction.issue();
        return core.vector_registers.kept = 0;
    }
    const uint64_t bit_bytes = (walk.per_repeat + 7) / 8;
    Region bits;
    if (pattern.bits != nullptr) {
        bits = {pattern.bits->address, bit_bytes, 1, 0, walk.repeats, p.src1RepeatStride * block};
        instruction.local("src1Pattern", false, *pattern.bits, Memory::ub, bits, 32);
    }
    // Where it leaves UB, the instruction fails as soon as it is issued, and nothing may be read before.
    const uint64_t src_end = walk.address(src, walk.repeats - 1, walk.per_repeat - 1) + size;
    if (bits.end() > core.memory(Memory::ub).bytes() || src_end > core.memory(Memory::ub).bytes()) {
        instruction.local("src0", false, src, Memory::ub, Region::bytes(src.address, src_end - src.address), 32);
        instruction.issue();
        return 0;
    }
    std::vector<Run> first_repeat;
    std::vector<Run> all;
    std::vector<uint8_t> kept;
    for (uint64_t repeat = 0; repeat < walk.repeats; ++repeat) {
        for (uint64_t element = 0; element < walk.per_repeat; ++element) {
            if (chosen(core, pattern, walk, repeat, element)) {
                const uint64_t address = walk.address(src, repeat, element);
                all.push_back({address, size});
                kept.insert(kept.end(), ub_data(core, address), ub_data(core, address) + size);
            }
        }
        if (repeat == 0) {
            first_repeat = all;
        }
    }
    if (!all.empty()) {
        add_source(instruction, src, walk, pattern.bits == nullptr, first_repeat, all);
    }
    require_aligned(core, "dst", dst, 32, use);
    if (!kept.empty()) {
        instruction.local("dst", true, dst, Memory::ub, Region::bytes(dst.address, kept.size()), 32);
    }
    instruction.issue();
    if (!kept.empty()) {
        std::memcpy(ub_data(core, dst.address), kept.data(), kept.size());
    }
    return core.vector_registers.kept = all.size();
}

int64_t gather_mask_count(Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return 0;
    }
    Instruction(core, Pipe::s, use).issue();
    return static_cast<int64_t>(core.vector_registers.kept);
}

}  // namespace tile_simulator
