// Runs of bits in a map of 64-bit words.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tile_simulator {

// Calls f(word, bits) for the words of a bit map that bits [begin, end) lie in, until it returns false.
template <class F>
bool for_words(uint64_t begin, uint64_t end, const F& f)
{
    while (begin < end) {
        const uint64_t stop = std::min(end, (begin / 64 + 1) * 64);
        const uint64_t length = stop - begin;
        const uint64_t bits = (length == 64 ? ~uint64_t(0) : (uint64_t(1) << length) - 1) << begin % 64;
        if (!f(begin / 64, bits)) {
            return false;
        }
        begin = stop;
    }
    return true;
}

}  // namespace tile_simulator
