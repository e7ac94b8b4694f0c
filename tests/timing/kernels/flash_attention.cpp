// O = softmax(Q K^T / sqrt(128)) V for one head of 128: 128 rows of Q a block, tiles of 256 keys, AIC and two AIVs.
//
// Structure after PTO-ISA kernels/manual/common/flash_atten: the four stages QK (AIC), softmax (AIV), PV (AIC) and the
// rescaled sum (AIV) hand tiles over in GM FIFOs; QK and softmax run four tiles ahead. The softmax follows
// pto_macro_fa_softmax: row maximum, subtract, scale, exp, row sum, cast. Left out: causal mask.
#include "flash_attention_cube.h"
#include "flash_attention_vector.h"

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
