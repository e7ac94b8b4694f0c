// O = softmax(Q K^T / sqrt(128)) V for one head of 128: 128 rows of Q a block, tiles of 256 keys, AIC and two AIVs.
//
// Structure after PTO-ISA kernels/manual/common/flash_atten: the four stages QK (AIC), softmax (AIV), PV (AIC) and the
// rescaled sum (AIV) hand tiles over in GM FIFOs; QK and softmax run four tiles ahead. The softmax follows
// pto_macro_fa_softmax: row maximum, subtract, scale, exp, row sum, cast. Left out: causal mask.
#include "kernel_operator.h"
using namespace AscendC;

namespace flash_attention {

constexpr uint32_t head = 128;
constexpr uint32_t rows = 128;       // of Q in a block
constexpr uint32_t keys = 256;       // in a tile
constexpr uint32_t sub_keys = 128;   // in one matrix product
constexpr uint32_t preload = 4;      // tiles QK and softmax are ahead
constexpr uint32_t depth = 8;        // of a FIFO, in tiles
constexpr uint32_t sub_rows = 64;    // of an AIV
constexpr uint32_t slice_rows = 32;  // softmax works on
constexpr float scale = 0.08838834764831845f;

constexpr int32_t qk_written = 0;
constexpr int32_t qk_read = 1;
constexpr int32_t p_written = 2;
constexpr int32_t p_read = 3;
constexpr int32_t pv_written = 4;
constexpr int32_t pv_read = 5;

// GM workspace of a block: FIFOs of QK (f32), P (f16) and PV (f32).
constexpr uint64_t qk_bytes = uint64_t(depth) * rows * keys * sizeof(float);
constexpr uint64_t p_bytes = uint64_t(depth) * rows * keys * sizeof(half);
constexpr uint64_t pv_bytes = uint64_t(depth) * rows * head * sizeof(float);

struct Fifos {
    __aicore__ inline explicit Fifos(GM_ADDR workspace, uint32_t block)
    {
        const GM_ADDR base = workspace + block * (qk_bytes + p_bytes + pv_bytes);
        qk.SetGlobalBuffer((__gm__ float*)base);
        p.SetGlobalBuffer((__gm__ half*)(base + qk_bytes));
        pv.SetGlobalBuffer((__gm__ float*)(base + qk_bytes + p_bytes));
    }
    GlobalTensor<float> qk;
    GlobalTensor<half> p;
    GlobalTensor<float> pv;
};

// Waits for a free place before tile i is written, if the FIFO has been filled once.
__aicore__ inline void wait_place(uint32_t i, int32_t flag)
{
    if (i >= depth) {
        CrossCoreWaitFlag(flag);
    }
}
// What a producer has not waited for when all tiles are written.
__aicore__ inline void drain(uint32_t tiles, int32_t flag)
{
    for (uint32_t i = 0; i < (tiles < depth ? tiles : depth); ++i) {
        CrossCoreWaitFlag(flag);
    }
}

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

// An AIV: 64 rows of the block, softmax in two slices of 32.
class Vector {
public:
    __aicore__ inline Vector(GM_ADDR o, GM_ADDR workspace) : fifos(workspace, GetBlockIdx() / 2)
    {
        go.SetGlobalBuffer(
            (__gm__ float*)o + (uint64_t(GetBlockIdx() / 2) * rows + GetSubBlockIdx() * sub_rows) * head);
    }
    __aicore__ inline void run(uint32_t tiles)
    {
        for (int32_t id = 0; id < 2; ++id) {
            SetFlag<HardEvent::V_MTE2>(id);
            SetFlag<HardEvent::MTE3_V>(id);
        }
        for (uint32_t i = 0; i < preload && i < tiles; ++i) {
            softmax(i);
        }
        for (uint32_t i = 0; i < tiles; ++i) {
            if (i + preload < tiles) {
                softmax(i + preload);
            }
            accumulate(i, tiles);
        }
        for (int32_t id = 0; id < 2; ++id) {
            WaitFlag<HardEvent::V_MTE2>(id);
            WaitFlag<HardEvent::MTE3_V>(id);
        }
        drain(tiles, p_read);
    }

private:
    // dst[row] = op over the 256 columns of src, spread over one block a row in `blocks`.
    template <bool maximum>
    __aicore__ inline void reduce_rows(const LocalTensor<float>& dst, const LocalTensor<float>& src)
    {
        const BinaryRepeatParams fold(1, 1, 1, 16, 32, 32);
        const BinaryRepeatParams again(1, 1, 1, 16, 16, 16);
        for (uint32_t j = 0; j < 128; j += 64) {
            if constexpr (maximum) {
                Max(folded[j], src[j], src[128 + j], 64, slice_rows, fold);
            } else {
                Add(folded[j], src[j], src[128 + j], 64, slice_rows, fold);
            }
        }
        PipeBarrier<PIPE_V>();
        if constexpr (maximum) {
            Max(folded, folded, folded[64], 64, slice_rows, again);
            PipeBarrier<PIPE_V>();
            WholeReduceMax(dst, folded, 64, slice_rows, 1, 1, 16, ReduceOrder::ORDER_ONLY_VALUE);
        } else {
            Add(folded, folded, folded[64], 64, slice_rows, again);
            PipeBarrier<PIPE_V>();
            WholeReduceSum(dst, folded, 64, slice_rows, 1, 1, 16);
        }
        PipeBarrier<PIPE_V>();
    }
    __aicore__ inline void softmax(uint32_t i)
    {
        CrossCoreWaitFlag(qk_written);
        wait_place(i, p_read);
        for (uint32_t slice = 0; slice < 2; ++slice) {
            const uint32_t first = slice * slice_rows;
            const uint64_t place = uint64_t(i % depth * rows + GetSubBlockIdx() * sub_rows + first) * keys;
            const LocalTensor<float> x = in[buffer];
            WaitFlag<HardEvent::V_MTE2>(buffer);
            DataCopy(x, fifos.qk[place], slice_rows * keys);
            SetFlag<HardEvent::MTE2_V>(buffer);
            WaitFlag<HardEvent::MTE2_V>(buffer);
            WaitFlag<HardEvent::MTE3_V>(buffer);
            exponentials(x, first, i == 0, factor[i % (preload + 1)][first]);
            Cast(p[buffer], x, RoundMode::CAST_ROUND, slice_rows * keys);
            SetFlag<HardEvent::V_MTE2>(buffer);
            SetFlag<HardEvent::V_MTE3>(buffer);
            WaitFlag<HardEvent::V_MTE3>(buffer);
            DataCopy(fifos.p[place], p[buffer], slice_rows * keys);
            SetFlag<HardEvent::MTE3_V>(buffer);
            buffer ^= 1;
        }
        CrossCoreSetFlag<2, PIPE_MTE2>(qk_read);
        CrossCoreSetFlag<2, PIPE_MTE3>(p_written);
    }
    // x = exp(scale (x - maximum)), with the running maximum and sum; `rescale` = exp(scale (old maximum - new)).
    __aicore__ inline void exponentials(
        const LocalTensor<float>& x, uint32_t first, bool initial, const LocalTensor<float>& rescale)
    {
        const LocalTensor<float> top = maximum[first];
        const LocalTensor<float> total = sum[first];
        reduce_rows<true>(local, x);
        if (!initial) {
            Max(local, local, top, slice_rows);
            PipeBarrier<PIPE_V>();
            Sub(rescale, top, local, slice_rows);
            PipeBarrier<PIPE_V>();
            Muls(rescale, rescale, scale, slice_rows);
            PipeBarrier<PIPE_V>();
            Exp(rescale, rescale, slice_rows);
        }
        Adds(top, local, 0.0f, slice_rows);
        Brcb(blocks, local, slice_rows / 8, BrcbRepeatParams(1, 8));
        PipeBarrier<PIPE_V>();
        for (uint32_t j = 0; j < keys; j += 64) {
            Sub(x[j], x[j], blocks, 64, slice_rows, BinaryRepeatParams(1, 1, 0, 32, 32, 1));
        }
        PipeBarrier<PIPE_V>();
        Muls(x, x, scale, slice_rows * keys);
        PipeBarrier<PIPE_V>();
        Exp(x, x, slice_rows * keys);
        PipeBarrier<PIPE_V>();
        reduce_rows<false>(local, x);
        if (initial) {
            Adds(total, local, 0.0f, slice_rows);
        } else {
            Mul(total, total, rescale, slice_rows);
            PipeBarrier<PIPE_V>();
            Add(total, total, local, slice_rows);
        }
        PipeBarrier<PIPE_V>();
    }
    // Every row of `to` times (or divided by) its element of `by`.
    template <bool divide>
    __aicore__ inline void scale_rows(const LocalTensor<float>& to, const LocalTensor<float>& by)
    {
        Brcb(blocks, by, sub_rows / 8, BrcbRepeatParams(1, 8));
        PipeBarrier<PIPE_V>();
        for (uint32_t j = 0; j < head; j += 64) {
            const BinaryRepeatParams each_row(1, 1, 0, 16, 16, 1);
            if constexpr (divide) {
                Div(to[j], to[j], blocks, 64, sub_rows, each_row);
            } else {
                Mul(to[j], to[j], blocks, 64, sub_rows, each_row);
            }
        }
        PipeBarrier<PIPE_V>();
    }
    __aicore__ inline void accumulate(uint32_t i, uint32_t tiles)
    {
        CrossCoreWaitFlag(pv_written);
        const LocalTensor<float> x = in[buffer];
        WaitFlag<HardEvent::V_MTE2>(buffer);
        DataCopy(x, fifos.pv[uint64_t(i % depth * rows + GetSubBlockIdx() * sub_rows) * head], sub_rows * head);
        CrossCoreSetFlag<2, PIPE_MTE2>(pv_read);
        SetFlag<HardEvent::MTE2_V>(buffer);
        WaitFlag<HardEvent::MTE2_V>(buffer);
        if (i == 0) {
            Adds(result, x, 0.0f, sub_rows * head);
        } else {
            scale_rows<false>(result, factor[i % (preload + 1)]);
            Add(result, result, x, sub_rows * head);
        }
        PipeBarrier<PIPE_V>();
        SetFlag<HardEvent::V_MTE2>(buffer);
        buffer ^= 1;
        if (i + 1 == tiles) {
            scale_rows<true>(result, sum);
            SetFlag<HardEvent::V_MTE3>(2);
            WaitFlag<HardEvent::V_MTE3>(2);
            DataCopy(go, result, sub_rows * head);
        }
    }

