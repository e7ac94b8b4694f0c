#include "word_history.h"

#include <algorithm>
#include <utility>

namespace tile_simulator {

const std::vector<WordHistory::Past>* WordHistory::of(uint64_t address, int32_t value) const
{
    const auto found = words_.find(address);
    return found != words_.end() && found->second.value == value ? &found->second.past : nullptr;
}

void WordHistory::end_launch(const std::vector<uint64_t>& starts)
{
    const uint64_t all = starts.size() < most_ranks ? (uint64_t(1) << starts.size()) - 1 : ~uint64_t(0);
    for (auto entry = words_.begin(); entry != words_.end();) {
        std::vector<Past>& past = entry->second.past;
        for (Past& each : past) {
            const uint64_t knew = each.known_by;
            for (size_t rank = 0; rank < starts.size(); ++rank) {
                each.known_by |= (starts[rank] & knew) != 0 ? uint64_t(1) << rank : 0;
            }
        }
        const auto known = [&](const Past& each) { return (each.known_by & all) == all; };
        past.erase(std::remove_if(past.begin(), past.end(), known), past.end());
        entry = past.empty() ? words_.erase(entry) : std::next(entry);
    }
}

void WordHistory::keep(uint64_t address, int32_t left, Past past)
{
    Word& word = words_[address];
    word.value = left;
    const auto same = [&](const Past& each) { return each.rank == past.rank; };
    const auto found = std::find_if(word.past.begin(), word.past.end(), same);
    if (found != word.past.end()) {
        *found = std::move(past);  // it follows what this rank has signalled before
    } else {
        word.past.push_back(std::move(past));
    }
}

}  // namespace tile_simulator

extern "C" {

TileWords* tile_simulator_new_words(void)
{
    return new TileWords();
}

void tile_simulator_forget_words(TileWords* words)
{
    words->forget();
}

void tile_simulator_delete_words(TileWords* words)
{
    delete words;
}

}
