// Looks at words of GM that may be flags: scalar loads that no data cache answers.
//
// A core that waits for a flag reads it until it changes; it has read it once only if it did not have to wait. To tell
// the two apart, the first look at a word that another core stores meanwhile sees what was there before, which on a
// device it might. Who waits looks again, and takes over with the new value what the store hands over; from then on the
// word is a flag for this core. Who does not look again has used a value that nothing orders: an access like any other.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "access.h"

namespace tile_simulator {

struct FlagPoll {
    Use use{};
    uint64_t origin = 0;
    uint32_t bytes = 0;
    Present now;
    uint32_t interval = 0;
    uint32_t rounds = 0;
    bool flag = false;
};

// The latest look of each core at each address.
using FlagPolls = std::map<std::pair<uint64_t, int>, FlagPoll>;
constexpr size_t most_polls = 4096;  // of a block; no kernel waits for more flags at a time
constexpr size_t most_hidden = 65536;  // words in the data cache of a core that may be flags

}  // namespace tile_simulator
