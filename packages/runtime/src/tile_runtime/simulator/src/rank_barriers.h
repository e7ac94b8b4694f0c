// Barriers of all cores of all ranks, in the order in which every core comes to them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fault.h"
#include "handover_pointer.h"

namespace tile_simulator {

class Core;
class Launch;

// `sync` brings the cores together and waits for no store to another rank; of the vector cores alone: `vector`.
enum class Collective : uint8_t { barrier, sync, vector };

const char* name_of(Collective kind);

class RankBarriers {
public:
    // A core comes to its next collective, its `place`-th. To the last of `cores`, `known` is what they know together;
    // to others, nothing. False, and it stays out, if another core of its kind came to another one as its `place`-th.
    bool arrive(Core& core, Collective kind, uint32_t place, uint32_t cores, const ForeignPointer& knowledge, Use use,
        bool& last, ForeignPointer& known);
    // The errors of cores that came to other collectives than others, the first of each kind of core.
    std::vector<Fault> mismatches(const Launch& launch) const;
    // Lets those go on that wait for it, with what all of them know.
    void release(Collective kind, uint32_t number);
    uint32_t number_of(const Core& core, Collective kind) const;

private:
    struct Round {
        uint32_t arrived = 0;
        ForeignPointer joined;
        std::vector<Core*> waiting;
    };
    struct Party {
        uint32_t block;
        int core;
        std::string name;
        Use use;
    };

    static constexpr int kinds = 3;
    mutable std::mutex mutex_;
    std::map<uint32_t, Round> rounds_[kinds];
    std::map<std::pair<const Core*, int>, uint32_t> numbers_;  // of the collectives a core has come to, by kind
    // By kind of core and place: of each collective that not all have come to, the first core.
    std::map<uint32_t, std::map<Collective, Party>> sequence_[2];
};

}  // namespace tile_simulator
