// A 3 x 3 convolution with stride 1 and a border of zeros: f16, AICs, rows of the image unfolded on the way to L0A.
//
// Structure after PTO-ISA kernels/manual/a2a3/conv2d_forward: x is [batch][c][h][w][16], the weights are
// [c * 9][n / 16][16][16], y is [batch][n / 16][h * w][16]; a core has one image and a share of the n; tiles of 128 x 256
// in slices of 48, the L1 chunk being three of them, which is one block of 16 channels. w divides 128 or is its multiple.
#include "kernel_operator.h"
using namespace AscendC;

namespace conv2d {

constexpr uint32_t c0 = 16;
constexpr uint32_t base_m = 128;
constexpr uint32_t base_n = 256;
constexpr uint32_t base_k = 48;
constexpr uint32_t taps = 9;
constexpr uint32_t slices = taps * c0 / base_k;  // in an L1 chunk

class Core {
public:
    __aicore__ inline Core(GM_ADDR x, GM_ADDR weights, GM_ADDR y, uint32_t blocks_, uint32_t height_, uint32_t width_, uint32_t n_,
        uint32_t share_)
        : blocks(blocks_), height(height_), width(width_), n(n_), share(share_)
    {
        const uint32_t shares = n / share;
        const uint64_t image = GetBlockIdx() / shares;
        const uint64_t first = GetBlockIdx() % shares * share;
        gx.SetGlobalBuffer((__gm__ half*)x + image * blocks * height * width * c0);
        gw.SetGlobalBuffer((__gm__ half*)weights + first * c0);
        gy.SetGlobalBuffer((__gm__ half*)y + (image * n + first) * height * width);
        for (uint32_t i = 0; i < 2; ++i) {
            b1[i] = LocalTensor<half>(TPosition::B1, 131072 + i * base_n * base_k * slices * 2, base_n * base_k * slices);
            a2[i] = LocalTensor<half>(TPosition::A2, i * 32768, base_m * base_k);
            b2[i] = LocalTensor<half>(TPosition::B2, i * 32768, base_n * base_k);
        }
    }
    __aicore__ inline void run()
    {
        for (int32_t i = 0; i < 2; ++i) {
            SetFlag<HardEvent::MTE1_MTE2>(i);
            SetFlag<HardEvent::M_MTE1>(i);
        }
        for (uint32_t m = 0; m < height * width; m += base_m) {
            place(m);
            for (uint32_t column = 0; column < share; column += base_n) {
                for (uint32_t k = 0; k < blocks * slices; ++k) {
                    if (k % slices == 0) {
                        load_chunk(k / slices, column);
                    }
                    multiply(k);
                }
                store(m, column);
            }
        }
        for (int32_t i = 0; i < 2; ++i) {
            WaitFlag<HardEvent::MTE1_MTE2>(i);
            WaitFlag<HardEvent::M_MTE1>(i);
        }
    }

private:
    // Which rows of the image the tile of output pixels from m on needs, and how many zeros around them.
    __aicore__ inline void place(uint32_t m)
    {
        rows = height * width - m < base_m ? height * width - m : base_m;
        const uint32_t last = (m + rows - 1) / width;
        top = m / width;
        in_row = m % width;
        first_row = top == 0 ? 0 : top - 1;
        const uint32_t last_row = last + 1 < height ? last + 1 : height - 1;
        row_count = last_row - first_row + 1;
        below = last + 1 < height ? 0 : 1;
        const uint32_t bytes = c0 * width * (row_count + 2) * uint32_t(sizeof(half));
        for (uint32_t i = 0; i < 2; ++i) {
            a1[i] = LocalTensor<half>(TPosition::A1, i * bytes, c0 * width * row_count);
        }
    }
    __aicore__ inline void load_chunk(uint32_t block, uint32_t column)
    {
        WaitFlag<HardEvent::MTE1_MTE2>(l1);
        DataCopy(a1[l1], gx[(uint64_t(block) * height + first_row) * width * c0], row_count * width * c0);
        SetFlag<HardEvent::MTE2_MTE1>(0);
        DataCopy(b1[l1], gw[(uint64_t(block) * taps * n + column) * c0], DataCopyParams(taps, base_n, n - base_n, 0));
        SetFlag<HardEvent::MTE2_MTE1>(1);
    }
    __aicore__ inline void multiply(uint32_t k)
    {
        const uint32_t slice = k % slices;
        WaitFlag<HardEvent::M_MTE1>(l0);
        if (slice == 0) {
            WaitFlag<HardEvent::MTE2_MTE1>(0);
        }
        const uint8_t zeros[4] = {1, 1, uint8_t(top == 0 ? 1 : 0), uint8_t(below)};
        LoadData(a2[l0], a1[l1],
            LoadData3DParamsV2<half>(zeros, row_count, width, c0, base_k, (rows + 15) / 16 * 16, slice * base_k, in_row, 1, 1, 3, 3, 1, 1,
                false, false, half(0)));
        if (slice == 0) {
            WaitFlag<HardEvent::MTE2_MTE1>(1);
        }
        LoadData2DParams whole;
        whole.repeatTimes = base_n / 16 * (base_k / 16);
        whole.srcStride = 1;
        LoadData(b2[l0], b1[l1][slice * base_k * base_n], whole);
        if (slice + 1 == slices) {
            SetFlag<HardEvent::MTE1_MTE2>(l1);
            l1 ^= 1;
        }
        SetFlag<HardEvent::MTE1_M>(l0);
        WaitFlag<HardEvent::MTE1_M>(l0);
        MmadParams p;
        p.m = rows;
        p.n = base_n;
        p.k = base_k;
        p.cmatrixInitVal = k == 0;
        Mmad(c, a2[l0], b2[l0], p);
        SetFlag<HardEvent::M_MTE1>(l0);
        l0 ^= 1;
    }
    __aicore__ inline void store(uint32_t m, uint32_t column)
    {
        SetFlag<HardEvent::M_FIX>(0);
        WaitFlag<HardEvent::M_FIX>(0);
        FixpipeParamsV220 p;
        p.nSize = base_n;
        p.mSize = rows;
        p.srcStride = (rows + 15) / 16 * 16;
        p.dstStride = height * width;  // blocks of 32 B from a block of columns to the next
        p.quantPre = F322F16;
        Fixpipe<half, float, CFG_NZ>(gy[uint64_t(column) * height * width + m * c0], c, p);
        SetFlag<HardEvent::FIX_M>(0);
        WaitFlag<HardEvent::FIX_M>(0);
    }

    uint32_t blocks;
    uint32_t height;
    uint32_t width;
    uint32_t n;
    uint32_t share;
    uint32_t rows = 0;
    uint32_t top = 0;
    uint32_t in_row = 0;
    uint32_t first_row = 0;
    uint32_t row_count = 0;
    uint32_t below = 0;
    GlobalTensor<half> gx;
    GlobalTensor<half> gw;
    GlobalTensor<half> gy;
    LocalTensor<half> a1[2];
    LocalTensor<half> b1[2];
    LocalTensor<half> a2[2];
    LocalTensor<half> b2[2];
    LocalTensor<float> c{TPosition::CO1, 0, base_m * base_n};
    int32_t l1 = 0;
    int32_t l0 = 0;
};

}  // namespace conv2d

extern "C" __global__ __aicore__ void conv2d_f16(
    GM_ADDR x, GM_ADDR weights, GM_ADDR y, int32_t blocks, int32_t height, int32_t width, int32_t n, int32_t share)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    InitSocState();
    conv2d::Core core(x, weights, y, blocks, height, width, n, share);
    core.run();
    PipeBarrier<PIPE_ALL>();
}
