// Three steps of gated linear attention, a block for each chunk of 128 positions: AIC for the products, two AIVs.
//
// Structure after tilelang-ascend examples/linear_attention_and_rnn/opt_gdn: opt_gdn_chunk_scaled_dot_kkt, opt_gdn_wy_fast
// and opt_gdn_chunk_o, with what their calls come down to (library_calls.h, serial_gemm.h). As there, instructions of the
// vector pipe are not separated by barriers but those inside of the calls.
#include "library_calls.h"
#include "serial_gemm.h"

namespace chunk {

constexpr uint32_t size = 128;  // of a chunk, and of heads
constexpr uint32_t square = size * size;
constexpr uint32_t rows = 64;  // of an AIV
constexpr uint32_t part = rows * size;

template <class T>
__aicore__ inline GlobalTensor<T> global(GM_ADDR from, uint64_t offset)
{
    GlobalTensor<T> g;
    g.SetGlobalBuffer((__gm__ T*)from + offset);
    return g;
}
template <HardEvent event>
__aicore__ inline void pass()
{
    SetFlag<event>(0);
    WaitFlag<event>(0);
}
__aicore__ inline LocalTensor<float> wide(uint32_t at, uint32_t count) { return LocalTensor<float>(TPosition::VECCALC, at, count); }
__aicore__ inline LocalTensor<half> narrow(uint32_t at, uint32_t count) { return LocalTensor<half>(TPosition::VECCALC, at, count); }
__aicore__ inline LocalTensor<half> l1(uint32_t index) { return LocalTensor<half>(TPosition::A1, index * square * 2, square); }
__aicore__ inline LocalTensor<float> l0c(uint32_t index) { return LocalTensor<float>(TPosition::CO1, index * square * 4, square); }

}  // namespace chunk

// a = strictly lower part of beta[i] exp(g[i] - g[j]) (K K^T)[i][j].
extern "C" __global__ __aicore__ void chunk_products_of_keys(GM_ADDR k, GM_ADDR beta, GM_ADDR g, GM_ADDR mask, GM_ADDR workspace, GM_ADDR a)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    using namespace chunk;
    InitSocState();
    if ASCEND_IS_AIC {
        const uint64_t at = uint64_t(GetBlockIdx()) * square;
        serial_gemm::load(l1(0), global<half>(k, at), size, size, size);
        serial_gemm::multiply(l0c(0), l1(0), l1(0), size, size, size, true);
        serial_gemm::store(global<half>(workspace, at), l0c(0), size, size, size);
        CrossCoreSetFlag<2, PIPE_FIX>(0);
    }
    if ASCEND_IS_AIV {
        const uint64_t block = GetBlockIdx() / 2;
        const uint32_t mine = GetSubBlockIdx() * rows;
        const uint64_t at = block * square + mine * size;
        const LocalTensor<float> x = wide(0, part);
        const LocalTensor<float> masks = wide(32768, part);
        const LocalTensor<float> factor = wide(65536, part);
        const LocalTensor<float> along = wide(98304, part);
        const LocalTensor<float> down = wide(131072, part);
        const LocalTensor<half> x_half = narrow(163840, part);
        const LocalTensor<float> g_all = wide(180224, size);
        const LocalTensor<float> g_copy = wide(180736, size);
        const LocalTensor<float> g_mine = wide(181248, rows);
        const LocalTensor<float> g_column = wide(181504, rows);
        const LocalTensor<float> beta_wide = wide(181760, rows);
        const LocalTensor<half> beta_half = narrow(182016, rows);
        const LocalTensor<float> scratch = wide(182144, rows * 8);
        DataCopy(g_all, global<float>(g, block * size), size);
        DataCopy(beta_half, global<half>(beta, block * size + mine), rows);
        pass<HardEvent::MTE2_V>();
        Cast(beta_wide, beta_half, RoundMode::CAST_NONE, rows);
        Adds(g_mine, g_all[mine], 0.0f, rows);
        Duplicate(x, 0.0f, part);
        Ln(beta_wide, beta_wide, rows);
        PipeBarrier<PIPE_V>();
        Add(g_mine, g_mine, beta_wide, rows);
        PipeBarrier<PIPE_V>();
        Adds(g_column, g_mine, 0.0f, rows);
        Adds(g_copy, g_all, 0.0f, size);
        pass<HardEvent::V_MTE2>();
        DataCopy(masks, global<float>(mask, mine * size), part);
        library::spread_along_rows(along, g_column, scratch, rows, size);
        library::repeat_row(down, g_copy, rows, size);
        Sub(factor, along, down, part);
        Exp(factor, factor, part);
        pass<HardEvent::V_MTE2>();
        CrossCoreWaitFlag(0);
        DataCopy(x_half, global<half>(workspace, at), part);
        pass<HardEvent::MTE2_V>();
        Cast(x, x_half, RoundMode::CAST_NONE, part);
        Mul(x, x, factor, part);
        Mul(x, x, masks, part);
        Cast(x_half, x, RoundMode::CAST_RINT, part);
        pass<HardEvent::V_MTE3>();
        DataCopy(global<half>(a, at), x_half, part);
    }
    PipeBarrier<PIPE_ALL>();
}

