// Kernel `attention`, made by tile-ascend from the IR. Comments name the line of the script.
#include "kernel_operator.h"
#include "tile_device.h"

extern "C" __global__ __aicore__ void attention_kernel(GM_ADDR Q_handle, GM_ADDR K_handle, GM_ADDR V_handle, GM_ADDR Output_handle, GM_ADDR scores_handle, GM_ADDR probabilities_handle, GM_ADDR partial_handle, uint64_t fftsAddr) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  AscendC::SetSyncBaseAddr(fftsAddr);
  AscendC::TPipe pipe;
  AscendC::TBuf<AscendC::TPosition::A2> l0a;
  pipe.InitBuffer(l0a, 65536);
  AscendC::TBuf<AscendC::TPosition::B2> l0b;
  pipe.InitBuffer(l0b, 65536);
  AscendC::TBuf<AscendC::TPosition::A1> l1;
  pipe.InitBuffer(l1, 524288);
  AscendC::TBuf<AscendC::TPosition::CO1> l0c;
  pipe.InitBuffer(l0c, 131072);
  AscendC::TBuf<AscendC::TPosition::VECCALC> ub;
  pipe.InitBuffer(ub, 196608);
  pipe.Destroy();
  AscendC::GlobalTensor<half> Q;
  Q.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(Q_handle));
  AscendC::GlobalTensor<half> K;
  K.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(K_handle));
  AscendC::GlobalTensor<half> V;
  V.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(V_handle));
  AscendC::GlobalTensor<half> Output;
  Output.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(Output_handle));
  AscendC::GlobalTensor<float> scores;
  scores.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(scores_handle));
  AscendC::GlobalTensor<half> probabilities;
  probabilities.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(probabilities_handle));
  AscendC::GlobalTensor<float> partial;
  partial.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(partial_handle));
  if ASCEND_IS_AIC {
    const int32_t cid = static_cast<int32_t>(AscendC::GetBlockIdx());
    const AscendC::LocalTensor<half> q_l1 = l1.GetWithOffset<half>(8192, 0);  // 05_flash_attention.py:60
    const AscendC::LocalTensor<half> k_l1 = l1.GetWithOffset<half>(32768, 16384);  // 05_flash_attention.py:61
    const AscendC::LocalTensor<half> v_l1 = l1.GetWithOffset<half>(32768, 81920);  // 05_flash_attention.py:62
    const AscendC::LocalTensor<half> p_l1 = l1.GetWithOffset<half>(16384, 147456);  // 05_flash_attention.py:63
    const AscendC::LocalTensor<float> s_l0 = l0c.GetWithOffset<float>(8192, 0);  // 05_flash_attention.py:64
    const AscendC::LocalTensor<float> o_l0 = l0c.GetWithOffset<float>(8192, 32768);  // 05_flash_attention.py:65
    const AscendC::LocalTensor<half> gemm_a = l0a.GetWithOffset<half>(16384, 0);  // 05_flash_attention.py:96
    const AscendC::LocalTensor<half> gemm_b = l0b.GetWithOffset<half>(32768, 0);  // 05_flash_attention.py:96
    const AscendC::LocalTensor<half> gemm_a_1 = l0a.GetWithOffset<half>(16384, 0);  // 05_flash_attention.py:117
    const AscendC::LocalTensor<half> gemm_b_1 = l0b.GetWithOffset<half>(32768, 0);  // 05_flash_attention.py:117
    const int32_t first = cid % 8 * 64;  // 05_flash_attention.py:56
    const int32_t head = cid / 8 % 2;  // 05_flash_attention.py:57
    const int32_t batch = cid / 8 / 2;  // 05_flash_attention.py:58
    for (int32_t i = 0; i < 2; ++i) {  // 05_flash_attention.py:78
      AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(i);  // 05_flash_attention.py:79
      AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(i + 2);  // 05_flash_attention.py:80
    }
    AscendC::SetFlag<AscendC::HardEvent::M_MTE1>(0);  // 05_flash_attention.py:81
    AscendC::SetFlag<AscendC::HardEvent::FIX_M>(0);  // 05_flash_attention.py:82
    AscendC::SetFlag<AscendC::HardEvent::FIX_M>(1);  // 05_flash_attention.py:83
    tile::copy_gm_l1(q_l1, Q[batch * 131072 + first * 128 + head * 65536], 64, 128, 128, 64);  // 05_flash_attention.py:85
    for (int32_t n = 0; n < 6; ++n) {  // 05_flash_attention.py:86
      if (n < 4) {  // 05_flash_attention.py:87
        const int32_t slot = n % 2;  // 05_flash_attention.py:88
        const int32_t place = n % 3;  // 05_flash_attention.py:88
        AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(slot);  // 05_flash_attention.py:89
        TILE_INSIDE(K, 2, n * 128, 128, 512);  // 05_flash_attention.py:90
        tile::copy_gm_l1(k_l1[slot * 16384], K[batch * 131072 + head * 65536 + n * 16384], 128, 128, 128, 128);  // 05_flash_attention.py:90
        AscendC::SetFlag<AscendC::HardEvent::MTE2_MTE1>(slot);  // 05_flash_attention.py:91
        AscendC::WaitFlag<AscendC::HardEvent::MTE2_MTE1>(slot);  // 05_flash_attention.py:93
        AscendC::WaitFlag<AscendC::HardEvent::M_MTE1>(0);  // 05_flash_attention.py:94
        AscendC::WaitFlag<AscendC::HardEvent::FIX_M>(0);  // 05_flash_attention.py:95
        tile::copy_l1_l0a(gemm_a, q_l1, {64, 128, 0, 0}, 64, 128, false);  // 05_flash_attention.py:96
        tile::copy_l1_l0b(gemm_b, k_l1[slot * 16384], {128, 128, 0, 0}, 128, 128, true);  // 05_flash_attention.py:96
        AscendC::SetFlag<AscendC::HardEvent::MTE1_M>(0);  // 05_flash_attention.py:96
        AscendC::WaitFlag<AscendC::HardEvent::MTE1_M>(0);  // 05_flash_attention.py:96
        tile::mma(s_l0, gemm_a, gemm_b, 64, 128, 128, true);  // 05_flash_attention.py:96
        AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(slot);  // 05_flash_attention.py:97
        AscendC::SetFlag<AscendC::HardEvent::M_MTE1>(0);  // 05_flash_attention.py:98
        AscendC::SetFlag<AscendC::HardEvent::M_FIX>(0);  // 05_flash_attention.py:99
        AscendC::WaitFlag<AscendC::HardEvent::M_FIX>(0);  // 05_flash_attention.py:101
        tile::copy_l0c_gm(scores[cid * 24576 + place * 8192], s_l0, 64, 128, 128, 64, false);  // 05_flash_attention.py:102
        AscendC::SetFlag<AscendC::HardEvent::FIX_M>(0);  // 05_flash_attention.py:103
        AscendC::CrossCoreSetFlag<2, PIPE_FIX>(0);  // 05_flash_attention.py:104
      }
      if (n >= 2) {  // 05_flash_attention.py:105
        const int32_t side = n % 2;  // 05_flash_attention.py:106
        const int32_t place_1 = (n + 1) % 3;  // 05_flash_attention.py:106
        const int32_t keys = n * 128 - 256;  // 05_flash_attention.py:107
        AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(side + 2);  // 05_flash_attention.py:108
        TILE_INSIDE(V, 2, keys, 128, 512);  // 05_flash_attention.py:109
        tile::copy_gm_l1(v_l1[side * 16384], V[batch * 131072 + head * 65536 + keys * 128], 128, 128, 128, 128);  // 05_flash_attention.py:109
        AscendC::CrossCoreWaitFlag(1);  // 05_flash_attention.py:110
        tile::copy_gm_l1(p_l1[side * 8192], probabilities[cid * 24576 + place_1 * 8192], 64, 128, 128, 64);  // 05_flash_attention.py:111
        AscendC::SetFlag<AscendC::HardEvent::MTE2_MTE1>(side + 2);  // 05_flash_attention.py:112
        AscendC::WaitFlag<AscendC::HardEvent::MTE2_MTE1>(side + 2);  // 05_flash_attention.py:114
        AscendC::WaitFlag<AscendC::HardEvent::M_MTE1>(0);  // 05_flash_attention.py:115
        AscendC::WaitFlag<AscendC::HardEvent::FIX_M>(1);  // 05_flash_attention.py:116
        tile::copy_l1_l0a(gemm_a_1, p_l1[side * 8192], {64, 128, 0, 0}, 64, 128, false);  // 05_flash_attention.py:117
        tile::copy_l1_l0b(gemm_b_1, v_l1[side * 16384], {128, 128, 0, 0}, 128, 128, false);  // 05_flash_attention.py:117
        AscendC::SetFlag<AscendC::HardEvent::MTE1_M>(0);  // 05_flash_attention.py:117
        AscendC::WaitFlag<AscendC::HardEvent::MTE1_M>(0);  // 05_flash_attention.py:117
        tile::mma(o_l0, gemm_a_1, gemm_b_1, 64, 128, 128, true);  // 05_flash_attention.py:117
        AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(side + 2);  // 05_flash_attention.py:118
        AscendC::SetFlag<AscendC::HardEvent::M_MTE1>(0);  // 05_flash_attention.py:119
        AscendC::SetFlag<AscendC::HardEvent::M_FIX>(1);  // 05_flash_attention.py:120
        AscendC::WaitFlag<AscendC::HardEvent::M_FIX>(1);  // 05_flash_attention.py:122
        tile::copy_l0c_gm(partial[cid * 24576 + place_1 * 8192], o_l0, 64, 128, 128, 64, false);  // 05_flash_attention.py:123
        AscendC::SetFlag<AscendC::HardEvent::FIX_M>(1);  // 05_flash_attention.py:124
        AscendC::CrossCoreSetFlag<2, PIPE_FIX>(2);  // 05_flash_attention.py:125
      }
    }
    for (int32_t i_1 = 0; i_1 < 2; ++i_1) {  // 05_flash_attention.py:127
      AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(i_1);  // 05_flash_attention.py:128
      AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(i_1 + 2);  // 05_flash_attention.py:129
    }
    AscendC::WaitFlag<AscendC::HardEvent::M_MTE1>(0);  // 05_flash_attention.py:130
    AscendC::WaitFlag<AscendC::HardEvent::FIX_M>(0);  // 05_flash_attention.py:131
    AscendC::WaitFlag<AscendC::HardEvent::FIX_M>(1);  // 05_flash_attention.py:132
  }
  if ASCEND_IS_AIV {
    const int32_t cid = static_cast<int32_t>(AscendC::GetBlockIdx() / AscendC::GetSubBlockNum());
    const int32_t vid = static_cast<int32_t>(AscendC::GetSubBlockIdx());
    const AscendC::LocalTensor<float> s = ub.GetWithOffset<float>(8192, 0);  // 05_flash_attention.py:67
    const AscendC::LocalTensor<half> p = ub.GetWithOffset<half>(8192, 32768);  // 05_flash_attention.py:68
    const AscendC::LocalTensor<float> o = ub.GetWithOffset<float>(4096, 49152);  // 05_flash_attention.py:69
    const AscendC::LocalTensor<float> part = ub.GetWithOffset<float>(4096, 65536);  // 05_flash_attention.py:70
    const AscendC::LocalTensor<half> out = ub.GetWithOffset<half>(4096, 81920);  // 05_flash_attention.py:71
    const AscendC::LocalTensor<float> peak = ub.GetWithOffset<float>(64, 90112);  // 05_flash_attention.py:72
    const AscendC::LocalTensor<float> shrink = ub.GetWithOffset<float>(96, 90368);  // 05_flash_attention.py:73
    const AscendC::LocalTensor<float> total = ub.GetWithOffset<float>(32, 90752);  // 05_flash_attention.py:74
    const AscendC::LocalTensor<float> row_sum = ub.GetWithOffset<float>(32, 90880);  // 05_flash_attention.py:75
    const AscendC::LocalTensor<float> scratch = ub.GetWithOffset<float>(2048, 91008);  // 05_flash_attention.py:156
    const AscendC::LocalTensor<float> scratch_1 = ub.GetWithOffset<float>(4280, 91008);  // 05_flash_attention.py:161
    const int32_t first = cid % 8 * 64;  // 05_flash_attention.py:56
    const int32_t head = cid / 8 % 2;  // 05_flash_attention.py:57
    const int32_t batch = cid / 8 / 2;  // 05_flash_attention.py:58
    const int32_t mine = vid * 32;  // 05_flash_attention.py:135
    for (int32_t i_2 = 0; i_2 < 2; ++i_2) {  // 05_flash_attention.py:136
      AscendC::SetFlag<AscendC::HardEvent::V_MTE2>(i_2);  // 05_flash_attention.py:137
      AscendC::SetFlag<AscendC::HardEvent::MTE3_V>(i_2);  // 05_flash_attention.py:138
    }
    AscendC::SetFlag<AscendC::HardEvent::V_MTE2>(2);  // 05_flash_attention.py:139
    AscendC::Duplicate(o, 0.0f, 4096);  // 05_flash_attention.py:141
    AscendC::Duplicate(total, 0.0f, 32);  // 05_flash_attention.py:142
    AscendC::Duplicate(peak, -3e+38f, 64);  // 05_flash_attention.py:143
    for (int32_t n_1 = 0; n_1 < 6; ++n_1) {  // 05_flash_attention.py:144
      if (n_1 < 4) {  // 05_flash_attention.py:145
        const int32_t slot_1 = n_1 % 2;  // 05_flash_attention.py:146
        const int32_t place_2 = n_1 % 3;  // 05_flash_attention.py:146
        const int32_t before = (n_1 + 1) % 2;  // 05_flash_attention.py:147
        AscendC::CrossCoreWaitFlag(0);  // 05_flash_attention.py:148
        AscendC::WaitFlag<AscendC::HardEvent::V_MTE2>(slot_1);  // 05_flash_attention.py:149
        tile::copy_gm_ub(s[slot_1 * 4096], scores[cid * 24576 + mine * 128 + place_2 * 8192], 32, 128, 128, 128);  // 05_flash_attention.py:150
        AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(slot_1);  // 05_flash_attention.py:151
        AscendC::WaitFlag<AscendC::HardEvent::MTE2_V>(slot_1);  // 05_flash_attention.py:153
        AscendC::Muls(s[slot_1 * 4096], s[slot_1 * 4096], 0.08838834764831843f, 4096);  // 05_flash_attention.py:154
        AscendC::PipeBarrier<PIPE_V>();  // 05_flash_attention.py:155
        tile::reduce_rows<tile::Max>(peak[slot_1 * 32], s[slot_1 * 4096], scratch, 32, 128, 128);  // 05_flash_attention.py:156
        AscendC::PipeBarrier<PIPE_V>();  // 05_flash_attention.py:157
        AscendC::Max(peak[slot_1 * 32], peak[slot_1 * 32], peak[before * 32], 32);  // 05_flash_attention.py:158
        AscendC::PipeBarrier<PIPE_V>();  // 05_flash_attention.py:159
        AscendC::Sub(shrink[place_2 * 32], peak[before * 32], peak[slot_1 * 32], 32);  // 05_flash_attention.py:160
        tile::with_column_apart<tile::instruction::Sub>(s[slot_1 * 4096], s[slot_1 * 4096], peak[slot_1 * 32], scratch_1, 32, 128, 128, 128);  // 05_flash_attention.py:161
        AscendC::PipeBarrier<PIPE_V>();  // 05_flash_attention.py:162
        AscendC::Exp(shrink[place_2 * 32], shrink[place_2 * 32], 32);  // 05_flash_attention.py:163
        AscendC::Exp(s[slot_1 * 4096], s[slot_1 * 4096], 4096);  // 05_flash_attention.py:164
        AscendC::PipeBarrier<PIPE_V>();  // 05_flash_attention.py:165
        AscendC::WaitFlag<AscendC::HardEvent::MTE3_V>(slot_1);  // 05_flash_attention.py:166
        AscendC::Cast(p[slot_1 * 4096], s[slot_1 * 4096], AscendC::RoundMode::CAST_RINT, 4096);  // 05_flash_attention.py:167
        AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(slot_1);  // 05_flash_attention.py:168
        AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(slot_1);  // 05_flash_attention.py:170
        tile::copy_ub_gm(probabilities[cid * 24576 + mine * 128 + place_2 * 8192], p[slot_1 * 4096], 32, 128, 128, 128);  // 05_flash_attention.py:171
        AscendC::SetFlag<AscendC::HardEvent::MTE3_V>(slot_1);  // 05_flash_attention.py:172
        AscendC::CrossCoreSetFlag<2, PIPE_MTE3>(1);  // 05_flash_attention.py:173
        tile::reduce_rows<tile::Sum>(row_sum, s[slot_1 * 4096], scratch_1, 32, 128, 128);  // 05_flash_attention.py:175
        AscendC::SetFlag<AscendC::HardEvent::V_MTE2>(slot_1);  // 05_flash_attention.py:176
        AscendC::Mul(total, total, shrink[place_2 * 32], 32);  // 05_flash_attention.py:177
        AscendC::PipeBarrier<PIPE_V>();  // 05_flash_attention.py:178
        AscendC::Add(total, total, row_sum, 32);  // 05_flash_attention.py:179
      }
      if (n_1 >= 2) {  // 05_flash_attention.py:180
        const int32_t place_3 = (n_1 + 1) % 3;  // 05_flash_attention.py:181
        AscendC::CrossCoreWaitFlag(2);  // 05_flash_attention.py:182
        AscendC::WaitFlag<AscendC::HardEvent::V_MTE2>(2);  // 05_flash_attention.py:183
        tile::copy_gm_ub(part, partial[cid * 24576 + mine * 128 + place_3 * 8192], 32, 128, 128, 128);  // 05_flash_attention.py:184
        AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(2);  // 05_flash_attention.py:185
        tile::with_column_apart<tile::instruction::Mul>(o, o, shrink[place_3 * 32], scratch_1, 32, 128, 128, 128);  // 05_flash_attention.py:187
        AscendC::PipeBarrier<PIPE_V>();  // 05_flash_attention.py:188
        AscendC::WaitFlag<AscendC::HardEvent::MTE2_V>(2);  // 05_flash_attention.py:189
        AscendC::Add(o, o, part, 4096);  // 05_flash_attention.py:190
        AscendC::SetFlag<AscendC::HardEvent::V_MTE2>(2);  // 05_flash_attention.py:191
        AscendC::PipeBarrier<PIPE_V>();  // 05_flash_attention.py:192
      }
    }
    tile::with_column_apart<tile::instruction::Div>(o, o, total, scratch_1, 32, 128, 128, 128);  // 05_flash_attention.py:193
    AscendC::PipeBarrier<PIPE_V>();  // 05_flash_attention.py:194
    AscendC::Cast(out, o, AscendC::RoundMode::CAST_RINT, 4096);  // 05_flash_attention.py:195
    AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(2);  // 05_flash_attention.py:196
    AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(2);  // 05_flash_attention.py:197
    tile::copy_ub_gm(Output[batch * 131072 + first * 128 + head * 65536 + mine * 128], out, 32, 128, 128, 128);  // 05_flash_attention.py:198
    for (int32_t i_3 = 0; i_3 < 2; ++i_3) {  // 05_flash_attention.py:200
      AscendC::WaitFlag<AscendC::HardEvent::V_MTE2>(i_3);  // 05_flash_attention.py:201
      AscendC::WaitFlag<AscendC::HardEvent::MTE3_V>(i_3);  // 05_flash_attention.py:202
    }
    AscendC::WaitFlag<AscendC::HardEvent::V_MTE2>(2);  // 05_flash_attention.py:203
  }
}

void attention_kernel_tiling() {}

extern "C" void call(uint8_t* Q_handle, uint8_t* K_handle, uint8_t* V_handle, uint8_t* Output_handle, uint8_t* scores_handle, uint8_t* probabilities_handle, uint8_t* partial_handle, aclrtStream stream) {
  const int64_t blocks = 16;
  TILE_LAUNCH(attention_kernel, static_cast<uint32_t>(blocks), stream, Q_handle, K_handle, V_handle, Output_handle, scores_handle, probabilities_handle, partial_handle, tile::cross_core_address());
}
