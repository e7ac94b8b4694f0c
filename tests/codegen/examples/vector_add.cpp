// Kernel `add`, made by tile-ascend from the IR. Comments name the line of the script.
#include "kernel_operator.h"
#include "tile_device.h"

extern "C" __global__ __aicore__ void add_kernel(GM_ADDR A_handle, GM_ADDR B_handle, GM_ADDR C_handle, uint64_t fftsAddr) {
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
  AscendC::GlobalTensor<float> A;
  A.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(A_handle));
  AscendC::GlobalTensor<float> B;
  B.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(B_handle));
  AscendC::GlobalTensor<float> C;
  C.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(C_handle));
  if ASCEND_IS_AIV {
    const int32_t cid = static_cast<int32_t>(AscendC::GetBlockIdx() / AscendC::GetSubBlockNum());
    const int32_t vid = static_cast<int32_t>(AscendC::GetSubBlockIdx());
    const AscendC::LocalTensor<float> a = ub.GetWithOffset<float>(8192, 0);  // 01_vector_add.py:21
    const AscendC::LocalTensor<float> b = ub.GetWithOffset<float>(8192, 32768);  // 01_vector_add.py:22
    for (int32_t i = 0; i < 4; ++i) {  // 01_vector_add.py:24
      const int32_t row = cid * 64 + i * 8 + vid * 32;  // 01_vector_add.py:25
      tile::copy_gm_ub(a, A[row * 1024], 8, 1024, 1024, 1024);  // 01_vector_add.py:26
      tile::copy_gm_ub(b, B[row * 1024], 8, 1024, 1024, 1024);  // 01_vector_add.py:27
      AscendC::PipeBarrier<PIPE_ALL>();  // 01_vector_add.py:28
      AscendC::Add(a, a, b, 8192);  // 01_vector_add.py:29
      AscendC::PipeBarrier<PIPE_ALL>();  // 01_vector_add.py:30
      tile::copy_ub_gm(C[row * 1024], a, 8, 1024, 1024, 1024);  // 01_vector_add.py:31
      AscendC::PipeBarrier<PIPE_ALL>();  // 01_vector_add.py:32
    }
  }
}

void add_kernel_tiling() {}

extern "C" void call(uint8_t* A_handle, uint8_t* B_handle, uint8_t* C_handle, aclrtStream stream) {
  const int64_t blocks = 16;
  TILE_LAUNCH(add_kernel, static_cast<uint32_t>(blocks), stream, A_handle, B_handle, C_handle, tile::cross_core_address());
}
