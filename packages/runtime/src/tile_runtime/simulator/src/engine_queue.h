// What a core has given to the engine that copies without cores (SDMA), and not waited for yet.
//
// The engine reads and writes some time between the request and the wait for it: so a transfer may stay here until
// then. Who reads too early then sees what was there before, and who stores over the source too early sends that.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "ascend_c/operand.h"

namespace tile_simulator {

class Core;
class RankMessages;

class EngineQueue {
public:
    void begin() { *this = EngineQueue{}; }
    // A transfer that writes to the memory of a rank, or of no other one (-1).
    void add(const Core& core, uint8_t* target, const uint8_t* source, uint64_t bytes, int32_t rank, Use use);
    // All of them are done.
    void finish();
    // The latest transfer that is under way, and the latest to a rank; null if there is none.
    const Use* open() const { return open_ ? &latest_ : nullptr; }
    const Use* open_to(uint32_t rank) const;

private:
    struct Held {
        uint8_t* target;
        const uint8_t* source;
        uint64_t bytes;
    };

    void deliver();

    std::vector<Held> held_;
    std::map<uint32_t, Use> open_to_;
    RankMessages* messages_ = nullptr;  // to ranks of other processes that share no memory
    Use latest_{};
    bool open_ = false;
    uint64_t draws_ = 0;
};

// Tells transfer-open if the core ends and has not waited for what it has given to the engine.
void check_engine_at_exit(Core& core);

}  // namespace tile_simulator
