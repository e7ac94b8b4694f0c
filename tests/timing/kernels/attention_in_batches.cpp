// O = softmax(Q K^T / sqrt(128)) V on f16, AIC and two AIVs: 128 rows of Q a task, tiles of 128 keys in batches of 14.
//
// Structure after tilelang-ascend examples/flash_attention/fa_opt/flash_attn_bhsd_expert_h16_d128.py: for a batch the AIC
// leaves all Q K^T in GM (f16), the AIVs all their softmaxes, the AIC all P V, the AIVs add them up; the two kinds tell each
// other every second tile. One L1 buffer of each operand, L0 and L0C doubled. As there, instructions of the vector pipe are
// not separated by barriers but those inside of the library's calls.
#include "library_calls.h"

namespace attention_in_batches {

constexpr uint32_t side = 128;  // rows, keys of a tile, and the head
constexpr uint32_t tile = side * side;
constexpr uint32_t batch = 14;
constexpr uint32_t sub_rows = 64;  // of an AIV
constexpr uint32_t part = sub_rows * side;
constexpr float scale = 0.08838834764831845f;

constexpr int32_t scores_written = 0;
constexpr int32_t scores_read = 1;
constexpr int32_t weights_written = 2;
constexpr int32_t weights_read = 3;
constexpr int32_t products_written = 4;
constexpr int32_t products_read = 5;

// Whether the other kind of core is told of tile i of `count`: of every second, and of the last.
__aicore__ inline bool told(uint32_t i, uint32_t count) { return i % 2 == 1 || i + 1 == count; }

// GM of a block: a batch of scores, of weights and of products.
struct Workspace {
    __aicore__ inline Workspace(GM_ADDR workspace, uint32_t block)
    {
        const GM_ADDR base = workspace + uint64_t(block) * 3 * batch * tile * sizeof(half);
        scores.SetGlobalBuffer((__gm__ half*)base);
        weights.SetGlobalBuffer((__gm__ half*)base + batch * tile);
        products.SetGlobalBuffer((__gm__ half*)base + 2 * batch * tile);
    }
    GlobalTensor<half> scores;
    GlobalTensor<half> weights;
    GlobalTensor<half> products;
};

class Cube {
public:
    __aicore__ inline Cube(GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR workspace) : gm(workspace, GetBlockIdx())
    {
        gq.SetGlobalBuffer((__gm__ half*)q);
        gk.SetGlobalBuffer((__gm__ half*)k);
        gv.SetGlobalBuffer((__gm__ half*)v);
        for (uint32_t i = 0; i < 2; ++i) {
            a2[i] = LocalTensor<half>(TPosition::A2, i * 32768, tile);
            b2[i] = LocalTensor<half>(TPosition::B2, i * 32768, tile);
            c0[i] = LocalTensor<float>(TPosition::CO1, i * 65536, tile);
        }
    }
    __aicore__ inline void begin()
    {
        for (int32_t i = 0; i < 3; ++i) {
            SetFlag<HardEvent::MTE1_MTE2>(i);
        }
        for (int32_t i = 0; i < 2; ++i) {
            SetFlag<HardEvent::M_MTE1>(i);
            SetFlag<HardEvent::FIX_M>(i);
        }
        CrossCoreSetFlag<2, PIPE_MTE2>(weights_read);
    }
    __aicore__ inline void end()
    {
        for (int32_t i = 0; i < 3; ++i) {
            WaitFlag<HardEvent::MTE1_MTE2>(i);
        }
        for (int32_t i = 0; i < 2; ++i) {
            WaitFlag<HardEvent::M_MTE1>(i);
            WaitFlag<HardEvent::FIX_M>(i);
        }
        CrossCoreWaitFlag(scores_read);
        CrossCoreWaitFlag(products_read);
    }
    __aicore__ inline void task(uint32_t rows_at, uint32_t tiles)
    {
        DataCopy(q1, gq[uint64_t(rows_at) * side], whole);
        PipeBarrier<PIPE_ALL>();
        for (uint32_t first = 0; first < tiles; first += batch) {
            const uint32_t count = tiles - first < batch ? tiles - first : batch;
            CrossCoreWaitFlag(scores_read);
            for (uint32_t i = 0; i < count; ++i) {
                score(i, first + i);
                if (told(i, count)) {
                    CrossCoreSetFlag<2, PIPE_FIX>(scores_written);
                }
            }
            CrossCoreWaitFlag(products_read);
            for (uint32_t i = 0; i < count; ++i) {
                product(i, first + i);
                if (told(i, count)) {
                    CrossCoreSetFlag<2, PIPE_FIX>(products_written);
                }
            }
            CrossCoreSetFlag<2, PIPE_MTE2>(weights_read);
        }
    }

private:
    __aicore__ inline void load(const LocalTensor<half>& to, const GlobalTensor<half>& from, int32_t id)
    {
        WaitFlag<HardEvent::MTE1_MTE2>(id);
        DataCopy(to, from, whole);
        SetFlag<HardEvent::MTE2_MTE1>(id);
    }
    __aicore__ inline void multiply_and_store(const GlobalTensor<half>& to, uint32_t side_of)
    {
        SetFlag<HardEvent::MTE1_M>(side_of);
        WaitFlag<HardEvent::MTE1_M>(side_of);
        WaitFlag<HardEvent::FIX_M>(side_of);
        MmadParams p;
        p.m = side;
        p.n = side;
        p.k = side;
        p.cmatrixInitVal = true;
        Mmad(c0[side_of], a2[side_of], b2[side_of], p);
        SetFlag<HardEvent::M_MTE1>(side_of);
        SetFlag<HardEvent::M_FIX>(side_of);
        WaitFlag<HardEvent::M_FIX>(side_of);
        FixpipeParamsV220 out;
        out.nSize = side;
        out.mSize = side;
        out.srcStride = side;
        out.dstStride = side;
        out.quantPre = F322F16;
        Fixpipe<half, float>(to, c0[side_of], out);
        SetFlag<HardEvent::FIX_M>(side_of);
    }
    __aicore__ inline void load_a(const LocalTensor<half>& to, const LocalTensor<half>& from, bool transposed)
    {
        LoadData3DParamsV2<half> p;
        p.l1H = 1;
        p.l1W = side;
        p.channelSize = side;
        p.kExtension = side;
        p.mExtension = side;
        p.enTranspose = transposed;
        LoadData(to, from, p);
    }
    __aicore__ inline void score(uint32_t i, uint32_t at)
    {
        const uint32_t side_of = i % 2;
        load(k1, gk[uint64_t(at) * tile], 0);
        WaitFlag<HardEvent::M_MTE1>(side_of);
        if (i < 2) {
            load_a(a2[side_of], q1, false);
        }
        WaitFlag<HardEvent::MTE2_MTE1>(0);
        LoadData2DParams all;
        all.repeatTimes = 64;
        all.srcStride = 1;
        LoadData(b2[side_of], k1, all);
        SetFlag<HardEvent::MTE1_MTE2>(0);
        multiply_and_store(gm.scores[i * tile], side_of);
    }
    __aicore__ inline void product(uint32_t i, uint32_t at)
    {
        const uint32_t side_of = i % 2;
        load(v1, gv[uint64_t(at) * tile], 1);
        if (i % 2 == 0) {
            CrossCoreWaitFlag(weights_written);
        }
        load(p1, gm.weights[i * tile], 2);
        WaitFlag<HardEvent::MTE2_MTE1>(1);
        WaitFlag<HardEvent::M_MTE1>(side_of);
        load_a(b2[side_of], v1, true);
        SetFlag<HardEvent::MTE1_MTE2>(1);
        WaitFlag<HardEvent::MTE2_MTE1>(2);
        load_a(a2[side_of], p1, false);
        SetFlag<HardEvent::MTE1_MTE2>(2);
        multiply_and_store(gm.products[i * tile], side_of);
    }

