// Words of GM that carry order: what the latest small store to each handed over.
//
// Any small store may be a flag; that it is one shows when another core reads it again and again until it changes
// (flag_polls.h). Stores stay invisible to such readers until they have left the data cache of the core.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
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

    // Who stores, and the grid-wide rounds its core had joined by then: who knows of a later one is behind the store.
    struct Writer {
        uint32_t block = 0;
        uint8_t agent = 0;
        uint32_t number = 0;
        uint32_t joined[grid_slots] = {};
    };
    // A store, and what readers saw until it became visible.
    struct Past {
        Writer writer{};
        uint32_t before = 0;
    };
    struct Store {
        Writer writer{};
        uint32_t before = 0;      // what readers saw until it became visible
        std::vector<Past> past;   // the latest stores, this one included
        // What is handed over: by the store, or by all atomic updates since the last one. Empty: not visible yet.
        std::vector<std::shared_ptr<const Handover>> handed;

        // The stores to the word form a chain if each is ordered after the one before: its core has seen that value, or
        // is ordered after the store otherwise. Updates form one link, and need no order among themselves.
        bool chained = true;
        uint64_t number = 0;          // of stores and updates so far
        uint64_t same_since = 0;      // number of the first of the latest stores that all left this value
        uint64_t last_plain = 0;      // number of the latest store that is no update
        Writer plain_writer{};        // of that store
        std::vector<Writer> updates;  // of the updates since, the latest of each agent but `writer`
        std::vector<Writer> earlier;  // of the links before, the latest of each agent

        // What readers saw before the first of the latest stores for which `f` is true.
        template <class F>
        uint32_t before_first(const F& f) const
        {
            const auto is = [&](const Past& one) { return f(one.writer); };
            const auto first = std::find_if(past.begin(), past.end(), is);
            return first != past.end() ? first->before : before;
        }
    };
    // Whether the storing core is ordered after the links of a chain that its store needs.
    using Continues = std::function<bool(uint64_t word, const Store& store)>;
    // The two cases of that, by the number of the latest store whose value the core has seen.
    template <class Behind>
    static bool continues(const Store& store, bool update, uint64_t seen, const Behind& behind)
    {
        if (update) {
            return seen >= store.last_plain || behind(store.plain_writer);
        }
        return seen == store.number ||
               (behind(store.writer) && std::all_of(store.updates.begin(), store.updates.end(), behind));
    }

    // A store of `bytes` at `address`; memory still holds what was there before. Without a handover it becomes visible
    // with `publish`. An `update` (atomic) adds to what was handed over before. `source`: the bytes, or null if they are not
    // known.
    void store(uint64_t address, uint64_t bytes, const uint8_t* source, const Writer& writer,
        std::shared_ptr<const Handover> handover, bool update, const Continues& continues);
    // True if the stores to all words of [begin, end) are chains.
    bool chained(uint64_t begin, uint64_t end) const;
    // Something else may have been stored to [begin, end): its words are no chains.
    void break_chains(uint64_t begin, uint64_t end);
    // Calls f(writer) for the stores to a word so far if they are a chain and `continues` says so of the next one.
    template <class F>
    void for_chain(uint64_t address, const Continues& continues, const F& f) const
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        const uint64_t word = address / word_bytes * word_bytes;
        const auto found = words_.find(word);
        if (found == words_.end() || !found->second.chained || !continues(word, found->second)) {
            return;
        }
        f(found->second.writer);
        for (const auto* writers : {&found->second.updates, &found->second.earlier}) {
            std::for_each(writers->begin(), writers->end(), f);
        }
    }
    // The stores of one core to these words are visible from now on.
    void publish(const std::vector<uint64_t>& words, const Writer& writer, const std::shared_ptr<const Handover>& handover);
    // The latest store to the word at an address; false if there was none.
    bool find(uint64_t address, Store& store) const;
    static bool same(const Store& a, const Store& b);

private:
    static constexpr size_t most_past = 16;
    // The others are no flags: no kernel has as many.
    static constexpr size_t most_words = size_t(1) << 20;

    mutable std::mutex mutex_;
    std::unordered_map<uint64_t, Store> words_;
};

}  // namespace tile_simulator
