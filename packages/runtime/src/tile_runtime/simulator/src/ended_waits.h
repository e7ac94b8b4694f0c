// Waits that a value has ended. A signal that takes the value away is ordered after them: else they may look too late, and
// see it or not.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "awaited.h"
#include "global_flags.h"

namespace tile_simulator {

struct EndedWait {
    uint64_t address = 0;
    SignalCondition condition;
    uint32_t block = 0;
    int core = 0;
    Use use{};
    GlobalFlags::Writer end{};  // its place among the instructions of its core
};

class EndedWaits {
public:
    void add(EndedWait wait);
    // Calls tell(wait) for those whose condition a new value of the word breaks, unless somebody is ordered after them.
    void broken_by(uint64_t address, int32_t value, const std::function<bool(const GlobalFlags::Writer&)>& knows,
        const std::function<void(const EndedWait&)>& tell) const;
    // Everybody knows all of them.
    void forget() { of_words_.clear(); }

private:
    // Who does not know a wait of a core knows none behind it: of each core the latest ones stand for those before.
    std::unordered_map<uint64_t, std::vector<EndedWait>> of_words_;
};

}  // namespace tile_simulator
