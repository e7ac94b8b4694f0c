#include "global_flags.h"

#include <cstring>

namespace tile_simulator {
namespace {

// Updates of a counter hand over once per core, with all that it has done by the last of them.
void add(std::vector<std::shared_ptr<const Handover>>& handed, const std::shared_ptr<const Handover>& handover)
{
    for (auto& earlier : handed) {
        if (earlier->block == handover->block && handover->covers(*earlier)) {
            earlier = handover;
            return;
        }
    }
    handed.push_back(handover);
}

void remember(std::vector<GlobalFlags::Writer>& writers, const GlobalFlags::Writer& writer)
{
    const auto same = std::find_if(writers.begin(), writers.end(), [&](const GlobalFlags::Writer& other) {
        return other.block == writer.block && other.agent == writer.agent;
    });
    if (same != writers.end()) {
        *same = writer;
    } else {
        writers.push_back(writer);
    }
}

// Adds a store or an update to the chain of its word.
void extend(GlobalFlags::Store& store, const GlobalFlags::Writer& writer, bool update, bool continues)
{
    store.chained = store.chained && continues;
    const bool other = store.writer.block != writer.block || store.writer.agent != writer.agent;
    if (store.number != 0 && other && update && store.number != store.last_plain) {
        remember(store.updates, store.writer);
    } else if (store.number != 0 && other) {
        remember(store.earlier, store.writer);
    }
    if (!update) {
        for (const GlobalFlags::Writer& earlier : store.updates) {
            remember(store.earlier, earlier);
        }
        store.updates.clear();
        store.plain_writer = writer;
        store.last_plain = store.number + 1;
    }
    ++store.number;
    store.writer = writer;
}

}  // namespace

void GlobalFlags::store(uint64_t address, uint64_t bytes, const uint8_t* source, const Writer& writer,
    std::shared_ptr<const Handover> handover, bool update, const Continues& continues)
{
    const std::lock_guard<std::mutex> lock(mutex_);
    for (uint64_t word = address / word_bytes * word_bytes; word < address + bytes; word += word_bytes) {
        const auto found = words_.find(word);
        if (found == words_.end() && words_.size() >= most_words) {
            continue;
        }
        Store& store = found != words_.end() ? found->second : words_[word];
        const bool hidden = found != words_.end() && store.handed.empty();
        const uint64_t begin = word < address ? address : word;
        const uint64_t end = word + word_bytes < address + bytes ? word + word_bytes : address + bytes;
        if (!hidden) {
            // Beside a store of less than a word may lie the end of the buffer.
            std::memcpy(reinterpret_cast<uint8_t*>(&store.before) + (begin - word),
                reinterpret_cast<const void*>(begin), end - begin);
        }
        if (store.past.size() == most_past) {
            store.past.erase(store.past.begin());
        }
        store.past.push_back({writer, store.before});
        const bool chained = store.number == 0 || continues(word, store);
        extend(store, writer, update, chained);
        const auto* old = reinterpret_cast<const uint8_t*>(begin);
        const bool same_value = source != nullptr && std::memcmp(old, source + (begin - address), end - begin) == 0;
        if (!same_value || store.same_since == 0) {
            store.same_since = store.number;
        }
        if (!update) {
            store.handed.clear();
        }
        if (handover != nullptr) {
            add(store.handed, handover);
        }
    }
}

void GlobalFlags::publish(
    const std::vector<uint64_t>& words, const Writer& writer, const std::shared_ptr<const Handover>& handover)
{
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const uint64_t word : words) {
        const auto found = words_.find(word);
        if (found != words_.end() && found->second.handed.empty() && found->second.writer.block == writer.block &&
            found->second.writer.agent == writer.agent) {
            found->second.handed.push_back(handover);
        }
    }
}

bool GlobalFlags::same(const Store& a, const Store& b)
{
    return a.number == b.number && a.handed == b.handed;
}

bool GlobalFlags::chained(uint64_t begin, uint64_t end) const
{
    const std::lock_guard<std::mutex> lock(mutex_);
    for (uint64_t word = begin / word_bytes * word_bytes; word < end; word += word_bytes) {
        const auto found = words_.find(word);
        if (found == words_.end() || !found->second.chained) {
            return false;
        }
    }
    return true;
}

void GlobalFlags::break_chains(uint64_t begin, uint64_t end)
{
    const std::lock_guard<std::mutex> lock(mutex_);
    for (uint64_t word = begin / word_bytes * word_bytes; word < end; word += word_bytes) {
        words_[word].chained = false;
    }
}

bool GlobalFlags::find(uint64_t address, Store& store) const
{
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = words_.find(address / word_bytes * word_bytes);
    if (found == words_.end()) {
        return false;
    }
    store = found->second;
    return true;
}

}  // namespace tile_simulator
