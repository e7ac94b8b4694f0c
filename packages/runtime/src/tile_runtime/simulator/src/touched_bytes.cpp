#include "touched_bytes.h"

#include <algorithm>

namespace tile_simulator {
namespace {

// Sorted runs that neither overlap nor touch each other.
void merge(std::vector<Run>& runs)
{
    std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.start < b.start; });
    size_t kept = 0;
    for (const Run& run : runs) {
        if (kept > 0 && run.start <= runs[kept - 1].start + runs[kept - 1].length) {
            Run& last = runs[kept - 1];
            last.length = std::max(last.start + last.length, run.start + run.length) - last.start;
        } else {
            runs[kept++] = run;
        }
    }
    runs.resize(kept);
}

}  // namespace

std::vector<Region> regions_of(std::vector<Run> runs, uint64_t outer, uint64_t outer_stride)
{
    merge(runs);
    std::vector<Region> regions;
    for (size_t i = 0; i < runs.size();) {
        Region region = {runs[i].start, runs[i].length, 1, 0, outer, outer_stride};
        size_t next = i + 1;
        if (next < runs.size() && runs[next].length == runs[i].length) {
            region.inner_stride = runs[next].start - runs[i].start;
            while (next < runs.size() && runs[next].length == region.run &&
                   runs[next].start - runs[next - 1].start == region.inner_stride) {
                ++next;
            }
            region.inner = next - i;
        }
        regions.push_back(region);
        i = next;
    }
    return regions;
}

Region covering(const std::vector<Region>& regions)
{
    Region whole = regions.front();
    uint64_t end = 0;  // of the first repetition
    for (const Region& region : regions) {
        end = std::max(end, region.start + (region.inner - 1) * region.inner_stride + region.run);
    }
    whole.run = end - whole.start;
    whole.inner = 1;
    whole.inner_stride = 0;
    return whole;
}

bool share_bytes(std::vector<Run> a, std::vector<Run> b)
{
    merge(a);
    merge(b);
    size_t i = 0;
    size_t j = 0;
    while (i < a.size() && j < b.size()) {
        if (a[i].start + a[i].length <= b[j].start) {
            ++i;
        } else if (b[j].start + b[j].length <= a[i].start) {
            ++j;
        } else {
            return true;
        }
    }
    return false;
}

void add_reads(
    Instruction& instruction, const char* name, const LocalOperand& tensor, const std::vector<Region>& regions)
{
    require_memory(tensor, Memory::ub, name, instruction.use);
    const size_t room = static_cast<size_t>(Instruction::capacity - instruction.count);
    size_t next = 0;
    while (regions.size() - next > room) {
        Instruction part(instruction.core, instruction.pipe, instruction.use);
        for (; part.count < Instruction::capacity && regions.size() - next > room; ++next) {
            part.local(name, false, tensor, Memory::ub, regions[next], 0);
        }
        part.issue();
    }
    for (; next < regions.size(); ++next) {
        instruction.local(name, false, tensor, Memory::ub, regions[next], 0);
    }
}

void require_aligned(const Core& core, const char* name, const LocalOperand& tensor, uint32_t alignment, Use use)
{
    if (core.device_checks && tensor.address % alignment != 0) {
        raise("misaligned", use,
            text_of("%s: %s starts at byte %u of UB, which must be a multiple of %u", use.api, name, tensor.address,
                alignment));
    }
}

}  // namespace tile_simulator
