// Kernels that do nothing: what a launch costs by itself.
#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void empty_aiv(GM_ADDR)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
}

extern "C" __global__ __aicore__ void empty_mix(GM_ADDR)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
}
