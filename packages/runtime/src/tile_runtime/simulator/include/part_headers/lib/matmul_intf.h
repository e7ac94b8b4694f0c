// Kernels include this by habit, also those that use nothing of the advanced API (Matmul), which is not here.
#pragma once
#include "kernel_operator.h"
