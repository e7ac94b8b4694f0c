#include "access.h"

#include <unordered_map>

namespace tile_simulator {
namespace {

bool same_buffer(const Buffer& a, const Buffer& b)
{
    return a.begin == b.begin && a.end == b.end && a.made == b.made;
}

bool same(const Access& a, const Access& b)
{
    return a.number == b.number && a.line == b.line && a.agent == b.agent && a.kind == b.kind && a.api == b.api &&
           a.file == b.file && a.operand == b.operand && a.composed == b.composed && a.also == b.also &&
           same_buffer(a.buffer, b.buffer);
}

}  // namespace

uint32_t AccessLog::add_once(const Access& access)
{
    const size_t hash = access.line * 31u + access.buffer.begin / 32u + access.agent * 7u + size_t(access.kind) * 3u;
    uint32_t& place = lately_[hash % remembered];
    if (place == 0 || !same(accesses_[place], access)) {
        place = add(access);
    }
    return place;
}

uint32_t AccessLog::join(uint32_t index, uint32_t earlier, const Present& now)
{
    if (joined_[0] == index && joined_[1] == earlier) {
        return joined_[2];
    }
    std::vector<uint32_t> beside;
    for (uint32_t other = earlier; other != 0; other = unordered(accesses_[other].also, now)) {
        beside.push_back(other);
    }
    uint32_t chain = 0;
    beside.insert(beside.begin(), index);
    while (!beside.empty()) {
        if (accesses_[beside.back()].also == chain) {
            chain = beside.back();
        } else {
            Access copy = accesses_[beside.back()];
            copy.also = chain;
            chain = add(copy);
        }
        beside.pop_back();
    }
    joined_[0] = index;
    joined_[1] = earlier;
    joined_[2] = chain;
    return chain;
}

void AccessLog::compact(std::vector<uint32_t>& kept)
{
    for (size_t i = kept.size(); i-- > 1;) {
        if (kept[i] != 0) {
            kept[accesses_[i].also] = 1;
        }
    }
    kept[0] = 0;
    uint32_t next = 1;
    std::unordered_multimap<uint64_t, uint32_t> stores;
    for (size_t i = 1; i < kept.size(); ++i) {
        if (kept[i] == 0) {
            continue;
        }
        Access& access = accesses_[i];
        access.also = kept[access.also];
        if (is_cache(access.agent)) {
            const uint64_t hash = (uint64_t(access.number) << 32 ^ access.line) * 64 + access.agent;
            const auto range = stores.equal_range(hash);
            const auto twin = std::find_if(
                range.first, range.second, [&](const auto& entry) { return same(accesses_[entry.second], access); });
            if (twin != range.second) {
                kept[i] = twin->second;
                continue;
            }
            stores.emplace(hash, next);
        }
        accesses_[next] = access;
        kept[i] = next++;
    }
    accesses_.resize(next);
    joined_[0] = 0;
    forget_lately();
}

}  // namespace tile_simulator
