// The GM buffers of a run: each mapped from the request file between areas no access may touch.
#pragma once

#include <cstdint>
#include <vector>

#include "run_record.h"

namespace tile_runner {

// Where an address lies relative to the nearest buffer.
struct Nearest {
    int32_t argument = -1;
    int64_t offset = 0;
};

class ArgumentMemory {
public:
    // Maps every buffer; throws std::runtime_error if the host has no room.
    ArgumentMemory(int request_file, const RequestArgument* arguments, uint32_t count);

    uint8_t* address(uint32_t argument) const { return areas_[argument].data; }
    // May be called in a signal handler.
    Nearest nearest(uint64_t address) const;
    // A buffer beside whose data the pages were changed, by a pointer the simulator does not see.
    Nearest find_overwritten() const;

private:
    struct Area {
        uint8_t* pages = nullptr;
        uint8_t* data = nullptr;
        uint64_t bytes = 0;
        uint64_t page_bytes = 0;
        bool own = false;
    };

    std::vector<Area> areas_;
    uint8_t* base_ = nullptr;
    uint64_t reserved_ = 0;
};

}  // namespace tile_runner
