// Umbrella header of the host implementation of the Ascend C basic API (Ascend 910B / A3).
//
// A kernel source includes this file only. Everything here is thin: templates pack their operands into small
// plain structs and hand them to functions of libtile_simulator.so, so that a kernel compiles in about a second.
// The same kernel text compiles with CANN's own kernel_operator.h.
#pragma once

#include "ascend_c/atomic.h"
#include "ascend_c/cross_core.h"
#include "ascend_c/data_copy.h"
#include "ascend_c/debug_print.h"
#include "ascend_c/fixpipe.h"
#include "ascend_c/load_data.h"
#include "ascend_c/local_allocator.h"
#include "ascend_c/mmad.h"
#include "ascend_c/pipe_buffers.h"
#include "ascend_c/queue.h"
#include "ascend_c/sparse.h"
#include "ascend_c/sync.h"
#include "ascend_c/system_variables.h"
#include "ascend_c/tensor.h"
#include "ascend_c/tiling.h"
#include "ascend_c/vector_binary.h"
#include "ascend_c/vector_cast.h"
#include "ascend_c/vector_fill.h"
#include "ascend_c/vector_mask.h"
#include "ascend_c/vector_reduce.h"
#include "ascend_c/vector_scalar.h"
#include "ascend_c/vector_select.h"
#include "ascend_c/vector_unary.h"
#include "tile_simulator.h"
