// Sparse latent attention of one query position: a block for 16 of its heads, tiles of 256 chosen positions, AIC and AIVs.
//
// Structure after tilelang-ascend examples/sparse_flash_attention/bench_sfa/sparse_flash_attn_pa_no_cv_pipeline.py: the AIVs
// gather a tile's keys 32 rows at a time into GM, scores, softmax, products and sums follow one after the other; L0 is
// doubled. Barriers stand where it has them.
#include "sparse_attention.h"

namespace sparse_attention {

constexpr uint32_t heads = 16;
constexpr uint32_t positions = 256;
constexpr uint32_t my_heads = heads / 2;
constexpr uint32_t my_positions = positions / 2;
constexpr uint32_t bunch = 32;
using Memory = Gm<heads, positions>;

class Cube {
public:
    __aicore__ inline explicit Cube(const Arguments& given) : gm(given, GetBlockIdx()) {}
    __aicore__ inline void run()
    {
        serial_gemm::load(q1, gm.q, heads, dim, entry);
        serial_gemm::load(q_rope1, gm.q[dim], heads, rope, entry);
        for (uint32_t i = 0; i < chosen / positions; ++i) {
            CrossCoreWaitFlag(keys_gathered);
            serial_gemm::load(keys1, gm.keys, positions, dim, dim);
            serial_gemm::load(key_ropes1, gm.key_ropes, positions, rope, rope);
            pass<HardEvent::MTE2_MTE1>(1);
            multiply<64, positions>(scores0, entry, 0, [&](const LocalTensor<T>& a, const LocalTensor<T>& b, uint32_t at) {
                if (at < dim) {
                    serial_gemm::load_a(a, q1, at, heads, 64);
                    serial_gemm::load_b(b, keys1, at, positions, 64, dim, true);
                } else {
                    serial_gemm::load_a(a, q_rope1, 0, heads, 64);
                    serial_gemm::load_b(b, key_ropes1, 0, positions, 64, rope, true);
                }
            });
            pass<HardEvent::M_FIX>(2);
            serial_gemm::store(gm.scores, scores0, heads, positions, positions);
            CrossCoreSetFlag<2, PIPE_FIX>(scores_written);
            CrossCoreWaitFlag(weights_written);
            serial_gemm::load(weights1, gm.weights, heads, positions, positions);
            pass<HardEvent::MTE2_MTE1>(3);
            multiply<32, dim>(products0, positions, 2, [&](const LocalTensor<T>& a, const LocalTensor<T>& b, uint32_t at) {
                serial_gemm::load_a(a, weights1, at, heads, 32);
                serial_gemm::load_b(b, keys1, at, dim, 32, positions, false);
            });
            pass<HardEvent::M_FIX>(4);
            serial_gemm::store(gm.products, products0, heads, dim, dim);
            CrossCoreSetFlag<2, PIPE_FIX>(products_written);
        }
    }

private:
    // c = what `load` brings to L0, `k` of the depth at a time.
    template <uint32_t k, uint32_t n, class Load>
    __aicore__ inline void multiply(const LocalTensor<float>& c, uint32_t depth, int32_t flags, const Load& load)
    {
        const uint32_t steps = depth / k;
        for (uint32_t i = 0; i < steps; ++i) {
            const int32_t id = flags + i % 2;
            const LocalTensor<T> a2(TPosition::A2, i % 2 * heads * k * 2, heads * k);
            const LocalTensor<T> b2(TPosition::B2, i % 2 * n * k * 2, n * k);
            if (i > 1) {
                WaitFlag<HardEvent::M_MTE1>(id);
            }
            load(a2, b2, i * k);
            SetFlag<HardEvent::MTE1_M>(id);
            WaitFlag<HardEvent::MTE1_M>(id);
            PipeBarrier<PIPE_M>();
            MmadParams p;
            p.m = heads;
            p.n = n;
            p.k = k;
            p.cmatrixInitVal = i == 0;
            Mmad(c, a2, b2, p);
            if (i + 2 < steps) {
                SetFlag<HardEvent::M_MTE1>(id);
            }
        }
        // The source leaves this out: the next product overwrites what this one may still read.
        pass<HardEvent::M_MTE1>(4);
    }

