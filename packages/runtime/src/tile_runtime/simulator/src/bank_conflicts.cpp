#include "bank_conflicts.h"

#include <algorithm>

namespace tile_simulator {
namespace {

constexpr uint64_t groups = 16;
constexpr uint64_t most_blocks = 8;
constexpr uint64_t block_bytes = 32;
constexpr uint64_t repeat_bytes = 256;

// UB has 192 KB: address bits 16 and 17 choose one of the three banks of a group.
uint64_t bank_of(uint64_t address)
{
    return address / block_bytes % groups + groups * (address >> 16 & 3);
}

// How an operand walks through UB: its blocks of 32 B in a repeat, and the way from repeat to repeat.
struct Walk {
    void follow(Region region)
    {
        start = region.start;
        if (region.inner > 1 && region.inner_stride < block_bytes) {
            // Elements apart within blocks: the blocks from the first to the last.
            region.run += (region.inner - 1) * region.inner_stride;
            region.inner = 1;
        }
        const bool apart = region.inner > 1 && (region.outer > 1 || region.run == block_bytes);
        blocks = std::min(most_blocks, apart ? region.inner : (region.run + block_bytes - 1) / block_bytes);
        block_step = apart ? region.inner_stride : block_bytes;
        if (region.outer > 1 || apart) {
            repeat_step = region.outer_stride;
            repeats = region.outer;
        } else if (region.inner > 1) {
            repeat_step = region.inner_stride;
            repeats = region.inner;
        } else {
            repeat_step = repeat_bytes;
            repeats = (region.run + repeat_bytes - 1) / repeat_bytes;
        }
    }
    uint64_t block(uint64_t repeat, uint64_t index) const { return start + repeat * repeat_step + index * block_step; }
    // A block that is read again within a repeat is read once.
    uint64_t different_blocks() const { return block_step == 0 ? std::min<uint64_t>(blocks, 1) : blocks; }

    uint64_t start;
    uint64_t blocks;
    uint64_t block_step;
    uint64_t repeat_step;
    uint64_t repeats;
};

// The operands of one direction.
struct Walks {
    const Walk* begin() const { return walks; }
    const Walk* end() const { return walks + count; }

    Walk walks[Instruction::capacity];
    int count = 0;
};

// Cycles beyond the first that the operands of one direction need for a repeat.
uint64_t same_group(const Walks& walks, uint64_t repeat)
{
    uint8_t uses[groups] = {};
    uint8_t worst = 1;
    for (const Walk& walk : walks) {
        for (uint64_t block = 0; block < walk.different_blocks(); ++block) {
            worst = std::max(worst, ++uses[walk.block(repeat, block) / block_bytes % groups]);
        }
    }
    return worst - 1u;
}

// A write that meets a read in a bank costs a cycle, unless all their blocks meet pairwise: then it comes a repeat later.
uint64_t read_meets_write(const Walks& reads, const Walks& writes, uint64_t repeat)
{
    for (const Walk& write : writes) {
        for (const Walk& read : reads) {
            uint64_t read_banks = 0;
            bool pairwise = true;
            for (uint64_t block = 0; block < read.blocks; ++block) {
                const uint64_t bank = bank_of(read.block(repeat, block));
                read_banks |= uint64_t(1) << bank;
                pairwise = pairwise && block < write.blocks && bank == bank_of(write.block(repeat, block));
            }
            for (uint64_t block = 0; block < write.blocks && !pairwise; ++block) {
                if ((read_banks >> bank_of(write.block(repeat, block)) & 1) != 0) {
                    return 1;
                }
            }
        }
    }
    return 0;
}

}  // namespace

std::vector<BankOperand> bank_operands(const Instruction& instruction)
{
    std::vector<BankOperand> operands;
    for (int i = 0; i < instruction.count; ++i) {
        const Operand& operand = instruction.operands[i];
        if (operand.memory == Memory::ub) {
            operands.push_back({operand.name, operand.write, operand.element, operand.region, operand.buffer});
        }
    }
    return operands;
}

// Every group serves one read and one write per cycle, on different banks. Where every operand goes on by the same
// number of groups, the first repeat stands for all; otherwise sixteen repeats do, after which it starts again.
uint64_t bank_conflict_cycles(const std::vector<BankOperand>& operands, uint64_t passes)
{
    Walks reads;
    Walks writes;
    uint64_t repeats = 1;
    const Walk* first = nullptr;
    bool together = true;
    for (size_t i = 0; i < operands.size(); ++i) {
        const BankOperand& operand = operands[i];
        // A last repeat of its own, with fewer lanes, does not meet the others.
        if (i > 0 && operand.name == operands[i - 1].name && operand.write == operands[i - 1].write) {
            continue;
        }
        Walks& walks = operand.write ? writes : reads;
        Walk& walk = walks.walks[walks.count++];
        walk.follow(operand.region);
        repeats = std::max(repeats, walk.repeats);
        first = first == nullptr ? &walk : first;
        together = together && (walk.repeat_step - first->repeat_step) % (block_bytes * groups) == 0;
    }
    const uint64_t looked_at = together ? 1 : std::min(groups, repeats);
    uint64_t cycles = 0;
    for (uint64_t repeat = 0; repeat < looked_at; ++repeat) {
        // What takes several passes over a repeat reads its operands in each.
        const uint64_t again = same_group(reads, repeat) * passes;
        cycles += std::max({again, same_group(writes, repeat), read_meets_write(reads, writes, repeat)});
    }
    return cycles * repeats / looked_at;
}

}  // namespace tile_simulator