    const Nd2NzParams whole{1, side, side, 0, side, side, 1, 0};
    GlobalTensor<half> gq;
    GlobalTensor<half> gk;
    GlobalTensor<half> gv;
    Workspace gm;
    LocalTensor<half> q1{TPosition::A1, 0, tile};
    LocalTensor<half> k1{TPosition::B1, 32768, tile};
    LocalTensor<half> v1{TPosition::B1, 65536, tile};
    LocalTensor<half> p1{TPosition::A1, 98304, tile};
    LocalTensor<half> a2[2];
    LocalTensor<half> b2[2];
    LocalTensor<float> c0[2];
};

class Vector {
public:
    __aicore__ inline Vector(GM_ADDR o, GM_ADDR workspace) : gm(workspace, GetBlockIdx() / 2)
    {
        go.SetGlobalBuffer((__gm__ half*)o);
    }
    __aicore__ inline void begin()
    {
        SetFlag<HardEvent::V_MTE2>(0);
        SetFlag<HardEvent::MTE3_V>(0);
        CrossCoreSetFlag<2, PIPE_MTE2>(scores_read);
        CrossCoreSetFlag<2, PIPE_MTE2>(products_read);
    }
    __aicore__ inline void end()
    {
        WaitFlag<HardEvent::V_MTE2>(0);
        WaitFlag<HardEvent::MTE3_V>(0);
        CrossCoreWaitFlag(weights_read);
    }
    __aicore__ inline void task(uint32_t rows_at, uint32_t tiles)
    {
        Duplicate(result, 0.0f, part);
        Duplicate(total, 0.0f, sub_rows);
        Duplicate(top, 1073741824.0f, 2 * sub_rows);
        for (uint32_t first = 0; first < tiles; first += batch) {
            const uint32_t count = tiles - first < batch ? tiles - first : batch;
            CrossCoreWaitFlag(weights_read);
            for (uint32_t i = 0; i < count; ++i) {
                softmax(i, count);
            }
            CrossCoreSetFlag<2, PIPE_MTE2>(scores_read);
            for (uint32_t i = 0; i < count; ++i) {
                accumulate(i);
            }
            CrossCoreSetFlag<2, PIPE_MTE2>(products_read);
        }
        spread(total);
        Div(result, result, rows, part);
        Cast(weights, result, RoundMode::CAST_RINT, part);
        PipeBarrier<PIPE_ALL>();
        DataCopy(go[(uint64_t(rows_at) + GetSubBlockIdx() * sub_rows) * side], weights, part);
        PipeBarrier<PIPE_ALL>();
    }

private:
    __aicore__ inline void load(const GlobalTensor<half>& from, uint32_t i, int32_t written)
    {
        WaitFlag<HardEvent::V_MTE2>(0);
        if (i % 2 == 0) {
            CrossCoreWaitFlag(written);
        }
        DataCopy(in, from[i * tile + GetSubBlockIdx() * part], part);
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
        Cast(x, in, RoundMode::CAST_NONE, part);
        SetFlag<HardEvent::V_MTE2>(0);
    }
    // rows[i][:] = of[i]
    __aicore__ inline void spread(const LocalTensor<float>& of) { library::spread_along_rows(rows, of, scratch, sub_rows, side); }
    __aicore__ inline void softmax(uint32_t i, uint32_t count)
    {
        const LocalTensor<float> now = top[i % 2 * sub_rows];
        const LocalTensor<float> before = top[(1 - i % 2) * sub_rows];
        load(gm.scores, i, scores_written);
        library::reduce_rows<true>(now, x, scratch, sub_rows, side);
        Muls(now, now, -scale, sub_rows);
        Min(now, now, before, sub_rows);
        spread(now);
        Axpy(rows, x, scale, part);
        Exp(x, rows, part);
        WaitFlag<HardEvent::MTE3_V>(0);
        Cast(weights, x, RoundMode::CAST_RINT, part);
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        DataCopy(gm.weights[i * tile + GetSubBlockIdx() * part], weights, part);
        SetFlag<HardEvent::MTE3_V>(0);
        if (told(i, count)) {
            CrossCoreSetFlag<2, PIPE_MTE3>(weights_written);
        }
        library::reduce_rows<false>(sums[i * sub_rows], x, scratch, sub_rows, side);
        Sub(factors[i * sub_rows], now, before, sub_rows);
    }
    __aicore__ inline void accumulate(uint32_t i)
    {
        const LocalTensor<float> factor = factors[i * sub_rows];
        Exp(factor, factor, sub_rows);
        Mul(total, total, factor, sub_rows);
        Add(total, total, sums[i * sub_rows], sub_rows);
        spread(factor);
        Mul(result, result, rows, part);
        load(gm.products, i, products_written);
        Add(result, result, x, part);
    }

