// The product of two tiles in L1 as tilelang-ascend's gemm_v0 makes it: slices of 128 of the depth in two halves of L0, and
// nothing of the core overlaps the whole; and the copies around it.
#pragma once

#include "kernel_operator.h"
using namespace AscendC;

namespace serial_gemm {

template <class T>
__aicore__ inline void load(const LocalTensor<T>& to, const GlobalTensor<T>& from, uint32_t rows, uint32_t columns, uint32_t pitch)
{
    DataCopy(to, from, Nd2NzParams(1, rows, columns, 0, pitch, rows, 1, 0));
}

// Elements [first, first + k) of the depth to L0; a[m][depth] and b[depth][n] or b[n][depth].
template <class T>
__aicore__ inline void load_a(const LocalTensor<T>& to, const LocalTensor<T>& a, uint32_t first, uint32_t m, uint32_t k)
{
    LoadData2DParams p;
    p.repeatTimes = k / 16;
    p.srcStride = m / 16;
    for (uint32_t i = 0; i < m / 16; ++i) {
        LoadData(to[i * k * 16], a[first * m + i * 256], p);
    }
}
template <class T>
__aicore__ inline void load_b(
    const LocalTensor<T>& to, const LocalTensor<T>& b, uint32_t first, uint32_t n, uint32_t k, uint32_t depth, bool b_is_n_by_k)
{
    LoadData2DParams p;
    p.repeatTimes = n / 16;
    p.srcStride = b_is_n_by_k ? 1 : depth / 16;
    p.ifTranspose = !b_is_n_by_k;
    for (uint32_t i = 0; i < k / 16; ++i) {
        LoadData(to[i * n * 16], b[b_is_n_by_k ? (first + i * 16) * n : (first + i * 16) * 16], p);
    }
}

// c = a * b, or c + a * b.
template <class T>
__aicore__ inline void multiply(const LocalTensor<float>& c, const LocalTensor<T>& a, const LocalTensor<T>& b, uint32_t m, uint32_t n,
    uint32_t depth, bool b_is_n_by_k, bool first = true)
{
    constexpr uint32_t slice = 128;
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    SetFlag<HardEvent::FIX_M>(0);
    WaitFlag<HardEvent::FIX_M>(0);
    SetFlag<HardEvent::M_MTE1>(0);
    SetFlag<HardEvent::M_MTE1>(1);
    for (uint32_t at = 0; at < depth; at += slice) {
        const uint32_t k = depth - at < slice ? depth - at : slice;
        const int32_t half_of = at / slice % 2;
        const LocalTensor<T> a2(TPosition::A2, half_of * m * slice * 2, m * k);
        const LocalTensor<T> b2(TPosition::B2, half_of * n * slice * 2, n * k);
        WaitFlag<HardEvent::M_MTE1>(half_of);
        load_a(a2, a, at, m, k);
        load_b(b2, b, at, n, k, depth, b_is_n_by_k);
        SetFlag<HardEvent::MTE1_M>(half_of);
        WaitFlag<HardEvent::MTE1_M>(half_of);
        PipeBarrier<PIPE_M>();
        MmadParams p;
        p.m = m;
        p.n = n;
        p.k = k;
        p.cmatrixInitVal = first && at == 0;
        Mmad(c, a2, b2, p);
        SetFlag<HardEvent::M_MTE1>(half_of);
    }
    WaitFlag<HardEvent::M_MTE1>(0);
    WaitFlag<HardEvent::M_MTE1>(1);
    SetFlag<HardEvent::MTE1_MTE2>(0);
    WaitFlag<HardEvent::MTE1_MTE2>(0);
    SetFlag<HardEvent::M_FIX>(0);
    WaitFlag<HardEvent::M_FIX>(0);
}

template <class T>
__aicore__ inline void store(const GlobalTensor<T>& to, const LocalTensor<float>& c, uint32_t m, uint32_t n, uint32_t pitch)
{
    FixpipeParamsV220 p;
    p.nSize = n;
    p.mSize = m;
    p.srcStride = m;
    p.dstStride = pitch;
    p.quantPre = sizeof(T) == 2 ? F322F16 : NoQuant;
    Fixpipe<T, float>(to, c, p);
}

// What was stored can be loaded.
__aicore__ inline void stored()
{
    SetFlag<HardEvent::FIX_MTE2>(0);
    WaitFlag<HardEvent::FIX_MTE2>(0);
}

}  // namespace serial_gemm
