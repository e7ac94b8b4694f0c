#include "scalar_cache.h"

#include <algorithm>
#include <cstring>

#include "core.h"
#include "global_buffers.h"
#include "rank_messages.h"

namespace tile_simulator {
namespace {

// Bits of `length` bytes from byte `first` of a line.
uint64_t byte_bits(uint64_t first, uint64_t length)
{
    return (length == 64 ? ~uint64_t(0) : (uint64_t(1) << length) - 1) << first;
}

}  // namespace

void ScalarCache::begin(uint32_t bytes, RankMessages* messages)
{
    messages_ = messages;
    lines_.clear();
    oldest_.clear();
    numbers_ = 0;
    most_lines_ = bytes / line_bytes;
    pushed_out_ = Where{};
}

void ScalarCache::push_out(uint64_t start)
{
    const auto found = lines_.find(start);
    if (found == lines_.end()) {
        return;
    }
    if (found->second.stored != 0 && pushed_out_.file == nullptr) {
        pushed_out_ = found->second.at;
    }
    write_back(start, found->second);
    lines_.erase(found);
}

// The line that came first goes first, as far as anybody says.
void ScalarCache::make_room()
{
    const auto gone = [this](const std::pair<uint64_t, uint64_t>& entry) {
        const auto found = lines_.find(entry.first);
        return found == lines_.end() || found->second.number != entry.second;
    };
    if (oldest_.size() >= 2 * most_lines_) {
        oldest_.erase(std::remove_if(oldest_.begin(), oldest_.end(), gone), oldest_.end());
    }
    while (lines_.size() >= most_lines_) {
        if (!gone(oldest_.front())) {
            push_out(oldest_.front().first);
        }
        oldest_.pop_front();
    }
}

ScalarCache::Line& ScalarCache::line_at(uint64_t start, Use use)
{
    const auto found = lines_.find(start);
    if (found != lines_.end()) {
        return found->second;
    }
    make_room();
    Line& line = lines_[start];
    line.number = ++numbers_;
    line.at = use.at;
    oldest_.emplace_back(start, line.number);
    return line;
}

template <class F>
void ScalarCache::for_lines(const GlobalBuffer& buffer, uint64_t address, uint32_t bytes, Use use, const F& f)
{
    for (uint64_t at = address; at < address + bytes;) {
        const uint64_t start = line_of(buffer.begin, at);
        const uint64_t end = std::min(address + bytes, start + line_bytes);
        f(line_at(start, use), start, at - start, end - at, at - address);
        at = end;
    }
}

void ScalarCache::overlay(const GlobalBuffer& buffer, uint64_t address, uint32_t bytes, uint8_t* value) const
{
    for (uint64_t at = address; at < address + bytes && !lines_.empty(); ++at) {
        const uint64_t start = line_of(buffer.begin, at);
        const auto found = lines_.find(start);
        if (found != lines_.end() && (found->second.known >> (at - start) & 1) != 0) {
            value[at - address] = found->second.bytes[at - start];
        }
    }
}

void ScalarCache::load(const GlobalBuffer& buffer, uint64_t address, uint32_t bytes, uint8_t* value, Use use)
{
    for_lines(buffer, address, bytes, use,
        [&](Line& line, uint64_t start, uint64_t first, uint64_t length, uint64_t offset) {
            const auto* now = reinterpret_cast<const uint8_t*>(start);
            for (uint64_t i = first; i < first + length; ++i) {
                if ((line.known >> i & 1) == 0) {
                    line.bytes[i] = line.stored != 0 ? line.fetched[i] : value[offset + i - first];
                }
                // What the core has stored itself is newer than what GM held when it did.
                const uint8_t then = (line.stored >> i & 1) != 0 ? line.fetched[i] : line.bytes[i];
                if (now[i] != then && now[i] != line.bytes[i]) {
                    tell(core_of(use), "stale-read", use,
                        text_of("%s: the data cache of the core holds these bytes since %s:%u, and another core or "
                                "pipe has changed them in GM since: call DataCacheCleanAndInvalid before reading them "
                                "again",
                            use.api, line.at.file, line.at.line));
                    break;
                }
            }
            line.known |= byte_bits(first, length);
            std::memcpy(value + offset, line.bytes + first, length);
        });
}

void ScalarCache::fill(const GlobalBuffer& buffer, uint64_t address, uint32_t bytes, const uint8_t* seen, Use use)
{
    for_lines(buffer, address, bytes, use, [&](Line& line, uint64_t, uint64_t first, uint64_t length, uint64_t offset) {
        for (uint64_t i = 0; i < length; ++i) {
            if ((line.stored >> (first + i) & 1) == 0) {
                line.bytes[first + i] = seen[offset + i];
            }
        }
        line.known |= byte_bits(first, length);
    });
}

bool ScalarCache::holds(const GlobalBuffer& buffer, uint64_t address, uint32_t bytes) const
{
    const auto found = lines_.find(line_of(buffer.begin, address));
    const uint64_t first = found != lines_.end() ? address - found->first : 0;
    const uint64_t bits = byte_bits(first, std::min<uint64_t>(bytes, line_bytes - first));
    return found != lines_.end() && (found->second.known & bits) == bits;
}

bool ScalarCache::dirty(const GlobalBuffer& buffer, uint64_t address) const
{
    const auto found = lines_.find(line_of(buffer.begin, address));
    return found != lines_.end() && found->second.stored != 0;
}

void ScalarCache::store(const GlobalBuffer& buffer, uint64_t address, uint32_t bytes, const uint8_t* value, Use use)
{
    for_lines(buffer, address, bytes, use,
        [&](Line& line, uint64_t start, uint64_t first, uint64_t length, uint64_t offset) {
            if (line.stored == 0) {
                line.at = use.at;
                line.inside = static_cast<uint32_t>(std::min(line_bytes, buffer.end - start));
                std::memcpy(line.fetched, reinterpret_cast<const void*>(start), line.inside);
            }
            std::memcpy(line.bytes + first, value + offset, length);
            line.known |= byte_bits(first, length);
            line.stored |= byte_bits(first, length);
        });
}

void ScalarCache::write_back(uint64_t start, const Line& line) const
{
    auto* memory = reinterpret_cast<uint8_t*>(start);
    const bool elsewhere = messages_ != nullptr && messages_->owner(start) >= 0;
    for (uint32_t i = 0; i < line.inside && line.stored != 0; ++i) {
        const uint8_t byte = (line.stored >> i & 1) != 0 ? line.bytes[i] : line.fetched[i];
        // A byte nobody has changed is left alone: others may look at it.
        if (memory[i] != byte) {
            memory[i] = byte;
        }
    }
    if (elsewhere && line.stored != 0) {
        messages_->put(memory, memory, line.inside, AtomicKind::none, DataType::u8, false);
    }
}

bool ScalarCache::clean(uint64_t base, uint64_t address)
{
    const auto found = lines_.find(line_of(base, address));
    if (found != lines_.end()) {
        write_back(found->first, found->second);
        lines_.erase(found);
    }
    return uncleaned() == nullptr;
}

void ScalarCache::clean_all()
{
    for (const auto& [start, line] : lines_) {
        write_back(start, line);
    }
    lines_.clear();
    oldest_.clear();
    pushed_out_ = Where{};
}

const Where* ScalarCache::uncleaned() const
{
    const Where* first = pushed_out_.file != nullptr ? &pushed_out_ : nullptr;
    for (const auto& [address, line] : lines_) {
        if (line.stored != 0 && (first == nullptr || line.at.line < first->line)) {
            first = &line.at;
        }
    }
    return first;
}

}  // namespace tile_simulator
