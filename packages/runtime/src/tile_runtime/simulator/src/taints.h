// Bytes of a local memory that hold what no document says: nobody wrote them, or two writes in no order did. That is a
// fault once it has an effect, in GM or on what the scalar unit does; until then vector instructions hand it on.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fault.h"

namespace tile_simulator {

using FaultPointer = std::shared_ptr<const Fault>;

class Taints {
public:
    // The fault behind the first tainted byte of [begin, end); null if there is none.
    FaultPointer find(uint64_t begin, uint64_t end) const;
    void set(uint64_t begin, uint64_t end, const FaultPointer& fault);
    void clear(uint64_t begin, uint64_t end);
    void reset() { runs_.clear(); }
    bool empty() const { return runs_.empty(); }
    bool full() const { return runs_.size() >= most_runs; }

private:
    static constexpr size_t most_runs = 4096;

    struct Run {
        uint64_t begin;
        uint64_t end;
        FaultPointer fault;
    };

    std::vector<Run> runs_;  // in no order; mostly none
};

}  // namespace tile_simulator
