// What a core has taken over from other blocks, one after another, and what it knew after each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "handover.h"

namespace tile_simulator {

class TakenOver {
public:
    void clear()
    {
        first_ = 0;
        known_.assign(1, nullptr);
        given_.assign(1, nullptr);
    }
    // Number of the latest; that of nothing is 0.
    uint32_t latest() const { return first_ + static_cast<uint32_t>(known_.size() - 1); }
    // All that was known after one. The first that is kept stands for those before.
    const ForeignPointer& known(uint32_t number) const { return known_[place_of(number)]; }
    const ForeignPointer& given(uint32_t number) const { return given_[place_of(number)]; }
    void add(ForeignPointer given, ForeignPointer known)
    {
        given_.push_back(std::move(given));
        known_.push_back(std::move(known));
    }
    // Forgets all before the latest; numbers stay.
    void forget()
    {
        first_ = latest();
        known_.erase(known_.begin(), known_.end() - 1);
        given_.erase(given_.begin(), given_.end() - 1);
    }

    // What was given turns out to be less than it seemed: all from there on has to be worked out again (`settle`).
    void give_less(uint32_t number, ForeignPointer given)
    {
        given_[place_of(number)] = std::move(given);
        settled_ = std::min(settled_, place_of(number));
    }
    // Works out what was known up to a number.
    void settle(uint32_t number)
    {
        for (; settled_ <= place_of(number); ++settled_) {
            if (settled_ > 0) {
                known_[settled_] = joined(known_[settled_ - 1], given_[settled_]);
            }
        }
    }
    void begin_judging() { settled_ = known_.size(); }

private:
    size_t place_of(uint32_t number) const
    {
        return number > first_ ? std::min<size_t>(number - first_, known_.size() - 1) : 0;
    }

    uint32_t first_ = 0;
    std::vector<ForeignPointer> known_{nullptr};
    std::vector<ForeignPointer> given_{nullptr};
    size_t settled_ = 0;  // those before are right
};

}  // namespace tile_simulator
