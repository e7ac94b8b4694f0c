#include "access.h"

namespace tile_simulator {

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
    for (size_t i = 1; i < kept.size(); ++i) {
        if (kept[i] != 0) {
            accesses_[i].also = kept[accesses_[i].also];
            accesses_[next] = accesses_[i];
            kept[i] = next++;
        }
    }
    accesses_.resize(next);
    joined_[0] = 0;
}

}  // namespace tile_simulator
