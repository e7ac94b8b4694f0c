// Sparse latent attention of one query position: a block for 64 of its heads, tiles of 64 chosen positions, AIC and AIVs.
//
// Structure after tilelang-ascend examples/sparse_flash_attention/bench_sfa/sparse_flash_attn_pa_baseline.py: the AIVs copy
// the keys row by row through one buffer, rows of the softmax are scaled one by one with elements the scalar unit reads.
// Its compiler orders the pipes; the orders its text needs are taken, and no others.
#include "sparse_attention.h"

namespace sparse_by_rows {

using namespace sparse_attention;

constexpr uint32_t heads = 64;
constexpr uint32_t positions = 64;
constexpr uint32_t my_heads = heads / 2;
constexpr uint32_t my_positions = positions / 2;
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
            serial_gemm::multiply(scores0, q1, keys1, heads, positions, dim, true);
            serial_gemm::multiply(scores0, q_rope1, key_ropes1, heads, positions, rope, true, false);
            serial_gemm::store(gm.scores, scores0, heads, positions, positions);
            CrossCoreSetFlag<2, PIPE_FIX>(scores_written);
            CrossCoreWaitFlag(weights_written);
            serial_gemm::load(weights1, gm.weights, heads, positions, positions);
            serial_gemm::multiply(products0, weights1, keys1, heads, dim, positions, false);
            serial_gemm::store(gm.products, products0, heads, dim, dim);
            CrossCoreSetFlag<2, PIPE_FIX>(products_written);
        }
    }

private:
    Memory gm;
    LocalTensor<T> q1{TPosition::A1, 0, heads * dim};
    LocalTensor<T> q_rope1{TPosition::A1, 65536, heads * rope};
    LocalTensor<T> weights1{TPosition::A1, 73728, heads * positions};
    LocalTensor<T> keys1{TPosition::B1, 81920, positions * dim};
    LocalTensor<T> key_ropes1{TPosition::B1, 147456, positions * rope};
    LocalTensor<float> scores0{TPosition::CO1, 0, heads * positions};
    LocalTensor<float> products0{TPosition::CO1, 0, heads * dim};
};

