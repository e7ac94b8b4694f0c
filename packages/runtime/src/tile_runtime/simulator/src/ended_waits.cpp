#include "ended_waits.h"

#include <algorithm>
#include <utility>

namespace tile_simulator {
namespace {

// No value holds for two waits for different ones: a third that does not break one of two breaks the other.
constexpr size_t kept_of_a_core = 2;

bool same(const SignalCondition& a, const SignalCondition& b)
{
    return a.type == b.type && a.compare == b.compare && a.value == b.value;
}

}  // namespace

void EndedWaits::add(EndedWait wait)
{
    std::vector<EndedWait>& all = of_words_[wait.address];
    const auto of_core = [&](const EndedWait& other) { return other.block == wait.block && other.core == wait.core; };
    const auto repeated = [&](const EndedWait& other) {
        return of_core(other) && same(other.condition, wait.condition) && other.use.at == wait.use.at;
    };
    all.erase(std::remove_if(all.begin(), all.end(), repeated), all.end());
    if (size_t(std::count_if(all.begin(), all.end(), of_core)) == kept_of_a_core) {
        all.erase(std::find_if(all.begin(), all.end(), of_core));
    }
    all.push_back(std::move(wait));
}

void EndedWaits::broken_by(uint64_t address, int32_t value, const std::function<bool(const GlobalFlags::Writer&)>& knows,
    const std::function<void(const EndedWait&)>& tell) const
{
    const auto found = of_words_.find(address);
    if (found == of_words_.end()) {
        return;
    }
    for (const EndedWait& wait : found->second) {
        if (!wait.condition.holds(value) && !knows(wait.end)) {
            tell(wait);
        }
    }
}

}  // namespace tile_simulator
