// Host implementation of the device functions of the vendor's SHMEM library (ACLSHMEM 1.3) for Ascend 910B and A3:
// ranks, symmetric memory, transfers, signals and barriers. The same kernel text compiles with the library's own header.
#pragma once

#include "shmem/atomic.h"
#include "shmem/order.h"
#include "shmem/ranks.h"
#include "shmem/sdma.h"
#include "shmem/signal.h"
#include "shmem/transfer.h"
#include "shmem/typed_transfer.h"
