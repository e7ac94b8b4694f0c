// Names of what is known of other blocks, for those who only pass it on (handover.h).
#pragma once

#include <memory>

namespace tile_simulator {

class Foreign;
using ForeignPointer = std::shared_ptr<const Foreign>;  // null: nothing

}  // namespace tile_simulator
