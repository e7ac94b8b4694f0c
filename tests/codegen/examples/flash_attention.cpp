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
    const AscendC::LocalTensor<half> q_l1 = l1.GetWithOffset<half>(8192, 0);  // 05_flash_attention.py:43
    const AscendC::LocalTensor<half> k_l1 = l1.GetWithOffset<half>(16384, 16384);  // 05_flash_attention.py:44
    const AscendC::LocalTensor<half> v_l1 = l1.GetWithOffset<half>(16384, 49152);  // 05_flash_attention.py:45
    const AscendC::LocalTensor<half> p_l1 = l1.GetWithOffset<half>(8192, 81920);  // 05_flash_attention.py:46
    const AscendC::LocalTensor<float> s_l0 = l0c.GetWithOffset<float>(8192, 0);  // 05_flash_attention.py:47
    const AscendC::LocalTensor<float> o_l0 = l0c.GetWithOffset<float>(8192, 32768);  // 05_flash_attention.py:48
    const AscendC::LocalTensor<half> gemm_a = l0a.GetWithOffset<half>(16384, 0);  // 05_flash_attention.py:68
    const AscendC::LocalTensor<half> gemm_b = l0b.GetWithOffset<half>(32768, 0);  // 05_flash_attention.py:68
    const AscendC::LocalTensor<half> gemm_a_1 = l0a.GetWithOffset<half>(16384, 0);  // 05_flash_attention.py:78
    const AscendC::LocalTensor<half> gemm_b_1 = l0b.GetWithOffset<half>(32768, 0);  // 05_flash_attention.py:78
    const int32_t first = cid % 8 * 64;  // 05_flash_attention.py:39
    const int32_t head = cid / 8 % 2;  // 05_flash_attention.py:40
    const int32_t batch = cid / 8 / 2;  // 05_flash_attention.py:41
    tile::copy_gm_l1(q_l1, Q[batch * 131072 + first * 128 + head * 65536], 64, 128, 128, 64);  // 05_flash_attention.py:64
    for (int32_t n = 0; n < 4; ++n) {  // 05_flash_attention.py:65
      tile::copy_gm_l1(k_l1, K[batch * 131072 + head * 65536 + n * 16384], 128, 128, 128, 128);  // 05_flash_attention.py:66
      AscendC::PipeBarrier<PIPE_ALL>();  // 05_flash_attention.py:67
      tile::copy_l1_l0a(gemm_a, q_l1, {64, 128, 0, 0}, 64, 128, false);  // 05_flash_attention.py:68
      tile::copy_l1_l0b(gemm_b, k_l1, {128, 128, 0, 0}, 128, 128, true);  // 05_flash_attention.py:68
      AscendC::SetFlag<AscendC::HardEvent::MTE1_M>(0);  // 05_flash_attention.py:68
      AscendC::WaitFlag<AscendC::HardEvent::MTE1_M>(0);  // 05_flash_attention.py:68
      tile::mma(s_l0, gemm_a, gemm_b, 64, 128, 128, true);  // 05_flash_attention.py:68
      AscendC::PipeBarrier<PIPE_ALL>();  // 05_flash_attention.py:69
      tile::copy_l0c_gm(scores[cid * 8192], s_l0, 64, 128, 128, 64, false);  // 05_flash_attention.py:70
      AscendC::PipeBarrier<PIPE_ALL>();  // 05_flash_attention.py:71
      AscendC::CrossCoreSetFlag<2, PIPE_FIX>(0);  // 05_flash_attention.py:72
      tile::copy_gm_l1(v_l1, V[batch * 131072 + head * 65536 + n * 16384], 128, 128, 128, 128);  // 05_flash_attention.py:74
      AscendC::CrossCoreWaitFlag(1);  // 05_flash_attention.py:75
      tile::copy_gm_l1(p_l1, probabilities[cid * 8192], 64, 128, 128, 64);  // 05_flash_attention.py:76
      AscendC::PipeBarrier<PIPE_ALL>();  // 05_flash_attention.py:77
      tile::copy_l1_l0a(gemm_a_1, p_l1, {64, 128, 0, 0}, 64, 128, false);  // 05_flash_attention.py:78
      tile::copy_l1_l0b(gemm_b_1, v_l1, {128, 128, 0, 0}, 128, 128, false);  // 05_flash_attention.py:78
      AscendC::SetFlag<AscendC::HardEvent::MTE1_M>(0);  // 05_flash_attention.py:78
      AscendC::WaitFlag<AscendC::HardEvent::MTE1_M>(0);  // 05_flash_attention.py:78
      tile::mma(o_l0, gemm_a_1, gemm_b_1, 64, 128, 128, true);  // 05_flash_attention.py:78
      AscendC::PipeBarrier<PIPE_ALL>();  // 05_flash_attention.py:79
      tile::copy_l0c_gm(partial[cid * 8192], o_l0, 64, 128, 128, 64, false);  // 05_flash_attention.py:80
      AscendC::PipeBarrier<PIPE_ALL>();  // 05_flash_attention.py:81
      AscendC::CrossCoreSetFlag<2, PIPE_FIX>(2);  // 05_flash_attention.py:82
    }
  }
  if ASCEND_IS_AIV {
    const int32_t cid = static_cast<int32_t>(AscendC::GetBlockIdx() / AscendC::GetSubBlockNum());
    const int32_t vid = static_cast<int32_t>(AscendC::GetSubBlockIdx());
    const AscendC::LocalTensor<float> s = ub.GetWithOffset<float>(4096, 0);  // 05_flash_attention.py:50
    const AscendC::LocalTensor<float> wide_s = ub.GetWithOffset<float>(4096, 16384);  // 05_flash_attention.py:51
    const AscendC::LocalTensor<half> p = ub.GetWithOffset<half>(4096, 32768);  // 05_flash_attention.py:52
    const AscendC::LocalTensor<float> o = ub.GetWithOffset<float>(4096, 40960);  // 05_flash_attention.py:53
    const AscendC::LocalTensor<float> part = ub.GetWithOffset<float>(4096, 57344);  // 05_flash_attention.py:54
    const AscendC::LocalTensor<float> wide_o = ub.GetWithOffset<float>(4096, 73728);  // 05_flash_attention.py:55
    const AscendC::LocalTensor<half> out = ub.GetWithOffset<half>(4096, 90112);  // 05_flash_attention.py:56
    const AscendC::LocalTensor<float> peak = ub.GetWithOffset<float>(32, 98304);  // 05_flash_attention.py:57
    const AscendC::LocalTensor<float> new_peak = ub.GetWithOffset<float>(32, 98432);  // 05_flash_attention.py:58
    const AscendC::LocalTensor<float> shrink = ub.GetWithOffset<float>(32, 98560);  // 05_flash_attention.py:59
    const AscendC::LocalTensor<float> total = ub.GetWithOffset<float>(32, 98688);  // 05_flash_attention.py:60
    const AscendC::LocalTensor<float> row_sum = ub.GetWithOffset<float>(32, 98816);  // 05_flash_attention.py:61
    const AscendC::LocalTensor<float> scratch = ub.GetWithOffset<float>(2048, 98944);  // 05_flash_attention.py:96
    const int32_t first = cid % 8 * 64;  // 05_flash_attention.py:39
    const int32_t head = cid / 8 % 2;  // 05_flash_attention.py:40
    const int32_t batch = cid / 8 / 2;  // 05_flash_attention.py:41
    const int32_t mine = vid * 32;  // 05_flash_attention.py:85
    AscendC::Duplicate(o, 0.0f, 4096);  // 05_flash_attention.py:86
    AscendC::Duplicate(total, 0.0f, 32);  // 05_flash_attention.py:87
    AscendC::Duplicate(peak, -3e+38f, 32);  // 05_flash_attention.py:88
    AscendC::PipeBarrier<PIPE_V>();  // 05_flash_attention.py:89
    for (int32_t i = 0; i < 4; ++i) {  // 05_flash_attention.py:90
      AscendC::CrossCoreWaitFlag(0);  // 05_flash_attention.py:91
      tile::copy_gm_ub(s, scores[cid * 8192 + mine * 128], 32, 128, 128, 128);  // 05_flash_attention.py:92
      AscendC::PipeBarrier<PIPE_ALL>();  // 05_flash_attention.py:93
      AscendC::Muls(s, s, 0.08838834764831843f, 4096);  // 05_flash_attention.py:94
      AscendC::PipeBarrier<PIPE_V>();  // 05_flash_attention.py:95
      tile::reduce_rows<tile::Max>(new_peak, s, scratch, 32, 128, 128);  // 05_flash_attention.py:96
      AscendC::PipeBarrier<PIPE_V>();  // 05_flash_attention.py:97
      AscendC::Max(new_peak, new_peak, peak, 32);  // 05_flash_attention.py:98
      AscendC::PipeBarrier<PIPE_V>();  // 05_flash_attention.py:99
      AscendC::Sub(shrink, peak, new_peak, 32);  // 05_flash_attention.py:100
      tile::broadcast_column(wide_s, new_peak, scratch, 32, 128, 128);  // 05_flash_attention.py:101
      AscendC::PipeBarrier<PIPE_V>();  // 05_flash_attention.py:102
      AscendC::Exp(shrink, shrink, 32);  // 05_flash_attention.py:103
      AscendC::Sub(s, s, wide_s, 4096);  // 05_flash_attention.py:104
      AscendC::PipeBarrier<PIPE_V>();  // 05_flash_attention.py:105
      AscendC::Exp(s, s, 4096);  // 05_flash_attention.py:106
      AscendC::PipeBarrier<PIPE_V>();  // 05_flash_attention.py:107
      AscendC::Cast(p, s, AscendC::RoundMode::CAST_RINT, 4096);  // 05_flash_attention.py:108
      AscendC::PipeBarrier<PIPE_ALL>();  // 05_flash_attention.py:109
      tile::copy_ub_gm(probabilities[cid * 8192 + mine * 128], p, 32, 128, 128, 128);  // 05_flash_attention.py:110
      AscendC::PipeBarrier<PIPE_ALL>();  // 05_flash_attention.py:111
      AscendC::CrossCoreSetFlag<2, PIPE_MTE3>(1);  // 05_flash_attention.py:112
      tile::reduce_rows<tile::Sum>(row_sum, s, scratch, 32, 128, 128);  // 05_flash_attention.py:114
      AscendC::Mul(total, total, shrink, 32);  // 05_flash_attention.py:115
      AscendC::PipeBarrier<PIPE_V>();  // 05_flash_attention.py:116
      tile::broadcast_column(wide_o, shrink, scratch, 32, 128, 128);  // 05_flash_attention.py:116
      tile::copy_ub_ub(peak, new_peak, 32);  // 05_flash_attention.py:117
      AscendC::PipeBarrier<PIPE_V>();  // 05_flash_attention.py:118
      AscendC::Add(total, total, row_sum, 32);  // 05_flash_attention.py:119
      AscendC::Mul(o, o, wide_o, 4096);  // 05_flash_attention.py:120
      AscendC::CrossCoreWaitFlag(2);  // 05_flash_attention.py:121
      tile::copy_gm_ub(part, partial[cid * 8192 + mine * 128], 32, 128, 128, 128);  // 05_flash_attention.py:122
      AscendC::PipeBarrier<PIPE_ALL>();  // 05_flash_attention.py:123
      AscendC::Add(o, o, part, 4096);  // 05_flash_attention.py:124
      AscendC::PipeBarrier<PIPE_ALL>();  // 05_flash_attention.py:125
    }
    tile::broadcast_column(wide_o, total, scratch, 32, 128, 128);  // 05_flash_attention.py:126
    AscendC::PipeBarrier<PIPE_V>();  // 05_flash_attention.py:127
    AscendC::Div(o, o, wide_o, 4096);  // 05_flash_attention.py:128
    AscendC::PipeBarrier<PIPE_V>();  // 05_flash_attention.py:129
    AscendC::Cast(out, o, AscendC::RoundMode::CAST_RINT, 4096);  // 05_flash_attention.py:130
    AscendC::PipeBarrier<PIPE_ALL>();  // 05_flash_attention.py:131
    tile::copy_ub_gm(Output[batch * 131072 + first * 128 + head * 65536 + mine * 128], out, 32, 128, 128, 128);  // 05_flash_attention.py:132
  }
}

void attention_kernel_tiling() {}

extern "C" void call(uint8_t* Q_handle, uint8_t* K_handle, uint8_t* V_handle, uint8_t* Output_handle, uint8_t* scores_handle, uint8_t* probabilities_handle, uint8_t* partial_handle, aclrtStream stream) {
  const int64_t blocks = 16;
  TILE_LAUNCH(attention_kernel, static_cast<uint32_t>(blocks), stream, Q_handle, K_handle, V_handle, Output_handle, scores_handle, probabilities_handle, partial_handle, tile::cross_core_address());
}
