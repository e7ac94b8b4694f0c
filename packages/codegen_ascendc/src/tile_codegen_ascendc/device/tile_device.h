// What emitted kernels use besides Ascend C itself: multi-instruction pieces that would clutter the
// kernel text. Compiles with bisheng, with the simulator's kernel_operator.h, and with CANN's.
#ifndef TILE_DEVICE_H
#define TILE_DEVICE_H

#include "tile/assertion.h"
#include "tile/site.h"
#include "tile/scalar.h"
#include "tile/scalar_math.h"
#include "tile/scalar_functions.h"
#include "tile/movement.h"
#include "tile/cube.h"
#include "tile/vector.h"
#include "tile/rows.h"
#include "tile/index.h"
#include "tile/expand.h"
#include "tile/trigonometry.h"
#include "tile/rational.h"
#include "tile/power.h"
#include "tile/transpose.h"
#include "tile/scan.h"
#include "tile/bits.h"
#include "tile/select.h"
#include "tile/gather.h"
#include "tile/lanes.h"
#include "tile/sort.h"
#include "tile/reduce.h"
#include "tile/sync_block.h"
#include "tile/words.h"
#include "tile/launch.h"

#endif
