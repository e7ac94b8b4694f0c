// What a core stored to GM last, byte by byte: two cores that store the same bytes do the same work.
//
// A copy of its own, because GM itself may hold what another block stored since, which may run on another host thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace tile_simulator {

class StoredBytes {
public:
    void clear();
    void store(uint64_t address, const uint8_t* source, uint64_t bytes);
    // The bytes will be changed in a way that is not seen.
    void forget(uint64_t address, uint64_t bytes);
    // Appends the bytes of [address, address + bytes) that were stored; false, and nothing, if one of them is not known.
    bool append(uint64_t address, uint64_t bytes, std::vector<uint8_t>& to) const;
    // True if both cores stored all of [begin, end), the same bytes.
    static bool equal(const StoredBytes& a, const StoredBytes& b, uint64_t begin, uint64_t end);

private:
    static constexpr uint64_t page_bytes = 1024;
    static constexpr size_t chunk_pages = 32;

    struct Page {
        uint8_t bytes[page_bytes];
        uint64_t known[page_bytes / 64];
    };

    // The first known bytes of [address, end) within a page, or null: `stop` is where they end.
    const uint8_t* known_part(uint64_t address, uint64_t end, uint64_t& stop) const;
    Page& page_of(uint64_t address);
    Page& page(size_t place) const { return chunks_[place / chunk_pages][place % chunk_pages]; }

    std::unordered_map<uint64_t, uint32_t> places_;  // page number to its place in the chunks
    std::vector<std::unique_ptr<Page[]>> chunks_;    // pages are not moved when there are more
    size_t used_ = 0;
};

}  // namespace tile_simulator
