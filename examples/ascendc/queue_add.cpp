// z = x + y with queues: TQue hands two buffers of each array from pipe to pipe, so that no flag is written here.
//
//   tile-ascend sim queue_add.cpp --blocks 8 --in x=f16[40000] --in y=f16[40000] --out z=f16[40000]
//       --in tiling=@tiling.bin --time        (two uint32: elements, elements of a tile)
#include "kernel_operator.h"

using namespace AscendC;

struct AddTiling {
    uint32_t elements;
    uint32_t tile;
};

namespace {

constexpr int32_t buffers = 2;

class QueueAdd {
public:
    __aicore__ inline QueueAdd(TPipe& pipe, GM_ADDR x, GM_ADDR y, GM_ADDR z, const AddTiling& tiling) : tiling_(tiling)
    {
        x_gm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x), tiling.elements);
        y_gm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y), tiling.elements);
        z_gm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(z), tiling.elements);
        const uint32_t bytes = (tiling.tile * sizeof(half) + 31) / 32 * 32;
        pipe.InitBuffer(x_queue_, buffers, bytes);
        pipe.InitBuffer(y_queue_, buffers, bytes);
        pipe.InitBuffer(z_queue_, buffers, bytes);
    }

    __aicore__ inline void run()
    {
        const uint32_t tiles = (tiling_.elements + tiling_.tile - 1) / tiling_.tile;
        for (uint32_t i = GetBlockIdx(); i < tiles; i += GetBlockNum()) {
            const uint32_t start = i * tiling_.tile;
            const uint32_t rest = tiling_.elements - start;
            const uint32_t count = rest < tiling_.tile ? rest : tiling_.tile;
            load(start, count);
            compute(count);
            store(start, count);
        }
    }

private:
    __aicore__ inline void load(uint32_t start, uint32_t count)
    {
        const DataCopyExtParams run{1, static_cast<uint32_t>(count * sizeof(half)), 0, 0, 0};
        const DataCopyPadExtParams<half> padding{false, 0, 0, static_cast<half>(0)};
        LocalTensor<half> x = x_queue_.AllocTensor<half>();
        LocalTensor<half> y = y_queue_.AllocTensor<half>();
        DataCopyPad(x, x_gm_[start], run, padding);
        DataCopyPad(y, y_gm_[start], run, padding);
        x_queue_.EnQue(x);
        y_queue_.EnQue(y);
    }

    __aicore__ inline void compute(uint32_t count)
    {
        LocalTensor<half> x = x_queue_.DeQue<half>();
        LocalTensor<half> y = y_queue_.DeQue<half>();
        LocalTensor<half> z = z_queue_.AllocTensor<half>();
        Add(z, x, y, count);
        z_queue_.EnQue(z);
        x_queue_.FreeTensor(x);
        y_queue_.FreeTensor(y);
    }

    __aicore__ inline void store(uint32_t start, uint32_t count)
    {
        LocalTensor<half> z = z_queue_.DeQue<half>();
        DataCopyPad(z_gm_[start], z, DataCopyExtParams{1, static_cast<uint32_t>(count * sizeof(half)), 0, 0, 0});
        z_queue_.FreeTensor(z);
    }

    AddTiling tiling_;
    GlobalTensor<half> x_gm_, y_gm_, z_gm_;
    TQue<QuePosition::VECIN, buffers> x_queue_, y_queue_;
    TQue<QuePosition::VECOUT, buffers> z_queue_;
};

}  // namespace

extern "C" __global__ __aicore__ void queue_add(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    const __gm__ AddTiling* given = reinterpret_cast<const __gm__ AddTiling*>(tiling);
    TPipe pipe;
    QueueAdd(pipe, x, y, z, AddTiling{given->elements, given->tile}).run();
}
