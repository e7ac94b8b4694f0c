// C = A * B^T on f16, K split inside a core: a slice of A stays in L1 while all columns pass, partial sums go to GM.
//
// Structure after catlass examples/34_single_core_splitk_matmul for m <= n: the AIVs first rewrite A and B in NZ; an
// AIC owns a run of 256 x 128 tiles and for each 512 of K adds all of them to an f32 workspace (atomic add), keeping
// A's slice where it can; at the end the AIVs cast the workspace to f16. m and n are multiples of the tile, k of 16.
#include "kernel_operator.h"
using namespace AscendC;

namespace split_k {

constexpr uint32_t tile_m = 256;
constexpr uint32_t tile_n = 128;
constexpr uint32_t tile_k = 512;
constexpr uint32_t l0 = 128;           // side of an L0 tile
constexpr uint32_t band = 20;          // column tiles the swizzle keeps together
constexpr uint32_t nz_columns = 1536;  // of 16 rows an AIV turns into NZ at once
constexpr uint32_t cast_elements = 16384;
constexpr int32_t inputs_ready = 0;
constexpr int32_t sums_ready = 1;
constexpr int32_t all_aivs = 2;

struct Problem {
    GM_ADDR a;
    GM_ADDR b;
    GM_ADDR c;
    GM_ADDR nz_a;
    GM_ADDR nz_b;
    GM_ADDR sums;
    uint32_t m;
    uint32_t n;
    uint32_t k;
};

// An AIV's part: what comes before and after the products.
class Vector {
public:
    __aicore__ inline Vector()
    {
        for (int32_t id = 0; id < 2; ++id) {
            SetFlag<HardEvent::V_MTE2>(id);
            SetFlag<HardEvent::MTE3_V>(id);
        }
    }
    __aicore__ inline void end()
    {
        for (int32_t id = 0; id < 2; ++id) {
            WaitFlag<HardEvent::V_MTE2>(id);
            WaitFlag<HardEvent::MTE3_V>(id);
        }
    }
    __aicore__ inline void meet()
    {
        CrossCoreSetFlag<0, PIPE_MTE3>(all_aivs);
        CrossCoreWaitFlag(all_aivs);
    }
    // Rows of k elements to column blocks [k/16][rows][16], 16 rows at a time.
    __aicore__ inline void to_nz(GM_ADDR from, GM_ADDR to, uint32_t rows, uint32_t k)
    {
        GlobalTensor<half> src;
        GlobalTensor<half> dst;
        src.SetGlobalBuffer((__gm__ half*)from);
        dst.SetGlobalBuffer((__gm__ half*)to);
        const uint32_t steps = (k + nz_columns - 1) / nz_columns;
        const uint32_t width = ((k + steps - 1) / steps + 15) / 16 * 16;
        for (uint32_t i = GetBlockIdx(); i < rows / 16 * steps; i += cores()) {
            const uint32_t row = i / steps * 16;
            const uint32_t column = i % steps * width;
            const uint32_t blocks = (k - column < width ? k - column : width) / 16;
            const LocalTensor<half> in(TPosition::VECIN, buffer * slot, 16 * nz_columns);
            const LocalTensor<half> out(TPosition::VECOUT, (2 + buffer) * slot, 16 * nz_columns);
            WaitFlag<HardEvent::V_MTE2>(buffer);
            DataCopy(in, src[uint64_t(row) * k + column], DataCopyParams(16, blocks, k / 16 - blocks, 0));
            SetFlag<HardEvent::MTE2_V>(buffer);
            WaitFlag<HardEvent::MTE2_V>(buffer);
            WaitFlag<HardEvent::MTE3_V>(buffer);
            for (uint32_t half_rows = 0; half_rows < 16; half_rows += 8) {
                Copy(out[half_rows * 16], in[half_rows * blocks * 16], 128, blocks, CopyRepeatParams(1, blocks, 16, 1));
            }
            SetFlag<HardEvent::V_MTE2>(buffer);
            SetFlag<HardEvent::V_MTE3>(buffer);
            WaitFlag<HardEvent::V_MTE3>(buffer);
            DataCopy(dst[uint64_t(column) * rows + row * 16], out, DataCopyParams(blocks, 16, 0, rows - 16));
            SetFlag<HardEvent::MTE3_V>(buffer);
            buffer ^= 1;
        }
    }
    __aicore__ inline void to_half(GM_ADDR from, GM_ADDR to, uint64_t elements)
    {
        GlobalTensor<float> src;
        GlobalTensor<half> dst;
        src.SetGlobalBuffer((__gm__ float*)from);
        dst.SetGlobalBuffer((__gm__ half*)to);
        for (uint64_t at = uint64_t(GetBlockIdx()) * cast_elements; at < elements; at += cores() * cast_elements) {
            const LocalTensor<float> in(TPosition::VECIN, buffer * 65536, cast_elements);
            const LocalTensor<half> out(TPosition::VECOUT, 131072 + buffer * 32768, cast_elements);
            WaitFlag<HardEvent::V_MTE2>(buffer);
            DataCopy(in, src[at], cast_elements);
            SetFlag<HardEvent::MTE2_V>(buffer);
            WaitFlag<HardEvent::MTE2_V>(buffer);
            WaitFlag<HardEvent::MTE3_V>(buffer);
            Cast(out, in, RoundMode::CAST_RINT, cast_elements);
            SetFlag<HardEvent::V_MTE2>(buffer);
            SetFlag<HardEvent::V_MTE3>(buffer);
            WaitFlag<HardEvent::V_MTE3>(buffer);
            DataCopy(dst[at], out, cast_elements);
            SetFlag<HardEvent::MTE3_V>(buffer);
            buffer ^= 1;
        }
    }

private:
    static constexpr uint32_t slot = 16 * nz_columns * sizeof(half);
    __aicore__ inline uint64_t cores() const { return GetBlockNum() * GetSubBlockNum(); }
    int32_t buffer = 0;
};

// An AIC: one L1 buffer of A, two of B; L0 and L0C doubled.
class Cube {
public:
    __aicore__ inline explicit Cube(const Problem& problem) : p(problem)
    {
        a.SetGlobalBuffer((__gm__ half*)p.nz_a);
        b.SetGlobalBuffer((__gm__ half*)p.nz_b);
        sums.SetGlobalBuffer((__gm__ float*)p.sums);
        const uint32_t tiles = p.m / tile_m * (p.n / tile_n);
        const uint32_t most = (tiles + GetBlockNum() - 1) / GetBlockNum();
        const uint32_t with_most = tiles - GetBlockNum() * (most - 1);
        const uint32_t me = GetBlockIdx();
        first = me < with_most ? me * most : with_most * most + (me - with_most) * (most - 1);
        count = me < with_most ? most : most - 1;
    }
    __aicore__ inline void run()
    {
        for (int32_t id = 0; id < 3; ++id) {
            SetFlag<HardEvent::MTE1_MTE2>(id);
        }
        for (int32_t id = 0; id < 2; ++id) {
            SetFlag<HardEvent::M_MTE1>(id);
            SetFlag<HardEvent::FIX_M>(id);
        }
        const uint32_t slices = (p.k + tile_k - 1) / tile_k;
        const uint32_t steps = slices * count;
        for (uint32_t i = 0; i < steps; ++i) {
            const Place here = place(i);
            const bool new_a = i == 0 || !same_a(place(i - 1), here);
            const bool last_a = i + 1 == steps || !same_a(here, place(i + 1));
            if (i == 0) {
                copy_b(here);
            }
            if (new_a) {
                copy_a(here);
            }
            if (i + 1 < steps) {
                copy_b(place(i + 1));
            }
            if (here.slice == 0) {
                SetAtomicNone();
            } else {
                SetAtomicAdd<float>();
            }
            multiply(here, new_a, last_a);
        }
        SetAtomicNone();
        for (int32_t id = 0; id < 3; ++id) {
            WaitFlag<HardEvent::MTE1_MTE2>(id);
        }
        for (int32_t id = 0; id < 2; ++id) {
            WaitFlag<HardEvent::M_MTE1>(id);
            WaitFlag<HardEvent::FIX_M>(id);
        }
    }

private:
    struct Place {
        uint32_t row;
        uint32_t column;
        uint32_t slice;
        uint32_t depth;
    };
    static __aicore__ inline bool same_a(const Place& x, const Place& y) { return x.row == y.row && x.slice == y.slice; }
    __aicore__ inline Place place(uint32_t i) const
    {
        const uint32_t m_tiles = p.m / tile_m;
        const uint32_t n_tiles = p.n / tile_n;
        const uint32_t tile = first + i % count;
        const uint32_t group = tile / (band * m_tiles);
        const uint32_t in_group = tile % (band * m_tiles);
        const uint32_t wide = n_tiles - group * band < band ? n_tiles - group * band : band;
        const uint32_t down = in_group / wide;
        const uint32_t row = group % 2 ? m_tiles - 1 - down : down;
        const uint32_t along = row % 2 ? wide - 1 - in_group % wide : in_group % wide;
        const uint32_t slice = i / count;
        const uint32_t depth = p.k - slice * tile_k < tile_k ? p.k - slice * tile_k : tile_k;
        return {row * tile_m, (group * band + along) * tile_n, slice, depth};
    }
    __aicore__ inline void copy_a(const Place& to)
    {
        WaitFlag<HardEvent::MTE1_MTE2>(0);
        DataCopy(a1, a[(uint64_t(to.slice) * tile_k * p.m) + to.row * 16],
            DataCopyParams(to.depth / 16, tile_m, p.m - tile_m, 0));
        SetFlag<HardEvent::MTE2_MTE1>(0);
    }
    __aicore__ inline void copy_b(const Place& to)
    {
        WaitFlag<HardEvent::MTE1_MTE2>(1 + write_b);
        DataCopy(b1[write_b], b[(uint64_t(to.slice) * tile_k * p.n) + to.column * 16],
            DataCopyParams(to.depth / 16, tile_n, p.n - tile_n, 0));
        SetFlag<HardEvent::MTE2_MTE1>(1 + write_b);
        write_b ^= 1;
    }
    __aicore__ inline void multiply(const Place& here, bool new_a, bool last_a)
    {
        for (uint32_t m = 0; m < tile_m; m += l0) {
            WaitFlag<HardEvent::FIX_M>(c);
            for (uint32_t k = 0; k < here.depth; k += l0) {
                const uint32_t thick = here.depth - k < l0 ? here.depth - k : l0;
                const bool first_product = m == 0 && k == 0;
                const bool last_product = m + l0 == tile_m && k + l0 >= here.depth;
                WaitFlag<HardEvent::M_MTE1>(ab);
                if (first_product && new_a) {
                    WaitFlag<HardEvent::MTE2_MTE1>(0);
                }
                LoadData3DParamsV2<half> from;
                from.l1H = 1;
                from.l1W = tile_m;
                from.channelSize = thick;
                from.kExtension = thick;
                from.mExtension = l0;
                from.mStartPt = m;
                LoadData(a2[ab], a1[k * tile_m], from);
                if (last_product && last_a) {
                    SetFlag<HardEvent::MTE1_MTE2>(0);
                }
                if (first_product) {
                    WaitFlag<HardEvent::MTE2_MTE1>(1 + read_b);
                }
                LoadData2DParams whole;
                whole.repeatTimes = tile_n / 16 * (thick / 16);
                whole.srcStride = 1;
                LoadData(b2[ab], b1[read_b][k * tile_n], whole);
                if (last_product) {
                    SetFlag<HardEvent::MTE1_MTE2>(1 + read_b);
                    read_b ^= 1;
                }
                SetFlag<HardEvent::MTE1_M>(ab);
                WaitFlag<HardEvent::MTE1_M>(ab);
                MmadParams product;
                product.m = l0;
                product.n = tile_n;
                product.k = thick;
                product.cmatrixInitVal = k == 0;
                Mmad(c0[c], a2[ab], b2[ab], product);
                SetFlag<HardEvent::M_MTE1>(ab);
                ab ^= 1;
            }
            SetFlag<HardEvent::M_FIX>(c);
            WaitFlag<HardEvent::M_FIX>(c);
            FixpipeParamsV220 out;
            out.nSize = tile_n;
            out.mSize = l0;
            out.srcStride = l0;
            out.dstStride = p.n;
            Fixpipe(sums[uint64_t(here.row + m) * p.n + here.column], c0[c], out);
            SetFlag<HardEvent::FIX_M>(c);
            c ^= 1;
        }
    }

