// Which room in UB removes the bank conflicts of a launch, found by trying it on the instructions that ran.
#pragma once

#include <vector>

#include "time_model.h"

namespace tile_simulator {

// Fills `found`, most cycles first, and names it in the timeline; files become strings of the timeline.
void find_bank_paddings(const std::vector<BlockLogs>& logs, const TileTiming& timing,
    std::vector<const char*>& strings, std::vector<TileBankPadding>& found, TileTimeline& timeline);

}  // namespace tile_simulator
