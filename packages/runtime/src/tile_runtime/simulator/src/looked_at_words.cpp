// Words of GM that cores wait for by looking at them: in the replay a look sees the stores that it saw in the run, once
// they have arrived, in whatever order the replay has them.
#include <algorithm>

#include "time_model.h"

namespace tile_simulator {
namespace {

// A look and all stores it may have seen lie on one of these.
constexpr uint64_t word_bytes = 4;

uint64_t word_at(uint64_t address)
{
    return address / word_bytes * word_bytes;
}

}  // namespace

// Looks that wait for stores of other cores, and those stores.
void TimeModel::find_looks()
{
    std::unordered_map<uint64_t, std::vector<std::pair<uint64_t, uint64_t>>> stores;  // numbers and events, by word
    const auto is_look = [](const TimeEvent& event) {
        return event.kind == TILE_TIME_WORK && event.pipe == uint8_t(Pipe::s) && event.region >= 0;
    };
    for (const CoreState& core : cores_) {
        for (const TimeEvent& event : core.log->events()) {
            if (is_look(event)) {
                stores.try_emplace(word_at(core.log->look_at(event.region).word));
            }
        }
    }
    if (stores.empty()) {
        return;
    }
    for (const CoreState& core : cores_) {
        for (const WordStore& store : core.log->stores()) {
            for (uint64_t word = word_at(store.begin); word < store.end; word += word_bytes) {
                if (const auto found = stores.find(word); found != stores.end()) {
                    found->second.emplace_back(store.number, core.base + store.event);
                }
            }
        }
    }
    for (auto& [word, all] : stores) {
        std::sort(all.begin(), all.end());
    }
    for (CoreState& core : cores_) {
        for (uint32_t e = 0; e < core.log->events().size(); ++e) {
            if (!is_look(logged(core, e))) {
                continue;
            }
            const WordLook& look = core.log->look_at(logged(core, e).region);
            const auto& all = stores.at(word_at(look.word));
            const auto own = [&](const auto& store) {
                return store.second >= core.base && store.second < core.base + core.log->events().size();
            };
            if (std::all_of(all.begin(), all.end(), own)) {
                continue;
            }
            const auto end = std::lower_bound(all.begin(), all.end(), std::pair<uint64_t, uint64_t>(look.seen, 0));
            looks_[core.base + e] = {word_at(look.word), size_t(end - all.begin())};
            event_of(core, e).kind = TILE_TIME_LOOK;
            LookedAt& at = looked_at_[word_at(look.word)];
            at.there.assign(all.size(), false);
            for (size_t place = 0; place < all.size(); ++place) {
                shown_[all[place].second].emplace_back(word_at(look.word), place);
            }
        }
    }
    for (auto& [event, places] : shown_) {
        std::sort(places.begin(), places.end());
        places.erase(std::unique(places.begin(), places.end()), places.end());
    }
}

// False if a store that the look saw has not arrived yet.
bool TimeModel::wait_for_stores(uint32_t index, uint32_t number)
{
    CoreState& core = cores_[index];
    if (take(core.seen, event_of(core, number), core.time, TILE_STALL_WORD)) {
        core.looking = false;
        return true;
    }
    if (!core.looking) {
        core.looking = true;
        happen(core.time, Happens::look, index);
    }
    return false;
}

// A core looks at a word that others store, now that all stores are there that arrive before.
bool TimeModel::look_for_stores(uint32_t index, double time)
{
    CoreState& core = cores_[index];
    const auto found = looks_.find(core.base + core.next);
    if (found == looks_.end()) {
        return false;
    }
    LookedAt& word = looked_at_.at(found->second.first);
    if (word.first_missing >= found->second.second) {
        core.seen.push_back({time, core.cause});
        work_.push_back(index);
        wake();
    } else {
        word.waiting.push_back(index);
    }
    return true;
}

// A store will have arrived at `time`.
void TimeModel::show(uint64_t event, double time)
{
    if (is_shown(event)) {
        showing_.push_back(event);
        happen(time, Happens::shown, uint32_t(showing_.size() - 1));
    }
}

void TimeModel::store_arrives(uint64_t event, double time)
{
    for (const auto& [address, place] : shown_.at(event)) {
        LookedAt& word = looked_at_.at(address);
        word.there[place] = true;
        while (word.first_missing < word.there.size() && word.there[word.first_missing]) {
            ++word.first_missing;
        }
        const auto sees = [&](uint32_t index) {
            CoreState& core = cores_[index];
            if (looks_.at(core.base + core.next).second > word.first_missing) {
                return false;
            }
            core.seen.push_back({time, int64_t(event)});
            work_.push_back(index);
            return true;
        };
        word.waiting.erase(std::remove_if(word.waiting.begin(), word.waiting.end(), sees), word.waiting.end());
    }
    wake();
}

}  // namespace tile_simulator