class Vector {
public:
    __aicore__ inline explicit Vector(const Arguments& given) : gm(given, GetBlockIdx() / 2), length(given.length) {}
    __aicore__ inline void run()
    {
        Duplicate(sum, 0.0f, my_heads * dim);
        Duplicate(total, 0.0f, my_heads);
        Duplicate(top, -1073741824.0f, my_heads);
        PipeBarrier<PIPE_V>();
        for (uint32_t i = 0; i < chosen / positions; ++i) {
            gather(i);
            CrossCoreSetFlag<2, PIPE_MTE3>(keys_gathered);
            softmax();
            accumulate();
        }
        pass<HardEvent::V_S>(0);
        for (uint32_t i = 0; i < my_heads; ++i) {
            Muls(sum[i * dim], sum[i * dim], 1.0f / total.GetValue(i), dim);
        }
        PipeBarrier<PIPE_V>();
        Cast(result, sum, RoundMode::CAST_RINT, my_heads * dim);
        pass<HardEvent::V_MTE3>(0);
        DataCopy(gm.o[GetSubBlockIdx() * my_heads * dim], result, my_heads * dim);
    }

private:
    __aicore__ inline void gather(uint32_t tile)
    {
        const uint32_t mine = GetSubBlockIdx() * my_positions;
        pass<HardEvent::S_MTE2>(0);
        DataCopy(indices, gm.indices[tile * positions], positions);
        pass<HardEvent::MTE2_V>(0);
        pass<HardEvent::MTE2_S>(0);
        Cast(indices_float, indices, RoundMode::CAST_NONE, positions);
        PipeBarrier<PIPE_V>();
        CompareScalar(mask, indices_float, float(length - 1), CMPMODE::LE, positions);
        CompareScalar(mask2, indices_float, -1.0f, CMPMODE::NE, positions);
        PipeBarrier<PIPE_V>();
        And(mask.ReinterpretCast<uint16_t>(), mask.ReinterpretCast<uint16_t>(), mask2.ReinterpretCast<uint16_t>(), positions / 16);
        for (uint32_t i = 0; i < my_positions; ++i) {
            const int32_t position = indices.GetValue(mine + i);
            if (position > -1) {
                const uint64_t place = gm.place(position);
                DataCopy(key, gm.kv[place], dim);
                DataCopy(key_rope, gm.kv[place + dim], rope);
            } else {
                pass<HardEvent::MTE3_V>(0);
                Duplicate(key, T(0), dim);
                Duplicate(key_rope, T(0), rope);
                pass<HardEvent::V_MTE3>(0);
            }
            pass<HardEvent::MTE2_MTE3>(0);
            DataCopy(gm.keys[(mine + i) * dim], key, dim);
            DataCopy(gm.key_ropes[(mine + i) * rope], key_rope, rope);
            pass<HardEvent::MTE3_MTE2>(0);
        }
    }
    __aicore__ inline void softmax()
    {
        constexpr uint32_t count = my_heads * positions;
        Duplicate(scores, 0.0f, count);
        PipeBarrier<PIPE_V>();
        for (uint32_t i = 0; i < my_heads; ++i) {
            Select(masked[i * positions], mask, scores[i * positions], -__builtin_inff(), SELMODE::VSEL_TENSOR_SCALAR_MODE, positions);
        }
        Adds(before, top, 0.0f, my_heads);
        pass<HardEvent::V_MTE2>(0);
        CrossCoreWaitFlag(scores_written);
        DataCopy(scores, gm.scores[GetSubBlockIdx() * count], count);
        pass<HardEvent::MTE2_V>(0);
        Add(masked, masked, scores, count);
        PipeBarrier<PIPE_V>();
        Muls(masked, masked, scale, count);
        PipeBarrier<PIPE_V>();
        library::reduce_rows<true>(top, masked, scratch, my_heads, positions);
        PipeBarrier<PIPE_V>();
        Max(top, top, before, my_heads);
        PipeBarrier<PIPE_V>();
        Sub(before, before, top, my_heads);
        PipeBarrier<PIPE_V>();
        Exp(before, before, my_heads);
        pass<HardEvent::V_S>(0);
        for (uint32_t i = 0; i < my_heads; ++i) {
            Adds(masked[i * positions], masked[i * positions], -top.GetValue(i), positions);
        }
        PipeBarrier<PIPE_V>();
        Exp(masked, masked, count);
        PipeBarrier<PIPE_V>();
        library::reduce_rows<false>(row_sums, masked, scratch, my_heads, positions);
        Mul(total, total, before, my_heads);
        PipeBarrier<PIPE_V>();
        Add(total, total, row_sums, my_heads);
        for (uint32_t i = 0; i < my_heads; ++i) {
            Muls(sum[i * dim], sum[i * dim], before.GetValue(i), dim);
        }
        Cast(weights, masked, RoundMode::CAST_RINT, count);
        pass<HardEvent::V_MTE3>(0);
        DataCopy(gm.weights[GetSubBlockIdx() * count], weights, count);
        CrossCoreSetFlag<2, PIPE_MTE3>(weights_written);
    }
    __aicore__ inline void accumulate()
    {
        constexpr uint32_t count = my_heads * dim;
        pass<HardEvent::V_MTE2>(0);
        CrossCoreWaitFlag(products_written);
        DataCopy(products, gm.products[GetSubBlockIdx() * count], count);
        pass<HardEvent::MTE2_V>(0);
        Add(sum, sum, products, count);
        PipeBarrier<PIPE_V>();
        pass<HardEvent::MTE3_V>(0);
    }

    Memory gm;
    int32_t length;
    LocalTensor<int32_t> indices{TPosition::VECIN, 0, positions};
    LocalTensor<float> indices_float{TPosition::VECCALC, 256, positions};
    LocalTensor<uint8_t> mask{TPosition::VECCALC, 512, 32};
    LocalTensor<uint8_t> mask2{TPosition::VECCALC, 544, 32};
    LocalTensor<float> top{TPosition::VECCALC, 576, my_heads};
    LocalTensor<float> before{TPosition::VECCALC, 704, my_heads};
    LocalTensor<float> row_sums{TPosition::VECCALC, 832, my_heads};
    LocalTensor<float> total{TPosition::VECCALC, 960, my_heads};
    LocalTensor<T> key{TPosition::VECIN, 1088, dim};
    LocalTensor<T> key_rope{TPosition::VECIN, 2112, rope};
    LocalTensor<float> scores{TPosition::VECIN, 4096, my_heads * positions};
    LocalTensor<float> masked{TPosition::VECCALC, 12288, my_heads * positions};
    LocalTensor<T> weights{TPosition::VECOUT, 20480, my_heads * positions};
    LocalTensor<float> scratch{TPosition::VECCALC, 24576, my_heads * 64};
    LocalTensor<float> products{TPosition::VECIN, 32768, my_heads * dim};
    LocalTensor<float> sum{TPosition::VECCALC, 98304, my_heads * dim};
    LocalTensor<T> result{TPosition::VECOUT, 32768, my_heads * dim};
};

}  // namespace sparse_by_rows

extern "C" __global__ __aicore__ void sparse_attention_by_rows(
    GM_ADDR q, GM_ADDR kv, GM_ADDR indices, GM_ADDR o, GM_ADDR pages, GM_ADDR workspace, int32_t length, int32_t used)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    sparse_attention::run<sparse_by_rows::Cube, sparse_by_rows::Vector>({q, kv, indices, o, pages, workspace, length}, used);
}
