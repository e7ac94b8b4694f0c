// What was signalled to words of ranks by earlier launches.
//
// Launches follow each other on each rank, but nothing orders a launch of one rank after one of another: a signal of this
// launch may arrive before one of the launch before, unless its core has learned from a rank that knew that one when its
// launch ended. All ranks meet at a barrier, or where the host waits for all of them (`forget`).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tile_simulator.h"

namespace tile_simulator {

class WordHistory {
public:
    // A set of ranks has a bit for each.
    static constexpr uint32_t most_ranks = 64;
    // The latest signal of a rank to a word.
    struct Past {
        bool add = false;
        int32_t value = 0;
        uint32_t rank = 0;
        uint64_t known_by = 0;  // ranks that know all signals of `rank` to the word once their launch has ended
        std::string act;        // in words
    };

    // By rank; null if nothing was signalled to the word, or its value is not what the signals left.
    const std::vector<Past>* of(uint64_t address, int32_t value) const;
    bool empty() const { return words_.empty(); }
    void forget() { words_.clear(); }
    void forget(uint64_t address) { words_.erase(address); }
    // A launch has ended; `starts`: by rank, the ranks of whose part of the launch it knows, itself among them.
    void end_launch(const std::vector<uint64_t>& starts);
    // The signals of a rank to a word in that launch, which left a value.
    void keep(uint64_t address, int32_t left, Past past);

private:
    struct Word {
        int32_t value = 0;
        std::vector<Past> past;
    };

    std::map<uint64_t, Word> words_;
};

}  // namespace tile_simulator

struct TileWords : tile_simulator::WordHistory {};
