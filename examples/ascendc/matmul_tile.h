// One output tile of a half x half -> float product on the cube core, with double-buffered L1 and L0.
#pragma once

#include "kernel_operator.h"

// Multiples of the tile sizes below.
struct MatmulShape {
    uint32_t m;
    uint32_t n;
    uint32_t k;
};

template <uint32_t tile_m, uint32_t tile_n, uint32_t tile_k>
class MatmulTile {
public:
    static constexpr uint32_t side = 16;                  // of a fractal, and the columns of one in half
    static constexpr uint32_t fractal = side * side;      // elements
    static constexpr int32_t slots = 2;
    // A TPipe that is alive on an AIC holds M_MTE1 events 0 to 2.
    static constexpr int32_t first_operand_event = 3;

    __aicore__ inline explicit MatmulTile(AscendC::TPipe& pipe)
    {
        pipe.InitBuffer(a_l1_, slots * tile_m * tile_k * sizeof(half));
        pipe.InitBuffer(b_l1_, slots * tile_k * tile_n * sizeof(half));
        pipe.InitBuffer(a_l0_, slots * tile_m * tile_k * sizeof(half));
        pipe.InitBuffer(b_l0_, slots * tile_k * tile_n * sizeof(half));
        pipe.InitBuffer(c_l0_, tile_m * tile_n * sizeof(float));
        for (int32_t slot = 0; slot < slots; ++slot) {  // everything is free
            AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(slot);
            AscendC::SetFlag<AscendC::HardEvent::M_MTE1>(first_operand_event + slot);
        }
        AscendC::SetFlag<AscendC::HardEvent::FIX_M>(0);
    }

    __aicore__ inline void finish()
    {
        for (int32_t slot = 0; slot < slots; ++slot) {
            AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(slot);
            AscendC::WaitFlag<AscendC::HardEvent::M_MTE1>(first_operand_event + slot);
        }
        AscendC::WaitFlag<AscendC::HardEvent::FIX_M>(0);
    }

    // The tile of a * b at (row, column) into L0C.
    __aicore__ inline void multiply(const AscendC::GlobalTensor<half>& a, const AscendC::GlobalTensor<half>& b,
        const MatmulShape& shape, uint32_t row, uint32_t column)
    {
        AscendC::WaitFlag<AscendC::HardEvent::FIX_M>(0);
        for (uint32_t step = 0; step < shape.k / tile_k; ++step) {
            const int32_t slot = slot_;
            slot_ = 1 - slot_;
            const AscendC::LocalTensor<half> a_l1 = a_l1_.template Get<half>()[slot * tile_m * tile_k];
            const AscendC::LocalTensor<half> b_l1 = b_l1_.template Get<half>()[slot * tile_k * tile_n];
            AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(slot);
            load_l1(a_l1, a[row * shape.k + step * tile_k], tile_m, tile_k, shape.k);
            load_l1(b_l1, b[step * tile_k * shape.n + column], tile_k, tile_n, shape.n);
            AscendC::SetFlag<AscendC::HardEvent::MTE2_MTE1>(slot);
            AscendC::WaitFlag<AscendC::HardEvent::MTE2_MTE1>(slot);
            AscendC::WaitFlag<AscendC::HardEvent::M_MTE1>(first_operand_event + slot);
            const AscendC::LocalTensor<half> a_l0 = a_l0_.template Get<half>()[slot * tile_m * tile_k];
            const AscendC::LocalTensor<half> b_l0 = b_l0_.template Get<half>()[slot * tile_k * tile_n];
            load_l0a(a_l0, a_l1);
            load_l0b(b_l0, b_l1);
            AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(slot);
            AscendC::SetFlag<AscendC::HardEvent::MTE1_M>(slot);
            AscendC::WaitFlag<AscendC::HardEvent::MTE1_M>(slot);
            AscendC::MmadParams params;
            params.m = tile_m;
            params.n = tile_n;
            params.k = tile_k;
            params.cmatrixInitVal = step == 0;
            AscendC::Mmad(c_l0_.template Get<float>(), a_l0, b_l0, params);
            if (tile_m / side * (tile_n / side) < 10) {  // small products may overtake each other in L0C
                AscendC::PipeBarrier<PIPE_M>();
            }
            AscendC::SetFlag<AscendC::HardEvent::M_MTE1>(first_operand_event + slot);
        }
    }

    // L0C to a row-major matrix.
    __aicore__ inline void store(const AscendC::GlobalTensor<float>& c, uint32_t pitch)
    {
        AscendC::SetFlag<AscendC::HardEvent::M_FIX>(0);
        AscendC::WaitFlag<AscendC::HardEvent::M_FIX>(0);
        AscendC::FixpipeParamsV220 params;
        params.nSize = tile_n;
        params.mSize = tile_m;
        params.srcStride = tile_m;
        params.dstStride = pitch;
        AscendC::Fixpipe<float, float, AscendC::CFG_ROW_MAJOR>(c, c_l0_.template Get<float>(), params);
        AscendC::SetFlag<AscendC::HardEvent::FIX_M>(0);
    }

private:
    __aicore__ inline void load_l1(const AscendC::LocalTensor<half>& dst, const AscendC::GlobalTensor<half>& src,
        uint32_t rows, uint32_t columns, uint32_t pitch)
    {
        AscendC::Nd2NzParams params;
        params.ndNum = 1;
        params.nValue = rows;
        params.dValue = columns;
        params.srcNdMatrixStride = 0;
        params.srcDValue = pitch;
        params.dstNzC0Stride = rows;
        params.dstNzNStride = 1;
        params.dstNzMatrixStride = 0;
        AscendC::DataCopy(dst, src, params);
    }

    // A row of fractals at a time: k/16 of them, which L1 holds m/16 fractals apart.
    __aicore__ inline void load_l0a(const AscendC::LocalTensor<half>& dst, const AscendC::LocalTensor<half>& src)
    {
        for (uint32_t i = 0; i < tile_m / side; ++i) {
            AscendC::LoadData2DParams params;
            params.startIndex = i;
            params.repeatTimes = tile_k / side;
            params.srcStride = tile_m / side;
            params.ifTranspose = false;
            AscendC::LoadData(dst[i * (tile_k / side) * fractal], src, params);
        }
    }

    // L0B wants every fractal column by column.
    __aicore__ inline void load_l0b(const AscendC::LocalTensor<half>& dst, const AscendC::LocalTensor<half>& src)
    {
        for (uint32_t i = 0; i < tile_k / side; ++i) {
            AscendC::LoadData2DParams params;
            params.startIndex = i;
            params.repeatTimes = tile_n / side;
            params.srcStride = tile_k / side;
            params.ifTranspose = true;
            AscendC::LoadData(dst[i * (tile_n / side) * fractal], src, params);
        }
    }

    AscendC::TBuf<AscendC::TPosition::A1> a_l1_;
    AscendC::TBuf<AscendC::TPosition::B1> b_l1_;
    AscendC::TBuf<AscendC::TPosition::A2> a_l0_;
    AscendC::TBuf<AscendC::TPosition::B2> b_l0_;
    AscendC::TBuf<AscendC::TPosition::CO1> c_l0_;
    int32_t slot_ = 0;
};
