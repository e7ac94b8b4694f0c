#include "scalar_cache.h"

#include <algorithm>
#include <cstring>

#include "fault.h"

namespace tile_simulator {
namespace {

// Bits of `length` bytes from byte `first` of a line.
uint64_t byte_bits(uint64_t first, uint64_t length)
{
    return (length == 64 ? ~uint64_t(0) : (uint64_t(1) << length) - 1) << first;
}

}  // namespace

template <class F>
void ScalarCache::for_lines(uint64_t base, uint64_t address, uint32_t bytes, Use use, const F& f)
{
    for (uint64_t at = address; at < address + bytes;) {
        const uint64_t start = line_of(base, at);
        const uint64_t end = std::min(address + bytes, start + line_bytes);
        const auto [entry, fresh] = lines_.try_emplace(start);
        if (fresh) {
            entry->second.at = use.at;
        }
        f(entry->second, at - start, reinterpret_cast<const uint8_t*>(at), end - at);
        at = end;
    }
}

void ScalarCache::load(uint64_t base, uint64_t address, uint32_t bytes, Use use)
{
    for_lines(base, address, bytes, use, [&](Line& line, uint64_t first, const uint8_t* now, uint64_t length) {
        const uint64_t bits = byte_bits(first, length);
        if ((line.known & bits) == bits && std::memcmp(line.bytes + first, now, length) != 0) {
            raise("stale-read", use,
                text_of("%s: the data cache of the core holds these bytes since %s:%u, and another core or pipe has "
                        "changed them in GM since: call DataCacheCleanAndInvalid before reading them again",
                    use.api, line.at.file, line.at.line));
        }
        std::memcpy(line.bytes + first, now, length);
        line.known |= bits;
    });
}

void ScalarCache::fill(uint64_t base, uint64_t address, uint32_t bytes, const uint8_t* seen, Use use)
{
    for_lines(base, address, bytes, use, [&](Line& line, uint64_t first, const uint8_t*, uint64_t length) {
        std::memcpy(line.bytes + first, seen, length);
        seen += length;
        line.known |= byte_bits(first, length);
    });
}

bool ScalarCache::holds(uint64_t base, uint64_t address, uint32_t bytes) const
{
    const auto found = lines_.find(line_of(base, address));
    const uint64_t first = found != lines_.end() ? address - found->first : 0;
    const uint64_t bits = byte_bits(first, std::min<uint64_t>(bytes, line_bytes - first));
    return found != lines_.end() && (found->second.known & bits) == bits;
}

void ScalarCache::store(uint64_t base, uint64_t address, uint32_t bytes, Use use)
{
    for_lines(base, address, bytes, use, [&](Line& line, uint64_t first, const uint8_t* now, uint64_t length) {
        std::memcpy(line.bytes + first, now, length);
        line.known |= byte_bits(first, length);
        if (!line.dirty) {
            line.dirty = true;
            line.at = use.at;
        }
    });
}

bool ScalarCache::clean(uint64_t base, uint64_t address)
{
    lines_.erase(line_of(base, address));
    return uncleaned() == nullptr;
}

const Where* ScalarCache::uncleaned() const
{
    const Where* first = nullptr;
    for (const auto& [address, line] : lines_) {
        if (line.dirty && (first == nullptr || line.at.line < first->line)) {
            first = &line.at;
        }
    }
    return first;
}

}  // namespace tile_simulator
