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
    const AscendC::LocalTensor<half> a_l1 = l1.GetWithOffset<half>(16384, 0);  // 02_gemm.py:32
    const AscendC::LocalTensor<half> b_l1 = l1.GetWithOffset<half>(32768, 32768);  // 02_gemm.py:33
    const AscendC::LocalTensor<float> c_l0 = l0c.GetWithOffset<float>(32768, 0);  // 02_gemm.py:34
    const AscendC::LocalTensor<half> gemm_a = l0a.GetWithOffset<half>(16384, 0);  // 02_gemm.py:49
    const AscendC::LocalTensor<half> gemm_b = l0b.GetWithOffset<half>(32768, 0);  // 02_gemm.py:49
    const int32_t bx = cid / 4;  // 02_gemm.py:30
    const int32_t by = cid % 4;  // 02_gemm.py:31
    for (int32_t s = 0; s < 2; ++s) {  // 02_gemm.py:36
      AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(s);  // 02_gemm.py:37
    }
    AscendC::SetFlag<AscendC::HardEvent::M_MTE1>(0);  // 02_gemm.py:38
    for (int32_t k = 0; k < 16; ++k) {  // 02_gemm.py:40
      const int32_t slot = k % 2;  // 02_gemm.py:41
      AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(slot);  // 02_gemm.py:42
      tile::copy_gm_l1(a_l1[slot * 8192], A[bx * 131072 + k * 64], 128, 64, 1024, 128);  // 02_gemm.py:43
      tile::copy_gm_l1(b_l1[slot * 16384], B[by * 256 + k * 65536], 64, 256, 1024, 64);  // 02_gemm.py:44
      AscendC::SetFlag<AscendC::HardEvent::MTE2_MTE1>(slot);  // 02_gemm.py:45
      AscendC::WaitFlag<AscendC::HardEvent::MTE2_MTE1>(slot);  // 02_gemm.py:47
      AscendC::WaitFlag<AscendC::HardEvent::M_MTE1>(0);  // 02_gemm.py:48
      tile::copy_l1_l0a(gemm_a, a_l1[slot * 8192], {128, 64, 0, 0}, 128, 64, false);  // 02_gemm.py:49
      tile::copy_l1_l0b(gemm_b, b_l1[slot * 16384], {64, 256, 0, 0}, 64, 256, false);  // 02_gemm.py:49
      AscendC::SetFlag<AscendC::HardEvent::MTE1_M>(0);  // 02_gemm.py:49
      AscendC::WaitFlag<AscendC::HardEvent::MTE1_M>(0);  // 02_gemm.py:49
      tile::mma(c_l0, gemm_a, gemm_b, 128, 256, 64, k == 0);  // 02_gemm.py:49
      AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(slot);  // 02_gemm.py:50
      AscendC::SetFlag<AscendC::HardEvent::M_MTE1>(0);  // 02_gemm.py:51
    }
    AscendC::SetFlag<AscendC::HardEvent::M_FIX>(0);  // 02_gemm.py:53
    AscendC::WaitFlag<AscendC::HardEvent::M_FIX>(0);  // 02_gemm.py:54
    tile::copy_l0c_gm(C[bx * 131072 + by * 256], c_l0, 128, 256, 1024, 128, false);  // 02_gemm.py:55
    AscendC::WaitFlag<AscendC::HardEvent::M_MTE1>(0);  // 02_gemm.py:57
    for (int32_t s_1 = 0; s_1 < 2; ++s_1) {  // 02_gemm.py:58
      AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(s_1);  // 02_gemm.py:59
    }
  }
}

void gemm_kernel_kernel_tiling() {}

extern "C" void call(uint8_t* A_handle, uint8_t* B_handle, uint8_t* C_handle, aclrtStream stream) {
  const int64_t blocks = 32;
  TILE_LAUNCH(gemm_kernel_kernel, static_cast<uint32_t>(blocks), stream, A_handle, B_handle, C_handle, tile::cross_core_address());
}
