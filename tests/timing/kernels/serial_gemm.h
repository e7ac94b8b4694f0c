// The product of two f16 tiles in L1 as tilelang-ascend's gemm_v0 makes it: one slice of up to 128 of the depth, and every
// pipe waits for the one before it; and the copies around it.
#pragma once

#include "kernel_operator.h"
using namespace AscendC;

namespace serial_gemm {

__aicore__ inline void load(const LocalTensor<half>& to, const GlobalTensor<half>& from, uint32_t rows, uint32_t columns, uint32_t pitch)
{
    DataCopy(to, from, Nd2NzParams(1, rows, columns, 0, pitch, rows, 1, 0));
}

// c = a * b, or a * b^T, of a[m][k] and b[k][n] or b[n][k].
__aicore__ inline void multiply(
    const LocalTensor<float>& c, const LocalTensor<half>& a, const LocalTensor<half>& b, uint32_t m, uint32_t n, uint32_t k, bool b_is_n_by_k)
{
    const LocalTensor<half> a2(TPosition::A2, 0, m * k);
    const LocalTensor<half> b2(TPosition::B2, 0, n * k);
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    SetFlag<HardEvent::FIX_M>(0);
    WaitFlag<HardEvent::FIX_M>(0);
    SetFlag<HardEvent::M_MTE1>(0);
    SetFlag<HardEvent::M_MTE1>(1);
    WaitFlag<HardEvent::M_MTE1>(0);
    LoadData2DParams along;
    along.repeatTimes = k / 16;
    along.srcStride = m / 16;
    for (uint32_t i = 0; i < m / 16; ++i) {
        LoadData(a2[i * k * 16], a[i * 256], along);
    }
    LoadData2DParams p;
    p.repeatTimes = n / 16;
    p.srcStride = b_is_n_by_k ? 1 : k / 16;
    p.ifTranspose = !b_is_n_by_k;
    for (uint32_t i = 0; i < k / 16; ++i) {
        LoadData(b2[i * n * 16], b[b_is_n_by_k ? i * n * 16 : i * 256], p);
    }
    SetFlag<HardEvent::MTE1_M>(0);
    WaitFlag<HardEvent::MTE1_M>(0);
    PipeBarrier<PIPE_M>();
    MmadParams product;
    product.m = m;
    product.n = n;
    product.k = k;
    product.cmatrixInitVal = true;
    Mmad(c, a2, b2, product);
    SetFlag<HardEvent::M_MTE1>(0);
    WaitFlag<HardEvent::M_MTE1>(0);
    WaitFlag<HardEvent::M_MTE1>(1);
    SetFlag<HardEvent::MTE1_MTE2>(0);
    WaitFlag<HardEvent::MTE1_MTE2>(0);
    SetFlag<HardEvent::M_FIX>(0);
    WaitFlag<HardEvent::M_FIX>(0);
}

__aicore__ inline void store(const GlobalTensor<half>& to, const LocalTensor<float>& c, uint32_t m, uint32_t n, uint32_t pitch)
{
    FixpipeParamsV220 p;
    p.nSize = n;
    p.mSize = m;
    p.srcStride = m;
    p.dstStride = pitch;
    p.quantPre = F322F16;
    Fixpipe<half, float>(to, c, p);
}

// What was stored can be loaded.
__aicore__ inline void stored()
{
    SetFlag<HardEvent::FIX_MTE2>(0);
    WaitFlag<HardEvent::FIX_MTE2>(0);
}

}  // namespace serial_gemm