    GlobalTensor<half> go;
    Workspace gm;
    LocalTensor<float> result{TPosition::VECCALC, 0, part};
    LocalTensor<float> factors{TPosition::VECCALC, 32768, batch * sub_rows};
    LocalTensor<float> sums{TPosition::VECCALC, 36352, batch * sub_rows};
    LocalTensor<float> total{TPosition::VECCALC, 39936, sub_rows};
    LocalTensor<float> top{TPosition::VECCALC, 40192, 2 * sub_rows};
    LocalTensor<half> in{TPosition::VECIN, 40704, part};
    LocalTensor<half> weights{TPosition::VECOUT, 57088, part};
    LocalTensor<float> x{TPosition::VECCALC, 73472, part};
    LocalTensor<float> rows{TPosition::VECCALC, 106240, part};
    LocalTensor<float> scratch{TPosition::VECCALC, 139008, sub_rows * 64};
};

}  // namespace attention_in_batches

// Each block has `tasks` times 128 rows of Q; all of them see the same keys.
extern "C" __global__ __aicore__ void attention_in_batches_128(
    GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR o, GM_ADDR workspace, int32_t key_count, int32_t tasks)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    using namespace attention_in_batches;
    InitSocState();
    const uint32_t tiles = key_count / side;
    if ASCEND_IS_AIC {
        Cube cube(q, k, v, workspace);
        cube.begin();
        for (int32_t i = 0; i < tasks; ++i) {
            cube.task((GetBlockIdx() * tasks + i) * side, tiles);
        }
        cube.end();
    }
    if ASCEND_IS_AIV {
        Vector vector(o, workspace);
        vector.begin();
        for (int32_t i = 0; i < tasks; ++i) {
            vector.task((GetBlockIdx() / 2 * tasks + i) * side, tiles);
        }
        vector.end();
    }
    PipeBarrier<PIPE_ALL>();
}
