#include "bank_conflicts.h"

#include <algorithm>

namespace tile_simulator {
namespace {

constexpr int groups = 16;
constexpr int blocks = 8;  // of a repeat

// How often the blocks of one repeat of an operand fall into each bank group.
void count_blocks(const Region& region, uint64_t repeat, uint8_t (&counts)[groups])
{
    const bool strided = region.inner > 1 || region.run == 32;
    const uint64_t start = region.outer > 1 || strided ? region.start + repeat * region.outer_stride
                                                       : region.start + repeat * 256;
    const uint64_t present = strided ? region.inner : std::min<uint64_t>(blocks, (region.run + 31) / 32);
    for (uint64_t block = 0; block < std::min<uint64_t>(present, blocks); ++block) {
        const uint64_t at = start + block * (strided ? region.inner_stride : 32);
        ++counts[at >> 5 & 15];
    }
}

}  // namespace

// Every group serves one read and one write per cycle. The blocks of a repeat are eight reads per source: beyond the
// first of a group, each costs a cycle. The first repeat stands for all: they differ by the same step in every operand.
uint64_t bank_conflict_cycles(const Instruction& instruction)
{
    uint8_t reads[groups] = {};
    uint8_t writes[groups] = {};
    uint64_t repeats = 1;
    for (int i = 0; i < instruction.count; ++i) {
        const Operand& operand = instruction.operands[i];
        if (operand.memory != Memory::ub) {
            continue;
        }
        const Region& region = operand.region;
        repeats = std::max(repeats, region.outer > 1 ? region.outer : (region.run * region.inner + 255) / 256);
        count_blocks(region, 0, operand.write ? writes : reads);
    }
    uint64_t worst = 1;
    for (int group = 0; group < groups; ++group) {
        worst = std::max<uint64_t>(worst, std::max(reads[group], writes[group]));
    }
    return (worst - 1) * repeats;
}

}  // namespace tile_simulator
