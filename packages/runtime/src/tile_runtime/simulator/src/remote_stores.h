// What a core has stored to the memory of other ranks and not waited for yet.
//
// Such a store is complete once the core has waited for it (aclshmem_quiet); when before that it arrives nobody knows.
// So it may stay here until then: who reads too early then sees what was there before.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "ascend_c/atomic.h"
#include "ascend_c/operand.h"
#include "saturation.h"
#include "tile_simulator.h"

namespace tile_simulator {

class Core;

class RemoteStores {
public:
    struct Open {
        Use use;              // the latest
        uint32_t fenced = 0;  // the wait of aclshmem_fence that it stands before, or 0
    };

    void begin() { *this = RemoteStores{}; }
    // The core accesses memory of a rank with the present instruction, or no other rank's (-1). Of the scalar unit's
    // stores the data cache takes care.
    void access(Core& core, int32_t rank, bool write, bool scalar, Use use);
    // The rank to which the present instruction stores, or -1.
    int32_t target() const { return target_; }
    // Keeps bytes that the present instruction stores to another rank back; false if they arrive at once.
    bool hold(const Core& core, uint8_t* target, const uint8_t* source, uint64_t bytes);
    void deliver();

    const Open* open_to(uint32_t rank) const;
    bool any() const { return !open_.empty(); }
    void fence(uint32_t number);
    // All have arrived.
    void close();

private:
    void store(uint8_t* target, const uint8_t* source, uint64_t bytes, AtomicKind atomic, DataType type, bool saturates);

    struct Held {
        uint8_t* target;
        std::vector<uint8_t> bytes;
        AtomicKind atomic;
        DataType type;
        bool saturates;
    };

    std::map<uint32_t, Open> open_;  // by rank
    std::vector<Held> held_;
    int32_t target_ = -1;
    const TileProcesses* processes_ = nullptr;  // that the other ranks have
    bool late_ = false;   // the present instruction's
    uint64_t draws_ = 0;
};

}  // namespace tile_simulator
