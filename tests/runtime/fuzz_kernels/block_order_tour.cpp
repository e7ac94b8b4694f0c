// Order between blocks through words of GM, in every way the API has; correct as it stands.
#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t COUNT = 64;
constexpr uint32_t AREA = 512;  // words of the workspace for each way

struct Step {
    LocalTensor<int32_t> tile;

    // to = from + 1
    __aicore__ inline void Run(GlobalTensor<int32_t> from, GlobalTensor<int32_t> to)
    {
        SetFlag<HardEvent::MTE3_MTE2>(0);
        WaitFlag<HardEvent::MTE3_MTE2>(0);
        DataCopy(tile, from, COUNT);
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
        Adds(tile, tile, 1, COUNT);
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        DataCopy(to, tile, COUNT);
        SetFlag<HardEvent::MTE3_S>(0);
        WaitFlag<HardEvent::MTE3_S>(0);
    }
};

extern "C" __global__ __aicore__ void block_order_tour(GM_ADDR x, GM_ADDR z, GM_ADDR workspace, int32_t rounds)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
    const int32_t me = GetBlockIdx();
    const int32_t all = GetBlockNum();
    GlobalTensor<int32_t> x_gm, z_gm, ib, turns, soft, flags;
    x_gm.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(x));
    z_gm.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(z));
    ib.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(workspace), AREA);
    turns.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(workspace) + AREA, AREA);
    soft.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(workspace) + 2 * AREA, AREA);
    flags.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(workspace) + 3 * AREA, AREA);
    TPipe pipe;
    TBuf<TPosition::VECCALC> data, scratch;
    pipe.InitBuffer(data, COUNT * sizeof(int32_t));
    pipe.InitBuffer(scratch, 1024);
    LocalTensor<int32_t> words = scratch.Get<int32_t>();
    Step step = {data.Get<int32_t>()};
    GroupBarrier<PipeMode::MTE3_MODE> group(workspace + 4 * AREA * sizeof(int32_t), 1, all - 1);
    WaitPreTaskEnd();
    InitOutput<int32_t>(z_gm[(all + me) * COUNT], COUNT, me);
    InitDetermineComputeWorkspace(turns, words);
    SyncAll(soft, words);
    for (int32_t round = 0; round < rounds; ++round) {
        // A chain by set and wait.
        if (me > 0) {
            IBWait(ib, words, me - 1, 0);
        }
        step.Run(me == 0 ? x_gm : z_gm[(me - 1) * COUNT], z_gm[me * COUNT]);
        if (me + 1 < all) {
            IBSet(ib, words, me, 0);
        }
        SyncAll(soft, words, all);
        // In turns.
        WaitPreBlock(turns, words);
        SetAtomicAdd<int32_t>();
        DataCopy(z_gm[2 * all * COUNT], step.tile, COUNT);
        SetAtomicNone();
        NotifyNextBlock(turns, words);
        // A flag that is polled, past the data cache and through it.
        if (me == 0) {
            step.Run(x_gm, z_gm[all * COUNT]);
            WriteGmByPassDCache(reinterpret_cast<__gm__ int32_t*>(workspace) + 3 * AREA, round + 1);
            DataSyncBarrier<MemDsbT::DDR>();
            for (int32_t other = 1; other < all; ++other) {
                int32_t seen = 0;
                while (seen != round + 1) {
                    DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(
                        flags[other * 16]);
                    seen = flags.GetValue(other * 16);
                }
            }
            group.Arrive(0);
        } else {
            while (ReadGmByPassDCache(reinterpret_cast<__gm__ int32_t*>(workspace) + 3 * AREA) != round + 1) {
            }
            step.Run(z_gm[all * COUNT], z_gm[me * COUNT]);
            flags.SetValue(me * 16, round + 1);
            DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(flags[me * 16]);
            group.Wait(me - 1);
        }
        SyncAll(soft, words);
    }
    SetNextTaskStart();
}
