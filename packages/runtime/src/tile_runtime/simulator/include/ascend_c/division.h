// Division of integers that has no value: device headers report it before the host's processor would trap.
#pragma once

#include "operand.h"

namespace tile_simulator {

// An error of the running core; outside of one, of the launch that the host part is about to make.
void division_fault(const char* what, Where at);

}  // namespace tile_simulator
