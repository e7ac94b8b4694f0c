// Bytes of GM in no order: a bit for each, by pages that hold one. Scalar code that goes through a tensor in steps of its
// own would otherwise be remembered element by element.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "bit_words.h"

namespace tile_simulator {

class ByteSet {
public:
    // Bytes [begin, end), by address.
    void add(uint64_t begin, uint64_t end)
    {
        for (uint64_t at = begin; at < end;) {
            const uint64_t stop = std::min(end, (at / page_bytes + 1) * page_bytes);
            Page& page = page_of(at / page_bytes);
            for_words(at % page_bytes, at % page_bytes + (stop - at), [&](uint64_t word, uint64_t bits) {
                page[word] |= bits;
                return true;
            });
            at = stop;
        }
        low_ = std::min(low_, begin);
        high_ = std::max(high_, end);
    }

    uint64_t low() const { return low_; }
    uint64_t high() const { return high_; }

    // Calls f(begin, end) for the runs of bytes in [low, high), ascending and as long as they are there.
    template <class F>
    void for_runs(uint64_t low, uint64_t high, const F& f) const
    {
        uint64_t begin = 0;
        uint64_t end = 0;  // of the run that is open, if it has a byte
        for (auto at = pages_.lower_bound(low / page_bytes); at != pages_.end() && at->first * page_bytes < high; ++at) {
            for (uint64_t word = 0; word < at->second.size(); ++word) {
                for (uint64_t bits = at->second[word], done = 0; bits != 0;) {
                    const uint64_t first = static_cast<uint64_t>(__builtin_ctzll(bits));
                    const uint64_t rest = ~(bits >> first);
                    const uint64_t count = rest == 0 ? 64 - first : static_cast<uint64_t>(__builtin_ctzll(rest));
                    const uint64_t start = at->first * page_bytes + word * 64 + done + first;
                    if (start != end) {
                        close(begin, end, low, high, f);
                        begin = start;
                    }
                    end = start + count;
                    done += first + count;
                    bits = first + count == 64 ? 0 : bits >> (first + count);
                }
            }
        }
        close(begin, end, low, high, f);
    }

private:
    static constexpr uint64_t page_bytes = 512;
    using Page = std::array<uint64_t, page_bytes / 64>;

    template <class F>
    static void close(uint64_t begin, uint64_t end, uint64_t low, uint64_t high, const F& f)
    {
        if (std::max(begin, low) < std::min(end, high)) {
            f(std::max(begin, low), std::min(end, high));
        }
    }

    Page& page_of(uint64_t number)
    {
        if (latest_ == nullptr || latest_->first != number) {
            latest_ = &*pages_.try_emplace(number, Page{}).first;
        }
        return latest_->second;
    }

    std::map<uint64_t, Page> pages_;
    std::pair<const uint64_t, Page>* latest_ = nullptr;
    uint64_t low_ = ~uint64_t(0);
    uint64_t high_ = 0;
};

}  // namespace tile_simulator
