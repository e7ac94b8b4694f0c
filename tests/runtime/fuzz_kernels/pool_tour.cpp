// Buffer pools, lists of tensors, dumps of addresses and copies that count; correct as it stands.
#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t COUNT = 128;
constexpr uint32_t BYTES = COUNT * sizeof(half);

class OwnPool {
public:
    __aicore__ inline OwnPool() { Init(); }
    template <class T>
    __aicore__ inline bool InitBuffer(T& queue, uint8_t number, uint32_t bytes)
    {
        auto handle = this->GetBufHandle(this->GetCurBufSize());
        auto address = this->GetCurAddr();
        queue.InitStartBufHandle(handle, number, bytes);
        for (uint32_t i = 0; i < number; i++) {
            queue.InitBufHandle(this, i, handle, address + i * bytes, bytes);
        }
        this->SetCurAddr(address + number * bytes);
        this->SetCurBufSize(this->GetCurBufSize() + number);
        return true;
    }
    template <TPosition position>
    __aicore__ inline bool InitBuffer(TBuf<position>& buffer, uint32_t bytes)
    {
        auto handle = this->GetBufHandle(this->GetCurBufSize());
        buffer.InitStartBufHandle(handle, 1, bytes);
        buffer.InitBufHandle(this, 0, handle, this->GetCurAddr(), bytes);
        this->SetCurAddr(this->GetCurAddr() + bytes);
        this->SetCurBufSize(this->GetCurBufSize() + 1);
        return true;
    }
    EXTERN_IMPL_BUFPOOL(OwnPool, TPosition::VECCALC, 8);
};

struct Shape {
    uint64_t rows, columns;
};

struct Sum {
    GlobalTensor<half> x, y, z;

    template <class In, class Other, class Out>
    __aicore__ inline void Run(In& first, Other& second, Out& out, uint32_t at)
    {
        LocalTensor<half> a = first.template AllocTensor<half>();
        DataCopy(a, x[at], COUNT);
        first.EnQue(a);
        LocalTensor<half> b = second.template AllocTensor<half>();
        DataCopy(b, y[at], COUNT);
        second.EnQue(b);
        LocalTensor<half> p = first.template DeQue<half>();
        LocalTensor<half> q = second.template DeQue<half>();
        LocalTensor<half> r = out.template AllocTensor<half>();
        Add(r, p, q, COUNT);
        out.template EnQue<half>(r);
        first.FreeTensor(p);
        second.FreeTensor(q);
        LocalTensor<half> s = out.template DeQue<half>();
        DataCopy(z[at], s, COUNT);
        out.FreeTensor(s);
    }
};

extern "C" __global__ __aicore__ void pool_tour(GM_ADDR inputs, GM_ADDR z)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    ListTensorDesc list((__gm__ void*)inputs);
    Shape shape = {0, 0};
    TensorDesc<half> desc;
    desc.SetShapeAddr(&shape.rows);
    list.GetDesc(desc, 1);
    Sum sum;
    sum.x.SetGlobalBuffer(list.GetDataPtr<half>(0), shape.rows * shape.columns);
    sum.y = desc.GetDataObj();
    sum.z.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(z));
    TPipe pipe;
    TBufPool<TPosition::VECCALC> whole, first, second;
    TQue<TPosition::VECIN, 1> a, b, c;
    TQue<TPosition::VECOUT, 1> e, f;
    pipe.InitBufPool(whole, BYTES * 4);
    whole.InitBufPool(first, BYTES * 2);
    whole.InitBuffer(a, 1, BYTES * 2);
    whole.InitBufPool(second, BYTES * 2, first);
    first.InitBuffer(b, 1, BYTES);
    first.InitBuffer(e, 1, BYTES);
    sum.Run(a, b, e, 0);
    first.Reset();
    second.InitBuffer(c, 1, BYTES);
    second.InitBuffer(f, 1, BYTES);
    sum.Run(a, c, f, COUNT);
    second.Reset();
    whole.Reset();
    pipe.Reset();
    PipeBarrier<PIPE_ALL>();  // the buffers to come lie elsewhere than those before
    OwnPool own;
    TQue<TPosition::VECIN, 2> g, h;
    TQue<TPosition::VECOUT, 2> k;
    TBuf<TPosition::VECCALC> spare;
    pipe.InitBufPool(own, BYTES * 10);
    own.InitBuffer(g, 2, BYTES);
    own.InitBuffer(h, 2, BYTES);
    own.InitBuffer(spare, BYTES * 2);
    own.InitBuffer(k, 2, BYTES);
    for (uint32_t i = 2; i < 6; ++i) {
        sum.Run(g, h, k, i * COUNT);
    }
    LocalTensor<half> tile = spare.Get<half>();
    LocalTensor<half> in = g.AllocTensor<half>();
    PipeBarrier<PIPE_V>();
    Duplicate(in, half(2), COUNT);
    PipeBarrier<PIPE_V>();
    SetMaskCount();
    SetVectorMask<half, MaskMode::COUNTER>(48);
    Copy<half, false>(tile, in, MASK_PLACEHOLDER, 2, {1, 1, 4, 3});
    SetMaskNorm();
    ResetMask();
    PipeBarrier<PIPE_V>();
    Cast(tile.ReinterpretCast<float>(), in, RoundMode::CAST_NONE, COUNT / 2);
    PipeBarrier<PIPE_ALL>();
    asc_dump_ubuf(in.GetPhyAddr(), 1, 8);
    asc_dump_gm(reinterpret_cast<__gm__ half*>(z), 2, 8);
    asc_dump(in.GetPhyAddr(16), 3, 4);
    g.FreeTensor(in);
    own.Reset();
}
