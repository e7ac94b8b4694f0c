#include "stored_bytes.h"

#include <algorithm>
#include <cstring>

#include "bit_words.h"

namespace tile_simulator {
void StoredBytes::clear()
{
    places_.clear();
    used_ = 0;
}

StoredBytes::Page& StoredBytes::page_of(uint64_t address)
{
    const auto [entry, fresh] = places_.try_emplace(address / page_bytes, static_cast<uint32_t>(used_));
    if (fresh) {
        if (used_ == chunks_.size() * chunk_pages) {
            chunks_.emplace_back(new Page[chunk_pages]);
        }
        std::memset(page(used_).known, 0, sizeof(Page::known));
        ++used_;
    }
    return page(entry->second);
}

void StoredBytes::store(uint64_t address, const uint8_t* source, uint64_t bytes)
{
    for (const uint64_t end = address + bytes; address < end;) {
        const uint64_t stop = std::min(end, (address / page_bytes + 1) * page_bytes);
        Page& page = page_of(address);
        const uint64_t first = address % page_bytes;
        std::memcpy(page.bytes + first, source, stop - address);
        for_words(first, first + (stop - address), [&](uint64_t word, uint64_t bits) {
            page.known[word] |= bits;
            return true;
        });
        source += stop - address;
        address = stop;
    }
}

void StoredBytes::forget(uint64_t address, uint64_t bytes)
{
    for (const uint64_t end = address + bytes; address < end;) {
        const uint64_t stop = std::min(end, (address / page_bytes + 1) * page_bytes);
        Page& page = page_of(address);
        const uint64_t first = address % page_bytes;
        for_words(first, first + (stop - address), [&](uint64_t word, uint64_t bits) {
            page.known[word] &= ~bits;
            return true;
        });
        address = stop;
    }
}

const uint8_t* StoredBytes::known_part(uint64_t address, uint64_t end, uint64_t& stop) const
{
    const auto found = places_.find(address / page_bytes);
    if (found == places_.end()) {
        return nullptr;
    }
    stop = std::min(end, (address / page_bytes + 1) * page_bytes);
    const Page& page = this->page(found->second);
    const uint64_t first = address % page_bytes;
    const bool known = for_words(first, first + (stop - address),
        [&](uint64_t word, uint64_t bits) { return (page.known[word] & bits) == bits; });
    return known ? page.bytes + first : nullptr;
}

bool StoredBytes::append(uint64_t address, uint64_t bytes, std::vector<uint8_t>& to) const
{
    const size_t before = to.size();
    for (const uint64_t end = address + bytes; address < end;) {
        uint64_t stop = 0;
        const uint8_t* part = known_part(address, end, stop);
        if (part == nullptr) {
            to.resize(before);
            return false;
        }
        to.insert(to.end(), part, part + (stop - address));
        address = stop;
    }
    return true;
}

bool StoredBytes::equal(const StoredBytes& a, const StoredBytes& b, uint64_t begin, uint64_t end)
{
    while (begin < end) {
        uint64_t stop = 0;
        const uint8_t* of_a = a.known_part(begin, end, stop);
        const uint8_t* of_b = b.known_part(begin, end, stop);
        if (of_a == nullptr || of_b == nullptr || std::memcmp(of_a, of_b, stop - begin) != 0) {
            return false;
        }
        begin = stop;
    }
    return true;
}

}  // namespace tile_simulator
