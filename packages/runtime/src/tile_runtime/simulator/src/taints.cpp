#include "taints.h"

#include <algorithm>

namespace tile_simulator {

FaultPointer Taints::find(uint64_t begin, uint64_t end) const
{
    for (const Run& run : runs_) {
        if (run.begin < end && begin < run.end) {
            return run.fault;
        }
    }
    return nullptr;
}

void Taints::set(uint64_t begin, uint64_t end, const FaultPointer& fault)
{
    clear(begin, end);
    runs_.push_back({begin, end, fault});
}

void Taints::clear(uint64_t begin, uint64_t end)
{
    const size_t count = runs_.size();
    for (size_t i = 0; i < count; ++i) {
        const Run run = runs_[i];
        if (run.begin >= end || begin >= run.end) {
            continue;
        }
        runs_[i].end = std::max(run.begin, std::min(run.end, begin));
        if (run.end > end) {
            runs_.push_back({end, run.end, run.fault});
        }
    }
    runs_.erase(std::remove_if(runs_.begin(), runs_.end(), [](const Run& run) { return run.begin >= run.end; }),
        runs_.end());
}

}  // namespace tile_simulator
