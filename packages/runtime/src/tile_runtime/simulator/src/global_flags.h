// Words of GM that carry order: what the latest small store to each handed over.
//
// Any small store may be a flag; that it is one shows when another core reads it again and again until it changes
// (flag_polls.h). Stores stay invisible to such readers until they have left the data cache of the core.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "handover.h"

namespace tile_simulator {

class GlobalFlags {
public:
    static constexpr uint64_t word_bytes = 4;
    static constexpr uint64_t largest_store = 64;  // bytes of one instruction that may be flags

    // Who stores, and the grid-wide rounds its block had joined by then: who knows of a later one is behind the store.
    struct Writer {
        uint32_t block = 0;
        uint8_t agent = 0;
        uint32_t number = 0;
        uint32_t joined[grid_slots] = {};
    };
    struct Store {
        Writer writer{};
        uint32_t before = 0;  // what readers saw until it became visible
        // What is handed over: by the store, or by all atomic updates since the last one. Empty: not visible yet.
        std::vector<std::shared_ptr<const Handover>> handed;
    };

    // A store of `bytes` at `address`; memory still holds what was there before. Without a handover it becomes visible
    // with `publish`. An `update` (atomic) adds to what was handed over before.
    void store(uint64_t address, uint64_t bytes, const Writer& writer, std::shared_ptr<const Handover> handover,
        bool update);
    // The stores of one core to these words are visible from now on.
    void publish(const std::vector<uint64_t>& words, const Writer& writer, const std::shared_ptr<const Handover>& handover);
    // The latest store to the word at an address; false if there was none.
    bool find(uint64_t address, Store& store) const;
    static bool same(const Store& a, const Store& b);

private:
    // The others are no flags: no kernel has as many.
    static constexpr size_t most_words = size_t(1) << 20;

    mutable std::mutex mutex_;
    std::unordered_map<uint64_t, Store> words_;
};

}  // namespace tile_simulator