    Memory gm;
    LocalTensor<T> q1{TPosition::A1, 0, heads * dim};
    LocalTensor<T> q_rope1{TPosition::A1, 16384, heads * rope};
    LocalTensor<T> weights1{TPosition::A1, 18432, heads * positions};
    LocalTensor<T> keys1{TPosition::B1, 26624, positions * dim};
    LocalTensor<T> key_ropes1{TPosition::B1, 288768, positions * rope};
    LocalTensor<float> scores0{TPosition::CO1, 0, heads * positions};
    LocalTensor<float> products0{TPosition::CO1, 16384, heads * dim};
};

class Vector {
public:
    __aicore__ inline explicit Vector(const Arguments& given) : gm(given, GetBlockIdx() / 2), length(given.length) {}
    __aicore__ inline void run()
    {
        constexpr uint32_t tiles = chosen / positions;
        constexpr uint32_t bunches = tiles * my_positions / bunch;
        Duplicate(sum, 0.0f, my_heads * dim);
        Duplicate(total, 0.0f, my_heads);
        Duplicate(top, 1073741824.0f, my_heads);
        for (uint32_t i = 0; i < tiles; ++i) {
            gather(i, bunches);
            CrossCoreSetFlag<2, PIPE_MTE3>(keys_gathered);
            softmax();
            accumulate();
        }
        library::spread_along_rows(spread, total, scratch, my_heads, dim);
        PipeBarrier<PIPE_V>();
        Div(sum, sum, spread, my_heads * dim);
        PipeBarrier<PIPE_V>();
        Cast(result, sum, RoundMode::CAST_RINT, my_heads * dim);
        pass<HardEvent::V_MTE3>(1);
        DataCopy(gm.o[GetSubBlockIdx() * my_heads * dim], result, my_heads * dim);
    }

private:
    __aicore__ inline void gather(uint32_t tile, uint32_t bunches)
    {
        const uint32_t mine = GetSubBlockIdx() * my_positions;
        pass<HardEvent::S_MTE2>(2);
        DataCopy(indices, gm.indices[tile * positions], positions);
        pass<HardEvent::MTE2_V>(2);
        pass<HardEvent::MTE2_S>(2);
        Cast(indices_float, indices, RoundMode::CAST_NONE, positions);
        PipeBarrier<PIPE_V>();
        CompareScalar(mask, indices_float, float(length - 1), CMPMODE::LE, positions);
        for (uint32_t i = 0; i < my_positions; ++i) {
            const uint32_t turn = (tile * my_positions + i) / bunch;
            const int32_t id = turn % 2;
            if (turn > 1 && i % bunch == 0) {
                WaitFlag<HardEvent::MTE3_MTE2>(id);
            }
            const uint64_t place = gm.place(indices.GetValue(mine + i));
            DataCopy(keys[(id * bunch + i % bunch) * dim], gm.kv[place], dim);
            DataCopy(key_ropes[(id * bunch + i % bunch) * rope], gm.kv[place + dim], rope);
            if ((i + 1) % bunch == 0) {
                const uint32_t first = mine + i + 1 - bunch;
                pass<HardEvent::MTE2_MTE3>(id);
                DataCopy(gm.keys[first * dim], keys[id * bunch * dim], bunch * dim);
                DataCopy(gm.key_ropes[first * rope], key_ropes[id * bunch * rope], bunch * rope);
                if (turn + 2 < bunches) {
                    SetFlag<HardEvent::MTE3_MTE2>(id);
                }
            }
        }
    }
    __aicore__ inline void softmax()
    {
        constexpr uint32_t count = my_heads * positions;
        Adds(before, top, 0.0f, my_heads);
        CrossCoreWaitFlag(scores_written);
        DataCopy(scores, gm.scores[GetSubBlockIdx() * count], count);
        pass<HardEvent::MTE2_V>(3);
        for (uint32_t i = 0; i < my_heads; ++i) {
            Select(scores[i * positions], mask, scores[i * positions], -__builtin_inff(), SELMODE::VSEL_TENSOR_SCALAR_MODE, positions);
        }
        PipeBarrier<PIPE_V>();
        library::reduce_rows<true>(top, scores, scratch, my_heads, positions);
        PipeBarrier<PIPE_V>();
        Muls(top, top, -scale, my_heads);
        PipeBarrier<PIPE_V>();
        Min(top, top, before, my_heads);
        PipeBarrier<PIPE_V>();
        library::spread_along_rows(spread, top, scratch, my_heads, positions);
        PipeBarrier<PIPE_V>();
        Axpy(spread, scores, scale, count);
        PipeBarrier<PIPE_V>();
        Exp(scores, spread, count);
        PipeBarrier<PIPE_V>();
        Cast(weights, scores, RoundMode::CAST_RINT, count);
        PipeBarrier<PIPE_V>();
        pass<HardEvent::V_MTE3>(2);
        DataCopy(gm.weights[GetSubBlockIdx() * count], weights, count);
        CrossCoreSetFlag<2, PIPE_MTE3>(weights_written);
        library::reduce_rows<false>(row_sums, scores, scratch, my_heads, positions);
        PipeBarrier<PIPE_V>();
        Sub(before, top, before, my_heads);
        PipeBarrier<PIPE_V>();
        Exp(before, before, my_heads);
        PipeBarrier<PIPE_V>();
    }
    __aicore__ inline void accumulate()
    {
        constexpr uint32_t count = my_heads * dim;
        CrossCoreWaitFlag(products_written);
        DataCopy(products, gm.products[GetSubBlockIdx() * count], count);
        Mul(total, total, before, my_heads);
        PipeBarrier<PIPE_V>();
        Add(total, total, row_sums, my_heads);
        PipeBarrier<PIPE_V>();
        library::spread_along_rows(spread, before, scratch, my_heads, dim);
        PipeBarrier<PIPE_V>();
        Mul(sum, sum, spread, count);
        PipeBarrier<PIPE_V>();
        pass<HardEvent::MTE2_V>(4);
        Add(sum, sum, products, count);
        PipeBarrier<PIPE_V>();
    }

