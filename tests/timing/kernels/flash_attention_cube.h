// The AIC of flash_attention.cpp: Q K^T and P V.
#pragma once

#include "flash_attention_fifos.h"

namespace flash_attention {

// The AIC: two L1 buffers for each right operand, two L0 and L0C buffers.
class Cube {
public:
    __aicore__ inline Cube(GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR workspace) : fifos(workspace, GetBlockIdx())
    {
        gq.SetGlobalBuffer((__gm__ half*)q + uint64_t(GetBlockIdx()) * rows * head);
        gk.SetGlobalBuffer((__gm__ half*)k);
        gv.SetGlobalBuffer((__gm__ half*)v);
        constexpr uint32_t bytes = 128 * 128 * sizeof(half);
        q1 = LocalTensor<half>(TPosition::A1, 0, rows * head);
        for (uint32_t i = 0; i < 2; ++i) {
            k1[i] = LocalTensor<half>(TPosition::B1, (1 + i) * bytes, sub_keys * head);
            p1[i] = LocalTensor<half>(TPosition::A1, (3 + i) * bytes, rows * sub_keys);
            v1[i] = LocalTensor<half>(TPosition::B1, (5 + i) * bytes, sub_keys * head);
            a2[i] = LocalTensor<half>(TPosition::A2, i * bytes, 128 * 128);
            b2[i] = LocalTensor<half>(TPosition::B2, i * bytes, 128 * 128);
            c0[i] = LocalTensor<float>(TPosition::CO1, i * 65536, 128 * 128);
        }
    }
    __aicore__ inline void run(uint32_t tiles)
    {
        for (int32_t id = 0; id < 4; ++id) {
            SetFlag<HardEvent::MTE1_MTE2>(id);
        }
        for (int32_t id = 0; id < 2; ++id) {
            SetFlag<HardEvent::M_MTE1>(id);
            SetFlag<HardEvent::FIX_M>(id);
        }
        DataCopy(q1, gq, Nd2NzParams(1, rows, head, 0, head, rows, 1, 0));
        for (uint32_t i = 0; i < preload && i < tiles; ++i) {
            qk_tile(i, 0, 0);
            qk_tile(i, 1, 1);
        }
        for (uint32_t i = 0; i < tiles; ++i) {
            for (uint32_t sub = 0; sub < 2; ++sub) {
                if (i + preload < tiles) {
                    qk_tile(i + preload, sub, 0);
                }
                pv_tile(i, sub, 1);
            }
        }
        for (int32_t id = 0; id < 4; ++id) {
            WaitFlag<HardEvent::MTE1_MTE2>(id);
        }
        for (int32_t id = 0; id < 2; ++id) {
            WaitFlag<HardEvent::M_MTE1>(id);
            WaitFlag<HardEvent::FIX_M>(id);
        }
        drain(tiles, qk_read);
        drain(tiles, pv_read);
    }

private:
    __aicore__ inline void product(const LocalTensor<half>& a1, const LocalTensor<half>& b1, bool b_is_n_by_k, int32_t out,
        bool first)
    {
        WaitFlag<HardEvent::M_MTE1>(l0);
        LoadData3DParamsV2<half> from;
        from.l1H = 1;
        from.l1W = 128;
        from.channelSize = 128;
        from.kExtension = 128;
        from.mExtension = 128;
        LoadData(a2[l0], a1, from);
        if (b_is_n_by_k) {
            LoadData2DParams whole;
            whole.repeatTimes = 64;
            whole.srcStride = 1;
            LoadData(b2[l0], b1, whole);
        } else {
            from.enTranspose = true;
            LoadData(b2[l0], b1, from);
        }
        SetFlag<HardEvent::MTE1_M>(l0);
        WaitFlag<HardEvent::MTE1_M>(l0);
        MmadParams p;
        p.m = 128;
        p.n = 128;
        p.k = 128;
        p.cmatrixInitVal = first;
        Mmad(c0[out], a2[l0], b2[l0], p);
        SetFlag<HardEvent::M_MTE1>(l0);
        l0 ^= 1;
    }
    __aicore__ inline void store(const GlobalTensor<float>& to, uint32_t pitch, int32_t out)
    {
        SetFlag<HardEvent::M_FIX>(out);
        WaitFlag<HardEvent::M_FIX>(out);
        FixpipeParamsV220 p;
        p.nSize = 128;
        p.mSize = 128;
        p.srcStride = 128;
        p.dstStride = pitch;
        Fixpipe(to, c0[out], p);
        SetFlag<HardEvent::FIX_M>(out);
    }
    __aicore__ inline void qk_tile(uint32_t i, uint32_t sub, int32_t out)
    {
        WaitFlag<HardEvent::MTE1_MTE2>(k_buffer);
        DataCopy(k1[k_buffer], gk[uint64_t(i * keys + sub * sub_keys) * head],
            Nd2NzParams(1, sub_keys, head, 0, head, sub_keys, 1, 0));
        SetFlag<HardEvent::MTE2_MTE1>(k_buffer);
        WaitFlag<HardEvent::MTE2_MTE1>(k_buffer);
        WaitFlag<HardEvent::FIX_M>(out);
        product(q1, k1[k_buffer], true, out, true);
        SetFlag<HardEvent::MTE1_MTE2>(k_buffer);
        k_buffer ^= 1;
        if (sub == 0) {
            wait_place(i, qk_read);
        }
        store(fifos.qk[i % depth * rows * keys + sub * sub_keys], keys, out);
        if (sub == 1) {
            CrossCoreSetFlag<2, PIPE_FIX>(qk_written);
        }
    }
    __aicore__ inline void pv_tile(uint32_t i, uint32_t sub, int32_t out)
    {
        const int32_t id = 2 + v_buffer;
        WaitFlag<HardEvent::MTE1_MTE2>(id);
        DataCopy(v1[v_buffer], gv[uint64_t(i * keys + sub * sub_keys) * head],
            Nd2NzParams(1, sub_keys, head, 0, head, sub_keys, 1, 0));
        if (sub == 0) {
            CrossCoreWaitFlag(p_written);
        }
        DataCopy(p1[v_buffer], fifos.p[i % depth * rows * keys + sub * sub_keys],
            Nd2NzParams(1, rows, sub_keys, 0, keys, rows, 1, 0));
        if (sub == 1) {
            CrossCoreSetFlag<2, PIPE_MTE2>(p_read);
        }
        SetFlag<HardEvent::MTE2_MTE1>(id);
        WaitFlag<HardEvent::MTE2_MTE1>(id);
        if (sub == 0) {
            WaitFlag<HardEvent::FIX_M>(out);
        }
        product(p1[v_buffer], v1[v_buffer], false, out, sub == 0);
        SetFlag<HardEvent::MTE1_MTE2>(id);
        v_buffer ^= 1;
        if (sub == 1) {
            wait_place(i, pv_read);
            store(fifos.pv[i % depth * rows * head], head, out);
            CrossCoreSetFlag<2, PIPE_FIX>(pv_written);
        }
    }

    GlobalTensor<half> gq;
    GlobalTensor<half> gk;
    GlobalTensor<half> gv;
    Fifos fifos;
    LocalTensor<half> q1;
    LocalTensor<half> k1[2];
    LocalTensor<half> p1[2];
    LocalTensor<half> v1[2];
    LocalTensor<half> a2[2];
    LocalTensor<half> b2[2];
    LocalTensor<float> c0[2];
    int32_t k_buffer = 0;
    int32_t v_buffer = 0;
    int32_t l0 = 0;
};

}  // namespace flash_attention
