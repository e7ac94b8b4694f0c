// All modes of cross-core flags, a grid-wide barrier and the scalar data cache; correct as it stands.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void sync_tour(GM_ADDR x, GM_ADDR z, int32_t rounds)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    constexpr uint32_t count = 64;
    GlobalTensor<int32_t> x_gm, z_gm;
    x_gm.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(x));
    z_gm.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(z));
    if ASCEND_IS_AIC {
        for (int32_t round = 0; round < rounds; ++round) {
            CrossCoreWaitFlag(4);
            CrossCoreSetFlag<2, PIPE_FIX>(5);
        }
        SyncAll<false>();
    }
    if ASCEND_IS_AIV {
        const uint32_t core = GetBlockIdx();
        const uint32_t cores = GetBlockNum() * GetSubBlockNum();
        TPipe pipe;
        TBuf<TPosition::VECCALC> buffer;
        pipe.InitBuffer(buffer, 2 * count * sizeof(int32_t));
        LocalTensor<int32_t> mine = buffer.Get<int32_t>(count);
        LocalTensor<int32_t> next = buffer.GetWithOffset<int32_t>(count, count * sizeof(int32_t));
        SetFlag<HardEvent::MTE3_MTE2>(0);
        for (int32_t round = 0; round < rounds; ++round) {
            WaitFlag<HardEvent::MTE3_MTE2>(0);
            DataCopy(mine, x_gm[core * count], count);
            SetFlag<HardEvent::MTE2_V>(0);
            WaitFlag<HardEvent::MTE2_V>(0);
            Adds(mine, mine, round, count);
            SetFlag<HardEvent::V_MTE3>(0);
            WaitFlag<HardEvent::V_MTE3>(0);
            DataCopy(z_gm[core * count], mine, count);
            CrossCoreSetFlag<1, PIPE_MTE3>(6);
            CrossCoreWaitFlag(6);
            CrossCoreSetFlag<2, PIPE_MTE3>(4);
            CrossCoreWaitFlag(5);
            CrossCoreSetFlag<0, PIPE_MTE3>(7);
            CrossCoreWaitFlag(7);
            DataCopy(next, z_gm[(core + 1) % cores * count], count);
            SetFlag<HardEvent::MTE2_MTE3>(1);
            WaitFlag<HardEvent::MTE2_MTE3>(1);
            DataCopy(z_gm[(cores + core) * count], next, count);
            CrossCoreSetFlag<0, PIPE_MTE2>(8);
            CrossCoreWaitFlag(8);
            SetFlag<HardEvent::MTE3_MTE2>(0);
        }
        WaitFlag<HardEvent::MTE3_MTE2>(0);
        SyncAll<false>();
        if (core == 0) {
            z_gm.SetValue(2 * cores * count, rounds);
            DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(
                z_gm[2 * cores * count]);
        }
    }
}