    Fifos fifos;
    GlobalTensor<float> go;
    LocalTensor<float> in[2] = {LocalTensor<float>(TPosition::VECIN, 0, 8192),
        LocalTensor<float>(TPosition::VECIN, 32768, 8192)};
    LocalTensor<half> p[2] = {
        LocalTensor<half>(TPosition::VECOUT, 65536, 8192), LocalTensor<half>(TPosition::VECOUT, 81920, 8192)};
    LocalTensor<float> result{TPosition::VECOUT, 98304, sub_rows * head};
    LocalTensor<float> folded{TPosition::VECCALC, 131072, slice_rows * 128};
    LocalTensor<float> blocks{TPosition::VECCALC, 147456, sub_rows * 8};
    LocalTensor<float> local{TPosition::VECCALC, 149504, slice_rows};
    LocalTensor<float> maximum{TPosition::VECCALC, 149760, sub_rows};
    LocalTensor<float> sum{TPosition::VECCALC, 150016, sub_rows};
    LocalTensor<float> factor[preload + 1] = {LocalTensor<float>(TPosition::VECCALC, 150272, sub_rows),
        LocalTensor<float>(TPosition::VECCALC, 150528, sub_rows), LocalTensor<float>(TPosition::VECCALC, 150784, sub_rows),
        LocalTensor<float>(TPosition::VECCALC, 151040, sub_rows),
        LocalTensor<float>(TPosition::VECCALC, 151296, sub_rows)};
    int32_t buffer = 0;
};

}  // namespace flash_attention

extern "C" __global__ __aicore__ void flash_attention_128(
    GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR o, GM_ADDR workspace, int32_t key_count)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    InitSocState();
    const uint32_t tiles = key_count / flash_attention::keys;
    if ASCEND_IS_AIC {
        flash_attention::Cube cube(q, k, v, workspace);
        cube.run(tiles);
    }
    if ASCEND_IS_AIV {
        flash_attention::Vector vector(o, workspace);
        vector.run(tiles);
    }
    PipeBarrier<PIPE_ALL>();
}
