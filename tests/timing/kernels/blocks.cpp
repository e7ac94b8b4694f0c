// What a block and an element cost: work so small that starting it, and handing it over, is what takes the time.
#include "kernel_operator.h"
using namespace AscendC;

// z = x + 1, every block its share in one piece: load, add, store.
extern "C" __global__ __aicore__ void add_one_by_blocks(GM_ADDR x, GM_ADDR z, int32_t elements)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    const uint32_t share = uint32_t(elements) / GetBlockNum();
    GlobalTensor<half> from;
    GlobalTensor<half> to;
    from.SetGlobalBuffer((__gm__ half*)x + uint64_t(share) * GetBlockIdx());
    to.SetGlobalBuffer((__gm__ half*)z + uint64_t(share) * GetBlockIdx());
    LocalTensor<half> tile(TPosition::VECCALC, 0, share);
    DataCopy(tile, from, share);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    Adds(tile, tile, half(1), share);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(to, tile, share);
}

// z[i] = x[i] + 1 for the first element i of each row, one after the other: load it, use it on the vector or the scalar
// unit, store it.
extern "C" __global__ __aicore__ void add_one_by_elements(GM_ADDR x, GM_ADDR z, int32_t rows, int32_t pitch, bool scalar)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GlobalTensor<float> from;
    GlobalTensor<float> to;
    from.SetGlobalBuffer((__gm__ float*)x);
    to.SetGlobalBuffer((__gm__ float*)z);
    LocalTensor<float> one(TPosition::VECCALC, 0, 8);
    const DataCopyExtParams copy(1, sizeof(float), 0, 0, 0);
    const DataCopyPadExtParams<float> pad(false, 0, 0, 0);
    for (int32_t i = 0; i < rows * pitch; i += pitch) {
        DataCopyPad(one, from[i], copy, pad);
        if (scalar) {
            SetFlag<HardEvent::MTE2_S>(0);
            WaitFlag<HardEvent::MTE2_S>(0);
            one.SetValue(0, one.GetValue(0) + 1.0f);
            SetFlag<HardEvent::S_MTE3>(0);
            WaitFlag<HardEvent::S_MTE3>(0);
        } else {
            SetFlag<HardEvent::MTE2_V>(0);
            WaitFlag<HardEvent::MTE2_V>(0);
            Adds(one, one, 1.0f, 1);
            SetFlag<HardEvent::V_MTE3>(0);
            WaitFlag<HardEvent::V_MTE3>(0);
        }
        DataCopyPad(to[i], one, copy);
        SetFlag<HardEvent::MTE3_MTE2>(0);
        WaitFlag<HardEvent::MTE3_MTE2>(0);
    }
}
