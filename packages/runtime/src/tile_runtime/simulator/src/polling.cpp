#include "polling.h"

#include "launch.h"

namespace tile_simulator {
namespace {

constexpr uint32_t most_in_vain = 32;
constexpr size_t most_addresses = 4096;

}  // namespace

void rest_between_polls(Core& core, uint64_t address, uint64_t value, Use use)
{
    Polling& polling = core.polling;
    if (polling.seen.size() > most_addresses) {
        polling.seen.clear();
    }
    const auto [entry, fresh] = polling.seen.try_emplace(address, value);
    if (fresh || entry->second != value) {
        entry->second = value;
        polling.in_vain = 0;
        return;
    }
    if (++polling.in_vain >= most_in_vain) {
        polling.in_vain = 0;
        wait_for_store(core, address, use);
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
