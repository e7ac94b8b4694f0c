// Loops that read GM until it changes. The core that runs such a loop gives way to those that may end it.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "ascend_c/operand.h"

namespace tile_simulator {

class Core;

struct Polling {
    bool possible = false;  // the core has read GM past its data cache, or dropped lines of that
    std::unordered_map<uint64_t, uint64_t> seen;  // values by address
    uint32_t in_vain = 0;  // looks at values that had not changed, since one that had
    bool waiting = false;
    uint64_t stores_told = 0;  // of the launch, when the wait began
    uint64_t address = 0;
    Use use{};
};

// After a look at GM: rests if looks have been in vain for a while.
void rest_between_polls(Core& core, uint64_t address, uint64_t value, Use use);
// Until a core has stored to GM, or nobody can go on.
void wait_for_store(Core& core, uint64_t address, Use use);

}  // namespace tile_simulator
