// Kernel `gemm_kernel`, made by tile-ascend from the IR. Comments name the line of the script.
#include "kernel_operator.h"
#include "tile_device.h"

extern "C" __global__ __aicore__ void gemm_kernel_kernel(GM_ADDR A_handle, GM_ADDR B_handle, GM_ADDR C_handle, uint64_t fftsAddr) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_0);
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
  AscendC::GlobalTensor<half> A;
  A.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(A_handle));
  AscendC::GlobalTensor<half> B;
  B.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(B_handle));
  AscendC::GlobalTensor<half> C;
  C.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(C_handle));
  if ASCEND_IS_AIC {
    const int32_t cid = static_cast<int32_t>(AscendC::GetBlockIdx());
    const AscendC::LocalTensor<half> a_l1 = l1.GetWithOffset<half>(65536, 0);  // 03_gemm_intrinsic.py:55
    const AscendC::LocalTensor<half> b_l1 = l1.GetWithOffset<half>(131072, 131072);  // 03_gemm_intrinsic.py:56
    const AscendC::LocalTensor<half> a_l0 = l0a.GetWithOffset<half>(16384, 0);  // 03_gemm_intrinsic.py:57
    const AscendC::LocalTensor<half> b_l0 = l0b.GetWithOffset<half>(32768, 0);  // 03_gemm_intrinsic.py:58
    const AscendC::LocalTensor<float> c_l0 = l0c.GetWithOffset<float>(32768, 0);  // 03_gemm_intrinsic.py:59
    for (int32_t s = 0; s < 2; ++s) {  // 03_gemm_intrinsic.py:61
      AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(s);  // 03_gemm_intrinsic.py:62
      AscendC::SetFlag<AscendC::HardEvent::M_MTE1>(s);  // 03_gemm_intrinsic.py:63
    }
    AscendC::SetFlag<AscendC::HardEvent::FIX_M>(0);  // 03_gemm_intrinsic.py:64
    for (int32_t wave = 0; wave < 2; ++wave) {  // 03_gemm_intrinsic.py:66
      const int32_t index = cid + wave * 24;  // 03_gemm_intrinsic.py:67
      if (index < 32) {  // 03_gemm_intrinsic.py:68
        const int32_t tile_ = tile::floor_mod(index - index / 12 * 12, tile::minimum(3, 8 - index / 12 * 3)) * 4 + index / 12 * 12 + (index / 12 % 2 == 1 ? 3 - tile::floor_div(index - index / 12 * 12, tile::minimum(3, 8 - index / 12 * 3)) : tile::floor_div(index - index / 12 * 12, tile::minimum(3, 8 - index / 12 * 3)));  // 03_gemm_intrinsic.py:69
        const int32_t bx = tile::floor_div(tile_, 4);  // 03_gemm_intrinsic.py:72
        const int32_t by = tile::floor_mod(tile_, 4);  // 03_gemm_intrinsic.py:73
        AscendC::WaitFlag<AscendC::HardEvent::FIX_M>(0);  // 03_gemm_intrinsic.py:74
        for (int32_t k = 0; k < 4; ++k) {  // 03_gemm_intrinsic.py:75
          const int32_t slot = k % 2;  // 03_gemm_intrinsic.py:76
          AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(slot);  // 03_gemm_intrinsic.py:29
          if (!(tile::minimum(tile::maximum(1024 - bx * 128, 0), 128) == 128)) {  // 03_gemm_intrinsic.py:30
            tile::clear_l1(a_l1[slot * 32768], 65536);  // 03_gemm_intrinsic.py:30
            AscendC::PipeBarrier<PIPE_MTE2>();  // 03_gemm_intrinsic.py:30
          }
          if (tile::minimum(tile::maximum(1024 - bx * 128, 0), 128) > 0) {  // 03_gemm_intrinsic.py:30
            tile::copy_gm_l1(a_l1[slot * 32768], A[bx * 131072 + k * 256], tile::minimum(tile::maximum(1024 - bx * 128, 0), 128), 256, 1024, 128);  // 03_gemm_intrinsic.py:30
          }
          tile::copy_gm_l1(b_l1[slot * 65536], B[by * 256 + k * 262144], 256, 256, 1024, 256);  // 03_gemm_intrinsic.py:31
          AscendC::SetFlag<AscendC::HardEvent::MTE2_MTE1>(slot);  // 03_gemm_intrinsic.py:32
          AscendC::WaitFlag<AscendC::HardEvent::MTE2_MTE1>(slot);  // 03_gemm_intrinsic.py:78
          for (int32_t part = 0; part < 4; ++part) {  // 03_gemm_intrinsic.py:79
            const bool first = k == 0 && part == 0;  // 03_gemm_intrinsic.py:80
            const int32_t side = part % 2;  // 03_gemm_intrinsic.py:39
            AscendC::WaitFlag<AscendC::HardEvent::M_MTE1>(side);  // 03_gemm_intrinsic.py:40
            tile::copy_l1_l0a(a_l0[side * 8192], a_l1[slot * 32768], {128, 256, 0, static_cast<uint32_t>(part * 64)}, 128, 64, false);  // 03_gemm_intrinsic.py:41
            tile::copy_l1_l0b(b_l0[side * 16384], b_l1[slot * 65536], {256, 256, static_cast<uint32_t>(part * 64), 0}, 64, 256, false);  // 03_gemm_intrinsic.py:42
            AscendC::SetFlag<AscendC::HardEvent::MTE1_M>(side);  // 03_gemm_intrinsic.py:43
            AscendC::WaitFlag<AscendC::HardEvent::MTE1_M>(side);  // 03_gemm_intrinsic.py:44
            tile::mma(c_l0, a_l0[side * 8192], b_l0[side * 16384], 128, 256, 64, first);  // 03_gemm_intrinsic.py:45
            AscendC::SetFlag<AscendC::HardEvent::M_MTE1>(side);  // 03_gemm_intrinsic.py:46
          }
          AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(slot);  // 03_gemm_intrinsic.py:82
        }
        AscendC::SetFlag<AscendC::HardEvent::M_FIX>(0);  // 03_gemm_intrinsic.py:83
        AscendC::WaitFlag<AscendC::HardEvent::M_FIX>(0);  // 03_gemm_intrinsic.py:84
        if (tile::minimum(tile::maximum(1024 - bx * 128, 0), 128) > 0) {  // 03_gemm_intrinsic.py:85
          tile::copy_l0c_gm(C[bx * 131072 + by * 256], c_l0, tile::minimum(tile::maximum(1024 - bx * 128, 0), 128), 256, 1024, 128, false);  // 03_gemm_intrinsic.py:85
        }
        AscendC::SetFlag<AscendC::HardEvent::FIX_M>(0);  // 03_gemm_intrinsic.py:86
      }
    }
    AscendC::WaitFlag<AscendC::HardEvent::FIX_M>(0);  // 03_gemm_intrinsic.py:88
    for (int32_t s_1 = 0; s_1 < 2; ++s_1) {  // 03_gemm_intrinsic.py:89
      AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(s_1);  // 03_gemm_intrinsic.py:90
      AscendC::WaitFlag<AscendC::HardEvent::M_MTE1>(s_1);  // 03_gemm_intrinsic.py:91
    }
  }
}

void gemm_kernel_kernel_tiling() {}

extern "C" void call(uint8_t* A_handle, uint8_t* B_handle, uint8_t* C_handle, aclrtStream stream) {
  const int64_t blocks = 24;
  TILE_LAUNCH(gemm_kernel_kernel, static_cast<uint32_t>(blocks), stream, A_handle, B_handle, C_handle, tile::cross_core_address());
}
