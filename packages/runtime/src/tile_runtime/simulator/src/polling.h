// Loops that read GM until it changes. The core that runs such a loop gives way to those that may end it.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ascend_c/operand.h"

namespace tile_simulator {

class Core;

constexpr uint64_t largest_look = 512;  // bytes

// Where a small copy to UB came from, until somebody looks at it.
struct CopiedWords {
    uint32_t begin = 0;  // in UB
    uint32_t end = 0;
    uint64_t from = 0;
};

struct Polling {
    bool possible = false;  // the core has read GM past its data cache, or dropped lines of that
    std::unordered_map<uint64_t, uint64_t> seen;  // values by address
    uint32_t in_vain = 0;  // looks at values that had not changed, since one that had
    std::vector<CopiedWords> copied;  // lately
    uint32_t copies_in_vain = 0;  // looks at copies that brought nothing new, and no other work between
    bool waiting = false;
    uint64_t stores_told = 0;  // of the launch, when the wait began
    uint64_t address = 0;
    Use use{};
};

// After a look at GM: rests if looks have been in vain for a while.
void rest_between_polls(Core& core, uint64_t address, uint64_t value, Use use);
// After a copy of a few words to bytes [begin, end) of UB, and after a look of the scalar unit at some of UB.
void note_copy(Core& core, uint32_t begin, uint32_t end, uint64_t from);
void rest_between_copies(Core& core, uint32_t at, uint64_t value, Use use);
// Until a core has stored to GM, or nobody can go on.
void wait_for_store(Core& core, uint64_t address, Use use);

}  // namespace tile_simulator
