// The language extensions of the device compiler, as a host compiler sees them.
#pragma once

#define __aicore__
#define __global__
#define __forceinline__ inline __attribute__((always_inline))
// Kernel types as CANN 9.x writes them; the host stub of a kernel reads them from the source.
#define __vector__
#define __cube__
#define __mix__(...)
#define __schedmode__(...)
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __fbuf__
#define __biasbuf__
#define __inout_pipe__(...)
#define __in_pipe__(...)
#define __out_pipe__(...)
#define __sync_alias__
#define __BLOCK_LOCAL__ thread_local
#define GM_ADDR __gm__ uint8_t*

// Conditions on the core that runs. On a device they are constant; used as `if ASCEND_IS_AIV { ... }`.
#define ASCEND_IS_AIV (::tile_simulator::core_type() == AscendC::AIV)
#define ASCEND_IS_AIC (::tile_simulator::core_type() == AscendC::AIC)
#define ASCEND_IS_NOT_AIV (::tile_simulator::core_type() != AscendC::AIV)
#define ASCEND_IS_NOT_AIC (::tile_simulator::core_type() != AscendC::AIC)

// First statement of a kernel. Cores that do not belong to the kernel type leave the (void) kernel here.
#define KERNEL_TASK_TYPE_DEFAULT(type)         \
    if (!::tile_simulator::enter_kernel(type)) \
    return
#define KERNEL_TASK_TYPE(key, type)
#define ENABLE_PRINTF()
#define ENABLE_DETERMINISTIC()