    const Problem p;
    GlobalTensor<half> a;
    GlobalTensor<half> b;
    GlobalTensor<float> sums;
    uint32_t first;
    uint32_t count;
    LocalTensor<half> a1{TPosition::A1, 0, tile_m * tile_k};
    LocalTensor<half> b1[2] = {
        LocalTensor<half>(TPosition::B1, 262144, tile_n * tile_k), LocalTensor<half>(TPosition::B1, 393216, tile_n * tile_k)};
    LocalTensor<half> a2[2] = {
        LocalTensor<half>(TPosition::A2, 0, l0 * l0), LocalTensor<half>(TPosition::A2, 32768, l0 * l0)};
    LocalTensor<half> b2[2] = {
        LocalTensor<half>(TPosition::B2, 0, l0 * l0), LocalTensor<half>(TPosition::B2, 32768, l0 * l0)};
    LocalTensor<float> c0[2] = {
        LocalTensor<float>(TPosition::CO1, 0, l0 * l0), LocalTensor<float>(TPosition::CO1, 65536, l0 * l0)};
    int32_t write_b = 0;
    int32_t read_b = 0;
    int32_t ab = 0;
    int32_t c = 0;
};

}  // namespace split_k

extern "C" __global__ __aicore__ void split_k_matmul(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR nz_a, GM_ADDR nz_b,
    GM_ADDR sums, int32_t m, int32_t n, int32_t k)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    InitSocState();
    if ASCEND_IS_AIV {
        split_k::Vector vector;
        vector.to_nz(a, nz_a, m, k);
        vector.to_nz(b, nz_b, n, k);
        vector.meet();
        CrossCoreSetFlag<2, PIPE_MTE3>(split_k::inputs_ready);
        CrossCoreWaitFlag(split_k::sums_ready);
        vector.meet();
        vector.to_half(sums, c, uint64_t(m) * n);
        vector.end();
    }
    if ASCEND_IS_AIC {
        CrossCoreWaitFlag(split_k::inputs_ready);
        split_k::Cube cube(split_k::Problem{a, b, c, nz_a, nz_b, sums, uint32_t(m), uint32_t(n), uint32_t(k)});
        cube.run();
        CrossCoreSetFlag<2, PIPE_FIX>(split_k::sums_ready);
    }
    PipeBarrier<PIPE_ALL>();
}
