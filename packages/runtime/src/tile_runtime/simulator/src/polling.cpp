#include "polling.h"

#include "launch.h"

namespace tile_simulator {
namespace {

constexpr uint32_t most_in_vain = 32;
constexpr size_t most_addresses = 4096;
constexpr size_t most_copies = 16;

// Whether a value was seen at an address before, and nothing else since.
bool seen_before(Polling& polling, uint64_t address, uint64_t value)
{
    if (polling.seen.size() > most_addresses) {
        polling.seen.clear();
    }
    const auto [entry, fresh] = polling.seen.try_emplace(address, value);
    const bool before = !fresh && entry->second == value;
    entry->second = value;
    return before;
}

}  // namespace

void rest_between_polls(Core& core, uint64_t address, uint64_t value, Use use)
{
    Polling& polling = core.polling;
    if (!seen_before(polling, address, value)) {
        polling.in_vain = 0;
        return;
    }
    if (++polling.in_vain >= most_in_vain) {
        polling.in_vain = 0;
        wait_for_store(core, address, use);
    }
}

void note_copy(Core& core, uint32_t begin, uint32_t end, uint64_t from)
{
    std::vector<CopiedWords>& copied = core.polling.copied;
    for (size_t i = copied.size(); i-- > 0;) {
        if (copied[i].begin < end && begin < copied[i].end) {
            copied.erase(copied.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
    if (copied.size() == most_copies) {
        copied.erase(copied.begin());
    }
    copied.push_back({begin, end, from});
}

void rest_between_copies(Core& core, uint32_t at, uint64_t value, Use use)
{
    Polling& polling = core.polling;
    for (size_t i = 0; i < polling.copied.size(); ++i) {
        const CopiedWords copy = polling.copied[i];
        if (at < copy.begin || at >= copy.end) {
            continue;
        }
        polling.copied.erase(polling.copied.begin() + static_cast<std::ptrdiff_t>(i));
        const uint64_t address = copy.from + (at - copy.begin);
        if (!seen_before(polling, address, value)) {
            polling.copies_in_vain = 0;
        } else if (++polling.copies_in_vain >= most_in_vain) {
            polling.copies_in_vain = 0;
            wait_for_store(core, address, use);
        }
        return;
    }
}

void wait_for_store(Core& core, uint64_t address, Use use)
{
    Launch& launch = core.block.launch();
    core.polling.address = address;
    core.polling.use = {use.api, core.site.file != nullptr ? core.site : use.at};
    core.polling.stores_told = launch.stores_told();
    core.polling.waiting = true;
    core.coroutine.suspend();
    core.polling.waiting = false;
    if (core.stopped()) {
        throw Stopped{};
    }
}

}  // namespace tile_simulator
