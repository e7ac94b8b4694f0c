// z = x + y and z = scale * x + y on the vector cores, any number of elements.
//
// Two slots in UB: while one is computed, the other is filled. Every order between pipes is a flag; ids are slots.
//
//   tile-ascend sim vector_add.cpp --kernel add --blocks 8 --in x=f16[40000] --in y=f16[40000] --out z=f16[40000]
//       --in tiling=@tiling.bin        (two uint32: elements, elements of a tile)
//   tile-ascend sim vector_add.cpp --template "scale_add<float, 1024>" --blocks 4 --in x=f32[9999] --in y=f32[9999]
//       --out z=f32[9999] --scalar elements=9999 --scalar scale=0.5
#include "kernel_operator.h"

using namespace AscendC;

struct AddTiling {
    uint32_t elements;
    uint32_t tile;
};

namespace {

constexpr int32_t slots = 2;

// Which tiles of the array this core works on: every GetBlockNum()-th.
struct Share {
    uint32_t elements;
    uint32_t tile;

    __aicore__ inline uint32_t tiles() const { return (elements + tile - 1) / tile; }
    __aicore__ inline uint32_t length(uint32_t i) const
    {
        const uint32_t rest = elements - i * tile;
        return rest < tile ? rest : tile;
    }
};

template <typename T>
class TwoSlots {
public:
    __aicore__ inline TwoSlots(TPipe& pipe, GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t tile)
    {
        x_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(x));
        y_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(y));
        z_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(z));
        stride_ = (tile * sizeof(T) + 31) / 32 * 32 / sizeof(T);
        pipe.InitBuffer(x_buffer_, slots * stride_ * sizeof(T));
        pipe.InitBuffer(y_buffer_, slots * stride_ * sizeof(T));
        pipe.InitBuffer(z_buffer_, slots * stride_ * sizeof(T));
        for (int32_t slot = 0; slot < slots; ++slot) {  // all slots are free
            SetFlag<HardEvent::V_MTE2>(slot);
            SetFlag<HardEvent::MTE3_V>(slot);
        }
    }

    __aicore__ inline void finish()
    {
        for (int32_t slot = 0; slot < slots; ++slot) {
            WaitFlag<HardEvent::V_MTE2>(slot);
            WaitFlag<HardEvent::MTE3_V>(slot);
        }
    }

    __aicore__ inline void load(int32_t slot, uint64_t start, uint32_t count)
    {
        WaitFlag<HardEvent::V_MTE2>(slot);
        const DataCopyExtParams run{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        const DataCopyPadExtParams<T> padding{false, 0, 0, static_cast<T>(0)};
        DataCopyPad(x(slot), x_[start], run, padding);
        DataCopyPad(y(slot), y_[start], run, padding);
        SetFlag<HardEvent::MTE2_V>(slot);
    }

    __aicore__ inline void begin_compute(int32_t slot)
    {
        WaitFlag<HardEvent::MTE2_V>(slot);
        WaitFlag<HardEvent::MTE3_V>(slot);
    }

    __aicore__ inline void end_compute(int32_t slot)
    {
        SetFlag<HardEvent::V_MTE2>(slot);
        SetFlag<HardEvent::V_MTE3>(slot);
    }

    __aicore__ inline void store(int32_t slot, uint64_t start, uint32_t count)
    {
        WaitFlag<HardEvent::V_MTE3>(slot);
        DataCopyPad(z_[start], z(slot), DataCopyExtParams{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0});
        SetFlag<HardEvent::MTE3_V>(slot);
    }

    __aicore__ inline LocalTensor<T> x(int32_t slot) { return x_buffer_.template Get<T>()[slot * stride_]; }
    __aicore__ inline LocalTensor<T> y(int32_t slot) { return y_buffer_.template Get<T>()[slot * stride_]; }
    __aicore__ inline LocalTensor<T> z(int32_t slot) { return z_buffer_.template Get<T>()[slot * stride_]; }

private:
    GlobalTensor<T> x_, y_, z_;
    TBuf<TPosition::VECIN> x_buffer_, y_buffer_;
    TBuf<TPosition::VECOUT> z_buffer_;
    uint32_t stride_;
};

}  // namespace

extern "C" __global__ __aicore__ void add(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    const __gm__ AddTiling* given = reinterpret_cast<const __gm__ AddTiling*>(tiling);
    const Share share{given->elements, given->tile};
    TPipe pipe;
    TwoSlots<half> buffers(pipe, x, y, z, share.tile);
    int32_t slot = 0;
    for (uint32_t i = GetBlockIdx(); i < share.tiles(); i += GetBlockNum()) {
        const uint32_t count = share.length(i);
        const uint64_t start = static_cast<uint64_t>(i) * share.tile;
        buffers.load(slot, start, count);
        buffers.begin_compute(slot);
        Add(buffers.z(slot), buffers.x(slot), buffers.y(slot), count);
        buffers.end_compute(slot);
        buffers.store(slot, start, count);
        slot = 1 - slot;
    }
    buffers.finish();
}

template <typename T, uint32_t tile>
__global__ __aicore__ void scale_add(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t elements, float scale = 2.0f)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    const Share share{elements, tile};
    TPipe pipe;
    TwoSlots<T> buffers(pipe, x, y, z, tile);
    int32_t slot = 0;
    for (uint32_t i = GetBlockIdx(); i < share.tiles(); i += GetBlockNum()) {
        const uint32_t count = share.length(i);
        const uint64_t start = static_cast<uint64_t>(i) * tile;
        buffers.load(slot, start, count);
        buffers.begin_compute(slot);
        Muls(buffers.z(slot), buffers.x(slot), static_cast<T>(scale), count);
        PipeBarrier<PIPE_V>();  // the sum reads the product
        Add(buffers.z(slot), buffers.z(slot), buffers.y(slot), count);
        buffers.end_compute(slot);
        buffers.store(slot, start, count);
        slot = 1 - slot;
    }
    buffers.finish();
}

// The largest element of x, by the scalar unit: what a vector instruction wrote is read behind a V_S flag.
extern "C" __global__ __aicore__ void maximum(GM_ADDR x, GM_ADDR result)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    constexpr uint32_t count = 64;
    TPipe pipe;
    TBuf<TPosition::VECCALC> input, reduced;
    pipe.InitBuffer(input, count * sizeof(float));
    pipe.InitBuffer(reduced, 32);
    GlobalTensor<float> x_gm, result_gm;
    x_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
    result_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(result));
    LocalTensor<float> values = input.Get<float>();
    LocalTensor<float> largest = reduced.Get<float>();
    DataCopy(values, x_gm, count);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    WholeReduceMax(largest, values, count, 1, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
    SetFlag<HardEvent::V_S>(0);
    WaitFlag<HardEvent::V_S>(0);
    const float found = largest.GetValue(0);
    SetFlag<HardEvent::S_V>(0);
    WaitFlag<HardEvent::S_V>(0);
    Duplicate(largest, found, 8);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(result_gm, largest, 8);
}
