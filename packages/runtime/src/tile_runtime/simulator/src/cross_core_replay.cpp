// Counters that cores raise for each other (docs/hardware/index.md#flags-between-cores).
#include "time_model.h"

namespace tile_simulator {

void TimeModel::raise(uint32_t core, int flag, const Token& token)
{
    cores_[core].counters[flag].push_back(token);
    work_.push_back(core);
}

// Mode 0: the cores of one kind, when all of them have set it as often.
void TimeModel::cross_set_grid(uint32_t index, const TimeEvent& event, const Token& token)
{
    const uint32_t kind = index % cores_per_block == 0 ? 0 : 1;
    const uint32_t round = cores_[index].rounds_set[event.flag]++;
    const uint32_t rank = rank_of_core(index);
    auto& [count, latest] = rounds_[{rank, kind, event.flag, round}];
    if (count == 0 || token.time > latest.time) {
        latest = token;
    }
    const uint32_t per_block = kind == 0 ? shape_.aic : shape_.aiv;
    if (++count == per_block * blocks_) {
        for (uint32_t block = rank * blocks_; block < (rank + 1) * blocks_; ++block) {
            for (uint32_t i = 0; i < per_block; ++i) {
                raise(block * cores_per_block + kind + i, event.flag, latest);
            }
        }
    }
}

void TimeModel::cross_set(uint32_t index, const TimeEvent& event, double time, int64_t cause)
{
    const Token token = {time, cause};
    const uint32_t block = index / cores_per_block;
    const uint32_t which = index % cores_per_block;
    const uint32_t first = block * cores_per_block;
    if (event.mode == 0) {
        cross_set_grid(index, event, token);
        return;
    }
    if (which == 0) {
        for (uint32_t i = 0; i < shape_.aiv; ++i) {
            raise(first + 1 + i, event.flag, token);
        }
        return;
    }
    // Of the AIVs of a block, the later one counts.
    pairs_[{block, event.mode, event.flag, which - 1}].push_back(token);
    Token both = {0, -1};
    for (uint32_t i = 0; i < shape_.aiv; ++i) {
        const auto& sets = pairs_[{block, event.mode, event.flag, i}];
        if (sets.empty()) {
            return;
        }
        if (sets.front().time >= both.time) {
            both = sets.front();
        }
    }
    for (uint32_t i = 0; i < shape_.aiv; ++i) {
        pairs_[{block, event.mode, event.flag, i}].pop_front();
    }
    if (event.mode == 1) {
        for (uint32_t i = 0; i < shape_.aiv; ++i) {
            raise(first + 1 + i, event.flag, both);
        }
    } else {
        raise(first, event.flag, both);
    }
}

}  // namespace tile_simulator
