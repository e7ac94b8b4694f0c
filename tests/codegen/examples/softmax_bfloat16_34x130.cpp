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
    const AscendC::LocalTensor<bfloat16_t> raw = ub.GetWithOffset<bfloat16_t>(1024, 0);  // 04_online_softmax.py:42
    const AscendC::LocalTensor<float> x = ub.GetWithOffset<float>(1024, 2048);  // 04_online_softmax.py:43
    const AscendC::LocalTensor<float> wide = ub.GetWithOffset<float>(1024, 6144);  // 04_online_softmax.py:44
    const AscendC::LocalTensor<float> peak = ub.GetWithOffset<float>(16, 10240);  // 04_online_softmax.py:45
    const AscendC::LocalTensor<float> new_peak = ub.GetWithOffset<float>(16, 10304);  // 04_online_softmax.py:46
    const AscendC::LocalTensor<float> total = ub.GetWithOffset<float>(16, 10368);  // 04_online_softmax.py:47
    const AscendC::LocalTensor<float> part = ub.GetWithOffset<float>(16, 10432);  // 04_online_softmax.py:48
    const AscendC::LocalTensor<float> scratch = ub.GetWithOffset<float>(128, 10496);  // 04_online_softmax.py:32
    const int32_t row = cid * 32 + vid * 16;  // 04_online_softmax.py:50
    AscendC::Duplicate(peak, -3e+38f, 16);  // 04_online_softmax.py:52
    AscendC::Duplicate(total, 0.0f, 16);  // 04_online_softmax.py:53
    for (int32_t step = 0; step < 3; ++step) {  // 04_online_softmax.py:54
      if (!(tile::minimum(tile::maximum(34 - row, 0), 16) == 16 && tile::minimum(130 - step * 64, 64) == 64)) {  // 04_online_softmax.py:25
        AscendC::Duplicate(raw, static_cast<bfloat16_t>(tile::float_from_bits(0xFF800000u)), 1024);  // 04_online_softmax.py:25
        AscendC::SetFlag<AscendC::HardEvent::V_MTE2>(0);  // 04_online_softmax.py:25
        AscendC::WaitFlag<AscendC::HardEvent::V_MTE2>(0);  // 04_online_softmax.py:25
      }
      if (tile::minimum(tile::maximum(34 - row, 0), 16) > 0) {  // 04_online_softmax.py:25
        tile::copy_gm_ub(raw, X[row * 130 + step * 64], tile::minimum(tile::maximum(34 - row, 0), 16), tile::minimum(130 - step * 64, 64), 130, 64, static_cast<bfloat16_t>(tile::float_from_bits(0xFF800000u)));  // 04_online_softmax.py:25
      }
      AscendC::PipeBarrier<PIPE_ALL>();  // 04_online_softmax.py:26
      AscendC::Cast(x, raw, AscendC::RoundMode::CAST_NONE, 1024);  // 04_online_softmax.py:27
      AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:28
      tile::reduce_rows<tile::Max>(new_peak, x, AscendC::LocalTensor<float>(), 16, 64, 64);  // 04_online_softmax.py:56
      AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:57
      AscendC::Max(new_peak, new_peak, peak, 16);  // 04_online_softmax.py:58
      AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:59
      tile::broadcast_column(wide, new_peak, scratch, 16, 64, 64);  // 04_online_softmax.py:32
      AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:33
      AscendC::Sub(x, x, wide, 1024);  // 04_online_softmax.py:34
      AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:35
      AscendC::Exp(x, x, 1024);  // 04_online_softmax.py:36
      AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:37
      tile::reduce_rows<tile::Sum>(part, x, AscendC::LocalTensor<float>(), 16, 64, 64);  // 04_online_softmax.py:61
      AscendC::Sub(peak, peak, new_peak, 16);  // 04_online_softmax.py:63
      AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:64
      AscendC::Exp(peak, peak, 16);  // 04_online_softmax.py:65
      AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:66
      AscendC::Mul(total, total, peak, 16);  // 04_online_softmax.py:67
      AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:68
      AscendC::Add(total, total, part, 16);  // 04_online_softmax.py:69
      tile::copy_ub_ub(peak, new_peak, 16);  // 04_online_softmax.py:70
      AscendC::PipeBarrier<PIPE_ALL>();  // 04_online_softmax.py:71
    }
    for (int32_t step_1 = 0; step_1 < 3; ++step_1) {  // 04_online_softmax.py:72
      if (!(tile::minimum(tile::maximum(34 - row, 0), 16) == 16 && tile::minimum(130 - step_1 * 64, 64) == 64)) {  // 04_online_softmax.py:25
        AscendC::Duplicate(raw, static_cast<bfloat16_t>(tile::float_from_bits(0xFF800000u)), 1024);  // 04_online_softmax.py:25
        AscendC::SetFlag<AscendC::HardEvent::V_MTE2>(0);  // 04_online_softmax.py:25
        AscendC::WaitFlag<AscendC::HardEvent::V_MTE2>(0);  // 04_online_softmax.py:25
      }
      if (tile::minimum(tile::maximum(34 - row, 0), 16) > 0) {  // 04_online_softmax.py:25
        tile::copy_gm_ub(raw, X[row * 130 + step_1 * 64], tile::minimum(tile::maximum(34 - row, 0), 16), tile::minimum(130 - step_1 * 64, 64), 130, 64, static_cast<bfloat16_t>(tile::float_from_bits(0xFF800000u)));  // 04_online_softmax.py:25
      }
      AscendC::PipeBarrier<PIPE_ALL>();  // 04_online_softmax.py:26
      AscendC::Cast(x, raw, AscendC::RoundMode::CAST_NONE, 1024);  // 04_online_softmax.py:27
      AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:28
      tile::broadcast_column(wide, peak, scratch, 16, 64, 64);  // 04_online_softmax.py:32
      AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:33
      AscendC::Sub(x, x, wide, 1024);  // 04_online_softmax.py:34
      AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:35
      AscendC::Exp(x, x, 1024);  // 04_online_softmax.py:36
      AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:37
      tile::broadcast_column(wide, total, scratch, 16, 64, 64);  // 04_online_softmax.py:75
      AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:76
      AscendC::Div(x, x, wide, 1024);  // 04_online_softmax.py:77
      AscendC::PipeBarrier<PIPE_V>();  // 04_online_softmax.py:82
      AscendC::Cast(raw, x, AscendC::RoundMode::CAST_RINT, 1024);  // 04_online_softmax.py:83
      AscendC::PipeBarrier<PIPE_ALL>();  // 04_online_softmax.py:84
      if (tile::minimum(tile::maximum(34 - row, 0), 16) > 0) {  // 04_online_softmax.py:85
        tile::copy_ub_gm(Y[row * 130 + step_1 * 64], raw, tile::minimum(tile::maximum(34 - row, 0), 16), tile::minimum(130 - step_1 * 64, 64), 130, 64);  // 04_online_softmax.py:85
      }
      AscendC::PipeBarrier<PIPE_ALL>();  // 04_online_softmax.py:86
    }
  }
}

void softmax_kernel_tiling() {}

extern "C" void call(uint8_t* X_handle, uint8_t* Y_handle, aclrtStream stream) {
  const int64_t blocks = 2;
  TILE_LAUNCH(softmax_kernel, static_cast<uint32_t>(blocks), stream, X_handle, Y_handle, tile::cross_core_address());
}
