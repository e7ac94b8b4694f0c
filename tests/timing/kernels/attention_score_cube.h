// The AIC of attention_score.cpp: scores of a step, then products of the step before.
#pragma once

#include "attention_score.h"

namespace attention_score {

class Cube {
public:
    __aicore__ inline Cube(GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR workspace) : gm(workspace, GetBlockIdx())
    {
        gq.SetGlobalBuffer((__gm__ half*)q + uint64_t(GetBlockIdx()) * rows * head);
        gk.SetGlobalBuffer((__gm__ half*)k);
        gv.SetGlobalBuffer((__gm__ half*)v);
    }
    __aicore__ inline void run(uint32_t steps)
    {
        for (int32_t i = 0; i < 2; ++i) {
            SetFlag<HardEvent::MTE1_MTE2>(i);
            SetFlag<HardEvent::M_MTE1>(i);
            SetFlag<HardEvent::FIX_M>(i);
        }
        DataCopy(q1, gq, Nd2NzParams(1, rows, head, 0, head, rows, 1, 0));
        for (uint32_t i = 0; i <= steps; ++i) {
            if (i < steps) {
                scores(i);
                CrossCoreSetFlag<2, PIPE_FIX>(scores_written + i % 2);
            }
            if (i > 0) {
                CrossCoreWaitFlag(weights_written + (i - 1) % 2);
                products(i - 1);
                CrossCoreSetFlag<2, PIPE_FIX>(products_written + (i - 1) % 2);
            }
        }
        for (int32_t i = 0; i < 2; ++i) {
            WaitFlag<HardEvent::MTE1_MTE2>(i);
            WaitFlag<HardEvent::M_MTE1>(i);
            WaitFlag<HardEvent::FIX_M>(i);
        }
    }

private:
    // One product of 128 x 128 x 128: rows [m, m + 128) of `a`, which lies in L1 with all 256.
    __aicore__ inline void multiply(const LocalTensor<half>& a, uint32_t m, const LocalTensor<half>& b, bool b_is_n_by_k, int32_t out, bool first)
    {
        WaitFlag<HardEvent::M_MTE1>(l0);
        LoadData3DParamsV2<half> p;
        p.l1H = 1;
        p.l1W = rows;
        p.channelSize = base;
        p.kExtension = base;
        p.mExtension = base;
        p.mStartPt = m;
        LoadData(a2[l0], a, p);
        if (b_is_n_by_k) {
            LoadData2DParams whole;
            whole.repeatTimes = 64;
            whole.srcStride = 1;
            LoadData(b2[l0], b, whole);
        } else {
            p.l1W = base;
            p.mStartPt = 0;
            p.enTranspose = true;
            LoadData(b2[l0], b, p);
        }
        SetFlag<HardEvent::MTE1_M>(l0);
        WaitFlag<HardEvent::MTE1_M>(l0);
        MmadParams product;
        product.m = base;
        product.n = base;
        product.k = base;
        product.cmatrixInitVal = first;
        Mmad(c0[out], a2[l0], b2[l0], product);
        SetFlag<HardEvent::M_MTE1>(l0);
        l0 ^= 1;
    }
    __aicore__ inline void finish(int32_t out)
    {
        SetFlag<HardEvent::M_FIX>(out);
        WaitFlag<HardEvent::M_FIX>(out);
    }
    __aicore__ inline void scores(uint32_t step)
    {
        for (uint32_t n = 0; n < keys; n += base) {
            WaitFlag<HardEvent::MTE1_MTE2>(l1);
            DataCopy(b1[l1], gk[uint64_t(step * keys + n) * head], Nd2NzParams(1, base, head, 0, head, base, 1, 0));
            pass<HardEvent::MTE2_MTE1>(l1);
            for (uint32_t m = 0; m < rows; m += base) {
                const int32_t out = m / base;
                WaitFlag<HardEvent::FIX_M>(out);
                multiply(q1, m, b1[l1], true, out, true);
                finish(out);
                FixpipeParamsV220 p;
                p.nSize = base;
                p.mSize = base;
                p.srcStride = base;
                p.dstStride = keys;
                Fixpipe(gm.scores[(uint64_t(step % 2) * rows + m) * keys + n], c0[out], p);
                SetFlag<HardEvent::FIX_M>(out);
            }
            SetFlag<HardEvent::MTE1_MTE2>(l1);
            l1 ^= 1;
        }
    }
    __aicore__ inline void products(uint32_t step)
    {
        WaitFlag<HardEvent::FIX_M>(0);
        WaitFlag<HardEvent::FIX_M>(1);
        for (uint32_t k = 0; k < keys; k += base) {
            WaitFlag<HardEvent::MTE1_MTE2>(l1);
            DataCopy(a1[l1], gm.weights[(uint64_t(step % 2) * keys + k) * rows], base * rows);
            DataCopy(b1[l1], gv[uint64_t(step * keys + k) * head], Nd2NzParams(1, base, head, 0, head, base, 1, 0));
            pass<HardEvent::MTE2_MTE1>(l1);
            for (uint32_t m = 0; m < rows; m += base) {
                multiply(a1[l1], m, b1[l1], false, m / base, k == 0);
            }
            SetFlag<HardEvent::MTE1_MTE2>(l1);
            l1 ^= 1;
        }
        for (int32_t out = 0; out < 2; ++out) {
            finish(out);
            FixpipeParamsV220 p;
            p.nSize = head;
            p.mSize = base;
            p.srcStride = base;
            p.dstStride = rows * 2;  // blocks of 32 B from a block of columns to the next
            Fixpipe<float, float, CFG_NZ>(gm.products[uint64_t(step % 2) * rows * head + out * base * 16], c0[out], p);
            SetFlag<HardEvent::FIX_M>(out);
        }
    }

    GlobalTensor<half> gq;
    GlobalTensor<half> gk;
    GlobalTensor<half> gv;
    Gm gm;
    LocalTensor<half> q1{TPosition::A1, 0, rows * head};
    LocalTensor<half> a1[2] = {LocalTensor<half>(TPosition::A1, 65536, rows * base), LocalTensor<half>(TPosition::A1, 131072, rows * base)};
    LocalTensor<half> b1[2] = {LocalTensor<half>(TPosition::B1, 196608, base * head), LocalTensor<half>(TPosition::B1, 229376, base * head)};
    LocalTensor<half> a2[2] = {LocalTensor<half>(TPosition::A2, 0, base * base), LocalTensor<half>(TPosition::A2, 32768, base * base)};
    LocalTensor<half> b2[2] = {LocalTensor<half>(TPosition::B2, 0, base * base), LocalTensor<half>(TPosition::B2, 32768, base * base)};
    LocalTensor<float> c0[2] = {LocalTensor<float>(TPosition::CO1, 0, base * base), LocalTensor<float>(TPosition::CO1, 65536, base * base)};
    int32_t l1 = 0;
    int32_t l0 = 0;
};

}  // namespace attention_score