    Memory gm;
    int32_t length;
    LocalTensor<int32_t> indices{TPosition::VECIN, 0, positions};
    LocalTensor<float> indices_float{TPosition::VECCALC, 1024, positions};
    LocalTensor<uint8_t> mask{TPosition::VECCALC, 2048, 32};
    LocalTensor<float> top{TPosition::VECCALC, 2080, my_heads};
    LocalTensor<float> before{TPosition::VECCALC, 2112, my_heads};
    LocalTensor<float> row_sums{TPosition::VECCALC, 2144, my_heads};
    LocalTensor<float> total{TPosition::VECCALC, 2176, my_heads};
    LocalTensor<T> keys{TPosition::VECIN, 4096, 2 * bunch * dim};
    LocalTensor<T> key_ropes{TPosition::VECIN, 69632, 2 * bunch * rope};
    LocalTensor<float> scores{TPosition::VECIN, 77824, my_heads * positions};
    LocalTensor<float> spread{TPosition::VECCALC, 86016, my_heads * dim};
    LocalTensor<T> weights{TPosition::VECOUT, 102400, my_heads * positions};
    LocalTensor<float> products{TPosition::VECIN, 106496, my_heads * dim};
    LocalTensor<float> sum{TPosition::VECCALC, 122880, my_heads * dim};
    LocalTensor<T> result{TPosition::VECOUT, 139264, my_heads * dim};
    LocalTensor<float> scratch{TPosition::VECCALC, 147456, my_heads * 64};
};

}  // namespace sparse_attention

extern "C" __global__ __aicore__ void sparse_attention_gathered(
    GM_ADDR q, GM_ADDR kv, GM_ADDR indices, GM_ADDR o, GM_ADDR pages, GM_ADDR workspace, int32_t length, int32_t used)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    sparse_attention::run<sparse_attention::Cube, sparse_attention::Vector>({q, kv, indices, o, pages, workspace, length}, used);
}
