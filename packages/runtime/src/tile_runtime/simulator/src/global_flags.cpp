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

}  // namespace

void GlobalFlags::store(uint64_t address, uint64_t bytes, const Writer& writer,
    std::shared_ptr<const Handover> handover, bool update)
{
    const std::lock_guard<std::mutex> lock(mutex_);
    for (uint64_t word = address / word_bytes * word_bytes; word < address + bytes; word += word_bytes) {
        const auto found = words_.find(word);
        if (found == words_.end() && words_.size() >= most_words) {
            continue;
        }
        Store& store = found != words_.end() ? found->second : words_[word];
        const bool hidden = found != words_.end() && store.handed.empty();
        if (!hidden) {
            const uint64_t begin = word < address ? address : word;
            const uint64_t end = word + word_bytes < address + bytes ? word + word_bytes : address + bytes;
            // Beside a store of less than a word may lie the end of the buffer.
            std::memcpy(reinterpret_cast<uint8_t*>(&store.before) + (begin - word),
                reinterpret_cast<const void*>(begin), end - begin);
        }
        store.writer = writer;
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
    return a.writer.block == b.writer.block && a.writer.agent == b.writer.agent &&
           a.writer.number == b.writer.number && a.handed == b.handed;
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
