// Waits for sums of signals, as they were judged, and what they may rely on once all signals of the launch are known.
//
// Who waits goes on when nobody else can. But of two that could, one may hold back a signal that does not depend on the
// other, and that would have ended its wait as well: what the other learned was then not sure. That shows afterwards.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "awaited.h"
#include "handover.h"
#include "taken_over.h"

namespace tile_simulator {

// A number added to a word, and who added it.
struct Added {
    int64_t value;
    std::shared_ptr<const Handover> by;
};

struct JudgedWait {
    uint64_t address = 0;
    SignalCondition condition;
    int64_t base = 0;         // the value without the signals
    std::vector<Added> adds;  // that were not known
    size_t since = 0;         // signals to the word before its value was known otherwise
    size_t seen = 0;          // signals to the word so far
    uint32_t block = 0;
    int core = 0;
    uint32_t taken = 0;   // number of what it took over, among all that its core did
    uint32_t number = 0;  // of the wait among the instructions of the scalar unit
};

// What each core of a block has taken over.
struct TakenByBlock {
    TakenOver by[cores_per_block];
};

// What is known of each agent once a condition holds because of some ADDs, nobody says which.
ForeignPointer sure_of_adds(
    const std::vector<std::pair<int64_t, ForeignPointer>>& adds, int64_t base, const SignalCondition& condition);

class JudgedWaits {
public:
    void add(std::shared_ptr<const JudgedWait> wait) { waits_.push_back(std::move(wait)); }
    // A core of the block of a handover adds to a word, or sets it.
    void signal(uint64_t address, bool add, int64_t value, int core, const std::shared_ptr<const Handover>& by);
    size_t signals(uint64_t address) const;
    // Judges all waits again and takes from the blocks what was not sure; `ranks`: blocks of a rank.
    void judge_again(std::map<uint32_t, TakenByBlock>& blocks, uint32_t blocks_of_rank) const;
    // Everybody knows all of them.
    void forget()
    {
        waits_.clear();
        words_.clear();
    }

private:
    struct Logged {
        bool add;
        int core;
        Added added;
    };

    template <class F>
    void for_later(const JudgedWait& wait, const F& depends) const;
    bool may_change(const JudgedWait& wait) const;
    std::vector<std::pair<int64_t, ForeignPointer>> adds_of(const JudgedWait& wait,
        std::map<uint32_t, TakenByBlock>& blocks, uint32_t blocks_of_rank, int64_t& base, bool& more) const;

    std::vector<std::shared_ptr<const JudgedWait>> waits_;
    std::unordered_map<uint64_t, std::vector<Logged>> words_;
};

}  // namespace tile_simulator
