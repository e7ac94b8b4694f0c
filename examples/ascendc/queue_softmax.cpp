// Softmax of every row of x[rows, columns], float, with queues; a row must fit into UB four times (12000 columns).
//
// Maximum and sum of a row come to the scalar unit, which hands them to the vector unit again.
//
//   tile-ascend sim queue_softmax.cpp --blocks 8 --in x=f32[100,999] --out z=f32[100,999] --scalar rows=100
//       --scalar columns=999 --time
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr int32_t buffers = 2;

class QueueSoftmax {
public:
    __aicore__ inline QueueSoftmax(TPipe& pipe, GM_ADDR x, GM_ADDR z, uint32_t columns) : columns_(columns)
    {
        x_gm_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
        z_gm_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z));
        const uint32_t bytes = (columns * sizeof(float) + 31) / 32 * 32;
        pipe.InitBuffer(x_queue_, buffers, bytes);
        pipe.InitBuffer(z_queue_, buffers, bytes);
        pipe.InitBuffer(reduced_, 32);
        pipe.InitBuffer(work_, bytes / 32 + 64);  // two floats for each repeat of 64
    }

    __aicore__ inline void load(uint64_t row)
    {
        const DataCopyExtParams run{1, static_cast<uint32_t>(columns_ * sizeof(float)), 0, 0, 0};
        LocalTensor<float> x = x_queue_.AllocTensor<float>();
        DataCopyPad(x, x_gm_[row * columns_], run, DataCopyPadExtParams<float>{false, 0, 0, 0.0f});
        x_queue_.EnQue(x);
    }

    __aicore__ inline void compute()
    {
        LocalTensor<float> x = x_queue_.DeQue<float>();
        LocalTensor<float> z = z_queue_.AllocTensor<float>();
        LocalTensor<float> reduced = reduced_.Get<float>();
        LocalTensor<float> work = work_.Get<float>();
        ReduceMax(reduced, x, work, columns_);
        Adds(z, x, -read(reduced), columns_);
        PipeBarrier<PIPE_V>();  // each of these reads what the one before wrote
        Exp(z, z, columns_);
        PipeBarrier<PIPE_V>();
        ReduceSum(reduced, z, work, columns_);
        Muls(z, z, 1.0f / read(reduced), columns_);
        z_queue_.EnQue(z);
        x_queue_.FreeTensor(x);
    }

    __aicore__ inline void store(uint64_t row)
    {
        LocalTensor<float> z = z_queue_.DeQue<float>();
        const DataCopyExtParams run{1, static_cast<uint32_t>(columns_ * sizeof(float)), 0, 0, 0};
        DataCopyPad(z_gm_[row * columns_], z, run);
        z_queue_.FreeTensor(z);
    }

private:
    // A number the vector unit wrote. Its next write of the place waits until the number is read.
    __aicore__ inline float read(const LocalTensor<float>& reduced)
    {
        SetFlag<HardEvent::V_S>(0);
        WaitFlag<HardEvent::V_S>(0);
        const float value = reduced.GetValue(0);
        SetFlag<HardEvent::S_V>(0);
        WaitFlag<HardEvent::S_V>(0);
        return value;
    }

    uint32_t columns_;
    GlobalTensor<float> x_gm_, z_gm_;
    TQue<QuePosition::VECIN, buffers> x_queue_;
    TQue<QuePosition::VECOUT, buffers> z_queue_;
    TBuf<TPosition::VECCALC> reduced_, work_;
};

}  // namespace

extern "C" __global__ __aicore__ void queue_softmax(GM_ADDR x, GM_ADDR z, uint32_t rows, uint32_t columns)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    TPipe pipe;
    QueueSoftmax softmax(pipe, x, z, columns);
    for (uint32_t row = GetBlockIdx(); row < rows; row += GetBlockNum()) {
        softmax.load(row);
        softmax.compute();
        softmax.store(row);
    }
}