// u = (a * beta[column]) V, w = (a * exp(g) beta[column]) K.
extern "C" __global__ __aicore__ void chunk_transform(
    GM_ADDR k, GM_ADDR v, GM_ADDR beta, GM_ADDR g, GM_ADDR a, GM_ADDR workspace1, GM_ADDR workspace2, GM_ADDR w, GM_ADDR u)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    using namespace chunk;
    InitSocState();
    if ASCEND_IS_AIC {
        const uint64_t at = uint64_t(GetBlockIdx()) * square;
        serial_gemm::load(l1(0), global<half>(k, at), size, size, size);
        serial_gemm::load(l1(1), global<half>(v, at), size, size, size);
        CrossCoreWaitFlag(2);
        serial_gemm::load(l1(2), global<half>(workspace2, at), size, size, size);
        serial_gemm::multiply(l0c(0), l1(2), l1(1), size, size, size, false);
        serial_gemm::store(global<half>(u, at), l0c(0), size, size, size);
        CrossCoreWaitFlag(1);
        serial_gemm::load(l1(3), global<half>(workspace1, at), size, size, size);
        serial_gemm::multiply(l0c(1), l1(3), l1(0), size, size, size, false);
        serial_gemm::store(global<half>(w, at), l0c(1), size, size, size);
    }
    if ASCEND_IS_AIV {
        const uint64_t block = GetBlockIdx() / 2;
        const uint64_t at = block * square + GetSubBlockIdx() * part;
        const LocalTensor<float> a1 = wide(0, part);
        const LocalTensor<float> a2 = wide(32768, part);
        const LocalTensor<float> beta_rows = wide(65536, part);
        const LocalTensor<float> g_rows = wide(98304, part);
        const LocalTensor<half> a1_half = narrow(131072, part);
        const LocalTensor<half> a2_half = narrow(147456, part);
        const LocalTensor<float> beta_wide = wide(163840, size);
        const LocalTensor<float> beta_row = wide(164352, size);
        const LocalTensor<float> g_wide = wide(164864, size);
        const LocalTensor<float> g_row = wide(165376, size);
        const LocalTensor<half> beta_half = narrow(165888, size);
        DataCopy(beta_half, global<half>(beta, block * size), size);
        pass<HardEvent::MTE2_V>();
        DataCopy(a1_half, global<half>(a, at), part);
        Cast(beta_wide, beta_half, RoundMode::CAST_NONE, size);
        PipeBarrier<PIPE_V>();
        Adds(beta_row, beta_wide, 0.0f, size);
        PipeBarrier<PIPE_V>();
        library::repeat_row(beta_rows, beta_row, rows, size);
        pass<HardEvent::MTE2_V>();
        Cast(a1, a1_half, RoundMode::CAST_NONE, part);
        Mul(a2, a1, beta_rows, part);
        Cast(a2_half, a2, RoundMode::CAST_RINT, part);
        pass<HardEvent::V_MTE3>();
        DataCopy(global<half>(workspace2, at), a2_half, part);
        CrossCoreSetFlag<2, PIPE_MTE3>(2);
        DataCopy(g_wide, global<float>(g, block * size), size);
        pass<HardEvent::MTE2_V>();
        Exp(g_wide, g_wide, size);
        PipeBarrier<PIPE_V>();
        Mul(g_wide, g_wide, beta_wide, size);
        PipeBarrier<PIPE_V>();
        Adds(g_row, g_wide, 0.0f, size);
        PipeBarrier<PIPE_V>();
        library::repeat_row(g_rows, g_row, rows, size);
        Mul(a1, a1, g_rows, part);
        Cast(a1_half, a1, RoundMode::CAST_RINT, part);
        pass<HardEvent::V_MTE3>();
        DataCopy(global<half>(workspace1, at), a1_half, part);
        CrossCoreSetFlag<2, PIPE_MTE3>(1);
    }
    PipeBarrier<PIPE_ALL>();
}

