// CANN's header, as far as a kernel sees it: that of the simulator, which device headers shall not take it for.
#pragma once

#include_next "kernel_operator.h"
#include "npu_double.h"
#undef TILE_SIMULATOR
