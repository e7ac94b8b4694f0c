// Kernel `softmax`, made by tile-ascend from the IR. Comments name the line of the script.
#include "kernel_operator.h"
#include "tile_device.h"

extern "C" __global__ __aicore__ void softmax_kernel(GM_ADDR X_handle, GM_ADDR Y_handle, uint64_t fftsAddr) {
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
  AscendC::GlobalTensor<bfloat16_t> X;
  X.SetGlobalBuffer(reinterpret_cast<__gm__ bfloat16_t*>(X_handle));
  AscendC::GlobalTensor<bfloat16_t> Y;
  Y.SetGlobalBuffer(reinterpret_cast<__gm__ bfloat16_t*>(Y_handle));
  if ASCEND_IS_AIV {
    const int32_t cid = static_cast<int32_t>(AscendC::GetBlockIdx() / AscendC::GetSubBlockNum());
    const int32_t vid = static_cast<int32_t>(AscendC::GetSubBlockIdx());
    const AscendC::LocalTensor<bfloat16_t> raw = ub.GetWithOffset<bfloat16_t>(2048, 0);  // 04_online_softmax.py:63
    const AscendC::LocalTensor<bfloat16_t> done = ub.GetWithOffset<bfloat16_t>(2048, 4096);  // 04_online_softmax.py:64
    const AscendC::LocalTensor<float> x = ub.GetWithOffset<float>(1024, 8192);  // 04_online_softmax.py:65
    const AscendC::LocalTensor<float> peak = ub.GetWithOffset<float>(16, 12288);  // 04_online_softmax.py:66
    const AscendC::LocalTensor<float> new_peak = ub.GetWithOffset<float>(16, 12352);  // 04_online_softmax.py:67
    const AscendC::LocalTensor<float> total = ub.GetWithOffset<float>(16, 12416);  // 04_online_softmax.py:68
    const AscendC::LocalTensor<float> part = ub.GetWithOffset<float>(16, 12480);  // 04_online_softmax.py:69
    const AscendC::LocalTensor<float> scratch = ub.GetWithOffset<float>(128, 12544);  // 04_online_softmax.py:90
    for (int32_t s = 0; s < 2; ++s) {  // 04_online_softmax.py:71
      AscendC::SetFlag<AscendC::HardEvent::V_MTE2>(s);  // 04_online_softmax.py:72
      AscendC::SetFlag<AscendC::HardEvent::MTE3_V>(s);  // 04_online_softmax.py:73
    }
    const int32_t lane = cid * 2 + vid;  // 04_online_softmax.py:75
    for (int32_t i = 0; i < tile::floor_div(2 - lane, 48) + 1; ++i) {  // 04_online_softmax.py:76
      const int32_t row = i * 768 + lane * 16;  // 04_online_softmax.py:77
      AscendC::Duplicate(peak, -3e+38f, 16);  // 04_online_softmax.py:79
      AscendC::Duplicate(total, 0.0f, 16);  // 04_online_softmax.py:80
      for (int32_t step = 0; step < 6; ++step) {  // 04_online_softmax.py:81
        const int32_t slot = (i * 11 + step) % 2;  // 04_online_softmax.py:82
        AscendC::WaitFlag<AscendC::HardEvent::V_MTE2>(slot);  // 04_online_softmax.py:30
        if (!(tile::minimum(tile::maximum(34 - row, 0), 16) == 16 && tile::minimum(322 - step * 64, 64) == 64)) {  // 04_online_softmax.py:31
          AscendC::Duplicate(raw[slot * 1024], static_cast<bfloat16_t>(tile::float_from_bits(0xFF800000u)), 1024);  // 04_online_softmax.py:31
          AscendC::SetFlag<AscendC::HardEvent::V_MTE2>(2);  // 04_online_softmax.py:31
          AscendC::WaitFlag<AscendC::HardEvent::V_MTE2>(2);  // 04_online_softmax.py:31
        }
        if (tile::minimum(tile::maximum(34 - row, 0), 16) > 0) {  // 04_online_softmax.py:31
          tile::copy_gm_ub(raw[slot * 1024], X[row * 322 + step * 64], tile::minimum(tile::maximum(34 - row, 0), 16), tile::minimum(322 - step * 64, 64), 322, 64, static_cast<bfloat16_t>(tile::float_from_bits(0xFF800000u)));  // 04_online_softmax.py:31
        }
        AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(slot);  // 04_online_softmax.py:32
        AscendC::WaitFlag<AscendC::HardEvent::MTE2_V>(slot);  // 04_online_softmax.py:33
        AscendC::Cast(x, raw[slot * 1024], AscendC::RoundMode::CAST_NONE, 1024);  // 04_online_softmax.py:87
        AscendC::SetFlag<AscendC::HardEvent::V_MTE2>(slot);  // 04_online_softmax.py:88
        AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:89
        tile::reduce_rows<tile::Max>(new_peak, x, scratch, 16, 64, 64);  // 04_online_softmax.py:90
        AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:91
        AscendC::Max(new_peak, new_peak, peak, 16);  // 04_online_softmax.py:92
        AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:93
        tile::with_column<tile::instruction::Sub>(x, x, new_peak, scratch, 16, 64, 64, 64);  // 04_online_softmax.py:37
        AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:38
        AscendC::Exp(x, x, 1024);  // 04_online_softmax.py:39
        AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:40
        tile::reduce_rows<tile::Sum>(part, x, scratch, 16, 64, 64);  // 04_online_softmax.py:97
        AscendC::Sub(peak, peak, new_peak, 16);  // 04_online_softmax.py:99
        AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:100
        AscendC::Exp(peak, peak, 16);  // 04_online_softmax.py:101
        AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:102
        AscendC::Mul(total, total, peak, 16);  // 04_online_softmax.py:103
        AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:104
        AscendC::Add(total, total, part, 16);  // 04_online_softmax.py:105
        tile::copy_ub_ub(peak, new_peak, 16);  // 04_online_softmax.py:106
        AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:107
      }
      AscendC::WaitFlag<AscendC::HardEvent::MTE3_V>(0);  // 04_online_softmax.py:46
      tile::with_column<tile::instruction::Div>(x, x, total, scratch, 16, 64, 64, 64);  // 04_online_softmax.py:50
      AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:51
      AscendC::Cast(done, x, AscendC::RoundMode::CAST_RINT, 1024);  // 04_online_softmax.py:52
      AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(0);  // 04_online_softmax.py:53
      AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:54
      AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(0);  // 04_online_softmax.py:56
      if (tile::minimum(tile::maximum(34 - row, 0), 16) > 0) {  // 04_online_softmax.py:57
        tile::copy_ub_gm(Y[row * 322 + 320], done, tile::minimum(tile::maximum(34 - row, 0), 16), 2, 322, 64);  // 04_online_softmax.py:57
      }
      AscendC::SetFlag<AscendC::HardEvent::MTE3_V>(0);  // 04_online_softmax.py:58
      for (int32_t step_1 = 0; step_1 < 5; ++step_1) {  // 04_online_softmax.py:110
        const int32_t slot_1 = (i * 11 + step_1) % 2;  // 04_online_softmax.py:111
        AscendC::WaitFlag<AscendC::HardEvent::V_MTE2>(slot_1);  // 04_online_softmax.py:30
        if (!(tile::minimum(tile::maximum(34 - row, 0), 16) == 16)) {  // 04_online_softmax.py:31
          AscendC::Duplicate(raw[slot_1 * 1024], static_cast<bfloat16_t>(tile::float_from_bits(0xFF800000u)), 1024);  // 04_online_softmax.py:31
          AscendC::SetFlag<AscendC::HardEvent::V_MTE2>(2);  // 04_online_softmax.py:31
          AscendC::WaitFlag<AscendC::HardEvent::V_MTE2>(2);  // 04_online_softmax.py:31
        }
        if (tile::minimum(tile::maximum(34 - row, 0), 16) > 0) {  // 04_online_softmax.py:31
          tile::copy_gm_ub(raw[slot_1 * 1024], X[row * 322 + step_1 * 64], tile::minimum(tile::maximum(34 - row, 0), 16), 64, 322, 64, static_cast<bfloat16_t>(tile::float_from_bits(0xFF800000u)));  // 04_online_softmax.py:31
        }
        AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(slot_1);  // 04_online_softmax.py:32
        AscendC::WaitFlag<AscendC::HardEvent::MTE2_V>(slot_1);  // 04_online_softmax.py:33
        AscendC::Cast(x, raw[slot_1 * 1024], AscendC::RoundMode::CAST_NONE, 1024);  // 04_online_softmax.py:116
        AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:117
        tile::with_column<tile::instruction::Sub>(x, x, peak, scratch, 16, 64, 64, 64);  // 04_online_softmax.py:37
        AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:38
        AscendC::Exp(x, x, 1024);  // 04_online_softmax.py:39
        AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:40
        AscendC::SetFlag<AscendC::HardEvent::V_MTE2>(slot_1);  // 04_online_softmax.py:119
        AscendC::WaitFlag<AscendC::HardEvent::MTE3_V>((step_1 + 1) % 2);  // 04_online_softmax.py:46
        tile::with_column<tile::instruction::Div>(x, x, total, scratch, 16, 64, 64, 64);  // 04_online_softmax.py:50
        AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:51
        AscendC::Cast(done[(step_1 + 1) % 2 * 1024], x, AscendC::RoundMode::CAST_RINT, 1024);  // 04_online_softmax.py:52
        AscendC::SetFlag<AscendC::HardEvent::V_MTE3>((step_1 + 1) % 2);  // 04_online_softmax.py:53
        AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:54
        AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>((step_1 + 1) % 2);  // 04_online_softmax.py:56
        if (tile::minimum(tile::maximum(34 - row, 0), 16) > 0) {  // 04_online_softmax.py:57
          tile::copy_ub_gm(Y[row * 322 + step_1 * 64], done[(step_1 + 1) % 2 * 1024], tile::minimum(tile::maximum(34 - row, 0), 16), 64, 322, 64);  // 04_online_softmax.py:57
        }
        AscendC::SetFlag<AscendC::HardEvent::MTE3_V>((step_1 + 1) % 2);  // 04_online_softmax.py:58
      }
    }
    for (int32_t s_1 = 0; s_1 < 2; ++s_1) {  // 04_online_softmax.py:124
      AscendC::WaitFlag<AscendC::HardEvent::V_MTE2>(s_1);  // 04_online_softmax.py:125
      AscendC::WaitFlag<AscendC::HardEvent::MTE3_V>(s_1);  // 04_online_softmax.py:126
    }
  }
}

void softmax_kernel_tiling() {}

extern "C" void call(uint8_t* X_handle, uint8_t* Y_handle, aclrtStream stream) {
  const int64_t blocks = 24;
  TILE_LAUNCH(softmax_kernel, static_cast<uint32_t>(blocks), stream, X_handle, Y_handle, tile::cross_core_address());
}