// o = exp(g[i]) Q S + (exp(g[i] - g[j]) Q K^T, lower part) V.
extern "C" __global__ __aicore__ void chunk_output(GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR s, GM_ADDR g, GM_ADDR mask, GM_ADDR workspace1,
    GM_ADDR workspace2, GM_ADDR workspace3, GM_ADDR o)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    using namespace chunk;
    InitSocState();
    if ASCEND_IS_AIC {
        const uint64_t at = uint64_t(GetBlockIdx()) * square;
        serial_gemm::load(l1(0), global<half>(q, at), size, size, size);
        serial_gemm::load(l1(1), global<half>(k, at), size, size, size);
        serial_gemm::multiply(l0c(0), l1(0), l1(1), size, size, size, true);
        serial_gemm::load(l1(0), global<half>(q, at), size, size, size);
        serial_gemm::load(l1(2), global<half>(s, at), size, size, size);
        serial_gemm::multiply(l0c(1), l1(0), l1(2), size, size, size, false);
        serial_gemm::store(global<half>(workspace1, at), l0c(0), size, size, size);
        serial_gemm::store(global<half>(workspace2, at), l0c(1), size, size, size);
        CrossCoreSetFlag<2, PIPE_FIX>(0);
        CrossCoreWaitFlag(1);
        serial_gemm::load(l1(3), global<half>(workspace3, at), size, size, size);
        serial_gemm::load(l1(4), global<half>(v, at), size, size, size);
        serial_gemm::multiply(l0c(0), l1(3), l1(4), size, size, size, false);
        serial_gemm::store(global<half>(workspace2, at), l0c(0), size, size, size);
        CrossCoreSetFlag<2, PIPE_FIX>(2);
    }
    if ASCEND_IS_AIV {
        const uint64_t block = GetBlockIdx() / 2;
        const uint32_t mine = GetSubBlockIdx() * rows;
        const uint64_t at = block * square + mine * size;
        const LocalTensor<float> scores = wide(0, part);
        const LocalTensor<float> masks = wide(32768, part);
        const LocalTensor<float> factor = wide(65536, part);
        const LocalTensor<float> of_state = wide(98304, part);
        const LocalTensor<half> scores_half = narrow(131072, part);
        const LocalTensor<half> state_half = narrow(147456, part);
        const LocalTensor<half> o_half = narrow(163840, part);
        const LocalTensor<float> g_all = wide(180224, size);
        const LocalTensor<float> g_mine = wide(180736, rows);
        DataCopy(g_all, global<float>(g, block * size), size);
        DataCopy(masks, global<float>(mask, mine * size), part);
        pass<HardEvent::MTE2_V>();
        Duplicate(scores, 0.0f, part);
        Adds(g_mine, g_all[mine], 0.0f, rows);
        for (uint32_t i = 0; i < rows; ++i) {
            Adds(factor[i * size], g_all, -g_mine.GetValue(i), size);
        }
        Sub(factor, scores, factor, part);
        Mul(factor, factor, masks, part);
        Exp(factor, factor, part);
        Exp(g_mine, g_mine, rows);
        CrossCoreWaitFlag(0);
        DataCopy(scores_half, global<half>(workspace1, at), part);
        pass<HardEvent::MTE2_V>();
        Cast(scores, scores_half, RoundMode::CAST_NONE, part);
        pass<HardEvent::V_MTE2>();
        DataCopy(state_half, global<half>(workspace2, at), part);
        Mul(scores, scores, factor, part);
        Mul(scores, scores, masks, part);
        Cast(scores_half, scores, RoundMode::CAST_RINT, part);
        pass<HardEvent::V_MTE3>();
        DataCopy(global<half>(workspace3, at), scores_half, part);
        // The AIC writes workspace2 anew after this flag: the load of it goes first.
        pass<HardEvent::MTE2_MTE3>();
        CrossCoreSetFlag<2, PIPE_MTE3>(1);
        pass<HardEvent::MTE2_V>();
        Cast(of_state, state_half, RoundMode::CAST_NONE, part);
        for (uint32_t i = 0; i < rows; ++i) {
            Muls(of_state[i * size], of_state[i * size], g_mine.GetValue(i), size);
        }
        CrossCoreWaitFlag(2);
        DataCopy(o_half, global<half>(workspace2, at), part);
        pass<HardEvent::MTE2_V>();
        Cast(scores, o_half, RoundMode::CAST_NONE, part);
        Add(scores, of_state, scores, part);
        Cast(o_half, scores, RoundMode::CAST_RINT, part);
        pass<HardEvent::V_MTE3>();
        DataCopy(global<half>(o, at), o_half, part);
    }
    PipeBarrier<PIPE_ALL>();
}
