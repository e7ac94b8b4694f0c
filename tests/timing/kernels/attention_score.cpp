// O = softmax(Q K^T / sqrt(128)) V on f16: 256 rows of Q a block, steps of 1024 keys, AIC and two AIVs.
//
// Structure after ops-transformer attention/flash_attention_score (flash_attention_score_s1s2_bn2gs1 for heads of 128 and no
// mask: 128 rows an AIV, eight tiles of 128 keys a step, softmax on 8 x 1024), which the operator the page calls is; its two
// AIVs share K and V in L1. The order of the stages and what is kept in GM follow its twin for both (..._sab.h), since the
// library that hands products from one kind of core to the other has no source for what it issues.
#include "attention_score_cube.h"
#include "attention_score_vector.h"

extern "C" __global__ __aicore__ void attention_score_128(GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR o, GM_ADDR workspace, int32_t key_count)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    InitSocState();
    const uint32_t steps = key_count / attention_score::keys;
    if ASCEND_IS_AIC {
        attention_score::Cube cube(q, k, v, workspace);
        cube.run(steps);
    }
    if ASCEND_IS_AIV {
        attention_score::Vector vector(o, workspace);
        vector.run(steps);
    }
    PipeBarrier<PIPE_ALL>();
}
