// One output tile of a matrix multiplication on an AIC: GM -> L1 -> L0 -> Mmad -> Fixpipe, double-buffered.
//
// Structure after asc-devkit examples/01_simd_cpp_api/05_best_practices/01_matrix_compute/
// matmul_basic_api_high_performance (prefetch = true: the next L1 chunk is asked for after the Mmad that frees its
// buffer, B before A) and PTO-ISA kernels/manual/a2a3/gemm_performance (prefetch = false: a chunk is asked for where
// it is first used). The loads follow the samples: one 3D load for A, 2D loads for B stored [n][k], a transposing 3D
// load (8-bit: LoadDataWithTranspose) for B stored [k][n] or as column blocks [n/16][k][16] (catlass zN).
#pragma once

#include "kernel_operator.h"
using namespace AscendC;

enum MatmulLayoutB { b_n_by_k = 0, b_k_by_n = 1, b_column_blocks = 2 };

// All numbers of a launch; tests/timing/matmul_tiling.py writes the same fields in the same order.
struct MatmulTiling {
    int32_t m;
    int32_t n;
    int32_t k;
    int32_t base_m;  // tile of L0C
    int32_t base_n;
    int32_t base_k;  // depth of an L0 slice
    int32_t step_ka;  // L0 slices in an L1 chunk of A, of B
    int32_t step_kb;
    int32_t layout_b;
    int32_t prefetch;
    int32_t unit_flag;
    int32_t l1_buffers;  // 2: the next chunk loads while this one is used; 1: chunks of one slice only
    // Which tiles a core computes. Panels (swizzle = 0): block b has rows (b % panels_m + round * panels_m) and columns
    // (b / panels_m) of a grid of panels. Tiles dealt one by one (swizzle > 0): catlass GemmIdentityBlockSwizzle.
    int32_t panel_m;
    int32_t panel_n;
    int32_t panels_m;  // panels side by side along m in one round
    int32_t m_inner;   // inside a panel the row of tiles changes fastest
    int32_t swizzle;
    int32_t swizzle_direction;
    int32_t in_runs;   // a block takes tiles that follow each other, not every so many
    int32_t keep_a;    // A's rows stay in L1 in their whole depth until a tile has others; one buffer
    int32_t rotate_k;  // block b begins with chunk b of the depth; all chunks are full, those of A and B alike
};

template <class T, class Acc, class O>
class MatmulTile {
public:
    static constexpr uint32_t k0 = 32 / sizeof(T);
    static constexpr uint32_t squares = k0 < 16 ? 16 : k0;  // rows of B stored [k][n] come in squares to transpose

    __aicore__ inline MatmulTile(const MatmulTiling& tiling) : t(tiling)
    {
        const uint32_t a_chunk = t.base_m * (t.keep_a ? t.k : t.base_k * t.step_ka);
        const uint32_t b_chunk = t.base_n * t.base_k * t.step_kb;
        const uint32_t l1_b = (t.keep_a ? 1 : 2) * a_chunk * uint32_t(sizeof(T));
        const uint32_t half_l0 = 32768;
        for (uint32_t i = 0; i < 2; ++i) {
            a1[i] = LocalTensor<T>(TPosition::A1, t.keep_a ? 0 : i * a_chunk * uint32_t(sizeof(T)), a_chunk);
            b1[i] = LocalTensor<T>(TPosition::B1, l1_b + i * b_chunk * uint32_t(sizeof(T)), b_chunk);
            a2[i] = LocalTensor<T>(TPosition::A2, i * half_l0, half_l0 / uint32_t(sizeof(T)));
            b2[i] = LocalTensor<T>(TPosition::B2, i * half_l0, half_l0 / uint32_t(sizeof(T)));
        }
        c0 = LocalTensor<Acc>(TPosition::CO1, 0, t.base_m * t.base_n);
    }
    __aicore__ inline void begin()
    {
        for (int32_t i = 0; i < 4; ++i) {
            SetFlag<HardEvent::MTE1_MTE2>(i);
        }
        SetFlag<HardEvent::M_MTE1>(0);
        SetFlag<HardEvent::M_MTE1>(1);
        if (!t.unit_flag) {
            SetFlag<HardEvent::FIX_M>(0);
        }
    }
    __aicore__ inline void end()
    {
        for (int32_t i = 0; i < 4; ++i) {
            WaitFlag<HardEvent::MTE1_MTE2>(i);
        }
        WaitFlag<HardEvent::M_MTE1>(0);
        WaitFlag<HardEvent::M_MTE1>(1);
        if (!t.unit_flag) {
            WaitFlag<HardEvent::FIX_M>(0);
        }
    }

    // C[rows x columns] = A[rows x depth] * B[depth x columns]; `a` and `b` start at the tile's first row and column.
    __aicore__ inline void run(const GlobalTensor<T>& a, uint32_t lda, const GlobalTensor<T>& b, uint32_t ldb,
        const GlobalTensor<O>& c, uint32_t ldc, uint32_t rows, uint32_t columns, uint32_t depth)
    {
        tile = {rows, columns, depth, up(rows, 16), up(columns, 16), lda, ldb};
        const uint32_t slices = (depth + t.base_k - 1) / t.base_k;
        uint32_t next_a = 0;
        uint32_t next_b = 0;
        chunks = (slices + t.step_kb - 1) / t.step_kb;
        first_chunk = t.rotate_k ? GetBlockIdx() % chunks : 0;
        if (t.keep_a) {
            load_whole_a(a);
        }
        if (t.prefetch && !t.keep_a) {
            copy_a(a, next_a);
        }
        if (t.prefetch) {
            copy_b(b, next_b);
        }
        for (uint32_t i = 0; i < slices; ++i) {
            const bool last = i + 1 == slices;
            const bool first_a = !t.keep_a && i % t.step_ka == 0;
            const bool first_b = i % t.step_kb == 0;
            const bool last_a = !t.keep_a && (last || (i + 1) % t.step_ka == 0);
            const bool last_b = last || (i + 1) % t.step_kb == 0;
            if (!t.prefetch && first_a) {
                copy_a(a, next_a);
            }
            if (!t.prefetch && first_b) {
                copy_b(b, next_b);
            }
            const uint32_t k = i * t.base_k;
            const uint32_t thick = depth - k < uint32_t(t.base_k) ? depth - k : t.base_k;
            WaitFlag<HardEvent::M_MTE1>(l0);
            if (first_a) {
                WaitFlag<HardEvent::MTE2_MTE1>(read_a);
            }
            load_a(t.keep_a ? place(i / t.step_kb) * t.step_kb + i % t.step_kb : i % t.step_ka, up(thick, k0));
            if (first_b) {
                WaitFlag<HardEvent::MTE2_MTE1>(2 + read_b);
            }
            load_b(i % t.step_kb, up(thick, k0), chunk(i / t.step_kb, t.step_kb));
            if (last_a) {
                SetFlag<HardEvent::MTE1_MTE2>(read_a);
                read_a = other(read_a);
            }
            if (last_b) {
                SetFlag<HardEvent::MTE1_MTE2>(2 + read_b);
                read_b = other(read_b);
            }
            SetFlag<HardEvent::MTE1_M>(l0);
            WaitFlag<HardEvent::MTE1_M>(l0);
            if (i == 0 && !t.unit_flag) {
                WaitFlag<HardEvent::FIX_M>(0);
            }
            multiply(thick, i == 0, last);
            SetFlag<HardEvent::M_MTE1>(l0);
            l0 ^= 1;
            if (t.prefetch && (i == 0 || last_b) && next_b * t.step_kb < slices) {
                copy_b(b, next_b);
            }
            if (t.prefetch && !t.keep_a && (i == 0 || last_a) && next_a * t.step_ka < slices) {
                copy_a(a, next_a);
            }
        }
        store(c, ldc);
    }

private:
    struct Shape {
        uint32_t rows;
        uint32_t columns;
        uint32_t depth;
        uint32_t rows_up;
        uint32_t columns_up;
        uint32_t lda;
        uint32_t ldb;
    };

    static __aicore__ inline uint32_t up(uint32_t x, uint32_t unit) { return (x + unit - 1) / unit * unit; }
    __aicore__ inline int32_t other(int32_t buffer) const { return t.l1_buffers == 2 ? buffer ^ 1 : buffer; }
    // Elements along k that chunk `index` of `step` slices holds.
    __aicore__ inline uint32_t chunk(uint32_t index, int32_t step) const
    {
        const uint32_t full = uint32_t(step) * t.base_k;
        return tile.depth - index * full < full ? tile.depth - index * full : full;
    }

    // The chunk of the depth that comes as the `turn`-th.
    __aicore__ inline uint32_t place(uint32_t turn) const { return t.rotate_k ? (turn + first_chunk) % chunks : turn; }

    __aicore__ inline void load_whole_a(const GlobalTensor<T>& a)
    {
        if (a.GetPhyAddr() == kept_a) {
            return;
        }
        kept_a = a.GetPhyAddr();
        SetFlag<HardEvent::MTE1_MTE2>(4);
        WaitFlag<HardEvent::MTE1_MTE2>(4);
        DataCopy(a1[0], a, Nd2NzParams(1, tile.rows, tile.depth, 0, tile.lda, tile.rows_up, 1, 0));
        SetFlag<HardEvent::MTE2_MTE1>(4);
        WaitFlag<HardEvent::MTE2_MTE1>(4);
    }
    __aicore__ inline void copy_a(const GlobalTensor<T>& a, uint32_t& next)
    {
        const uint32_t at = place(next);
        const uint32_t width = chunk(at, t.step_ka);
        WaitFlag<HardEvent::MTE1_MTE2>(write_a);
        DataCopy(a1[write_a], a[uint64_t(at) * t.step_ka * t.base_k],
            Nd2NzParams(1, tile.rows, width, 0, tile.lda, tile.rows_up, 1, 0));
        SetFlag<HardEvent::MTE2_MTE1>(write_a);
        write_a = other(write_a);
        ++next;
    }
    __aicore__ inline void copy_b(const GlobalTensor<T>& b, uint32_t& next)
    {
        const uint32_t at = place(next);
        const uint32_t width = chunk(at, t.step_kb);
        const uint64_t k = uint64_t(at) * t.step_kb * t.base_k;
        WaitFlag<HardEvent::MTE1_MTE2>(2 + write_b);
        if (t.layout_b == b_n_by_k) {
            DataCopy(b1[write_b], b[k], Nd2NzParams(1, tile.columns, width, 0, tile.ldb, tile.columns_up, 1, 0));
        } else if (t.layout_b == b_k_by_n) {
            DataCopy(b1[write_b], b[k * tile.ldb], Nd2NzParams(1, width, tile.columns, 0, tile.ldb, up(width, squares), 1, 0));
        } else {
            DataCopy(b1[write_b], b[k * k0], DataCopyParams(tile.columns_up / k0, width, tile.ldb - width, 0));
        }
        SetFlag<HardEvent::MTE2_MTE1>(2 + write_b);
        write_b = other(write_b);
        ++next;
    }
    __aicore__ inline void load_a(uint32_t slice, uint32_t thick)
    {
        const LocalTensor<T> from = a1[read_a][slice * t.base_k * tile.rows_up];
        if constexpr (sizeof(T) == 2) {
            LoadData3DParamsV2<T> p;
            p.l1H = 1;
            p.l1W = tile.rows_up;
            p.channelSize = thick;
            p.kExtension = thick;
            p.mExtension = tile.rows_up;
            LoadData(a2[l0], from, p);
        } else {
            LoadData2DParams p;
            p.repeatTimes = thick / k0;
            p.srcStride = tile.rows_up / 16;
            for (uint32_t i = 0; i < tile.rows_up / 16; ++i) {
                LoadData(a2[l0][i * 16 * thick], from[i * 16 * k0], p);
            }
        }
    }
    __aicore__ inline void load_b(uint32_t slice, uint32_t thick, uint32_t chunk_depth)
    {
        if (t.layout_b == b_n_by_k) {
            LoadData2DParams p;
            p.repeatTimes = tile.columns_up / 16;
            p.srcStride = 1;
            const LocalTensor<T> from = b1[read_b][slice * t.base_k * tile.columns_up];
            for (uint32_t i = 0; i < thick / k0; ++i) {
                LoadData(b2[l0][i * tile.columns_up * k0], from[i * tile.columns_up * k0], p);
            }
        } else if constexpr (sizeof(T) == 2) {
            LoadData3DParamsV2<T> p;
            p.l1H = 1;
            p.l1W = up(chunk_depth, squares);
            p.channelSize = tile.columns_up;
            p.kExtension = tile.columns_up;
            p.mExtension = thick;
            p.mStartPt = slice * t.base_k;
            p.enTranspose = true;
            LoadData(b2[l0], b1[read_b], p);
        } else if constexpr (sizeof(T) == 1) {
            LoadData2dTransposeParams p;
            p.repeatTimes = tile.columns_up / 32;
            p.srcStride = up(chunk_depth, k0) / k0;
            p.dstGap = 1;
            for (uint32_t i = 0; i < thick / k0; ++i) {
                p.startIndex = slice * t.base_k / k0 + i;
                LoadDataWithTranspose(b2[l0][i * tile.columns_up * k0], b1[read_b], p);
            }
        }
    }
    __aicore__ inline void multiply(uint32_t thick, bool first, bool last)
    {
        MmadParams p;
        p.m = tile.rows == 1 ? 16 : tile.rows;  // one row would be the vector form, with another layout of A
        p.n = tile.columns;
        p.k = thick;
        p.cmatrixInitVal = first;
        p.unitFlag = !t.unit_flag ? 0 : last ? 3 : 2;
        Mmad(c0, a2[l0], b2[l0], p);
        if (tile.rows_up / 16 * (tile.columns_up / 16) < 10) {
            PipeBarrier<PIPE_M>();
        }
    }
    __aicore__ inline void store(const GlobalTensor<O>& c, uint32_t ldc)
    {
        if (!t.unit_flag) {
            SetFlag<HardEvent::M_FIX>(0);
            WaitFlag<HardEvent::M_FIX>(0);
        }
        FixpipeParamsV220 p;
        p.nSize = tile.columns;
        p.mSize = tile.rows;
        p.srcStride = tile.rows_up;
        p.dstStride = ldc;
        p.quantPre = sizeof(O) == sizeof(Acc) ? NoQuant : F322F16;
        p.unitFlag = t.unit_flag ? 3 : 0;
        Fixpipe<O, Acc>(c, c0, p);
        if (!t.unit_flag) {
            SetFlag<HardEvent::FIX_M>(0);
        }
    }

    const MatmulTiling t;
    Shape tile = {};
    LocalTensor<T> a1[2];
    LocalTensor<T> b1[2];
    LocalTensor<T> a2[2];
    LocalTensor<T> b2[2];
    LocalTensor<Acc> c0;
    int32_t write_a = 0;
    int32_t write_b = 0;
    int32_t read_a = 0;
    int32_t read_b = 0;
    int32_t l0 = 0;
    uint32_t chunks = 0;
    uint32_t first_chunk = 0;
    const __gm__ T* kept_a = nullptr;
};

// Calls visit(row, column, rows, columns) for every output tile of block `block`, in the order the block computes them.
template <class Visit>
__aicore__ inline void for_each_tile(const MatmulTiling& t, uint32_t block, uint32_t blocks, const Visit& visit)
{
    const auto part = [](int32_t whole, uint32_t begin, int32_t most) {
        return whole - int32_t(begin) < most ? uint32_t(whole) - begin : uint32_t(most);
    };
    if (t.swizzle == 0) {
        const uint32_t columns = block / t.panels_m * t.panel_n;
        for (uint32_t at = block % t.panels_m * t.panel_m; at < uint32_t(t.m) && columns < uint32_t(t.n);
             at += t.panels_m * t.panel_m) {
            const uint32_t m_tiles = (part(t.m, at, t.panel_m) + t.base_m - 1) / t.base_m;
            const uint32_t n_tiles = (part(t.n, columns, t.panel_n) + t.base_n - 1) / t.base_n;
            for (uint32_t i = 0; i < m_tiles * n_tiles; ++i) {
                const uint32_t row = at + (t.m_inner ? i % m_tiles : i / n_tiles) * t.base_m;
                const uint32_t column = columns + (t.m_inner ? i / m_tiles : i % n_tiles) * t.base_n;
                visit(row, column, part(at + part(t.m, at, t.panel_m), row, t.base_m),
                    part(columns + part(t.n, columns, t.panel_n), column, t.base_n));
            }
        }
        return;
    }
    const uint32_t m_tiles = (t.m + t.base_m - 1) / t.base_m;
    const uint32_t n_tiles = (t.n + t.base_n - 1) / t.base_n;
    const uint32_t along = t.swizzle_direction == 0 ? m_tiles : n_tiles;  // dealt in bands of `swizzle`
    const uint32_t across = t.swizzle_direction == 0 ? n_tiles : m_tiles;
    const uint32_t all = m_tiles * n_tiles;
    const uint32_t most = all % blocks;  // blocks that have one tile more
    const uint32_t begin = t.in_runs ? block * (all / blocks) + (block < most ? block : most) : block;
    const uint32_t end = t.in_runs ? begin + all / blocks + (block < most ? 1 : 0) : all;
    for (uint32_t i = begin; i < end; i += t.in_runs ? 1 : blocks) {
        const uint32_t band = i / (t.swizzle * across);
        const uint32_t in_band = i % (t.swizzle * across);
        const uint32_t thick = along - band * t.swizzle < uint32_t(t.swizzle) ? along - band * t.swizzle : t.swizzle;
        const uint32_t major = band * t.swizzle + in_band % thick;
        const uint32_t minor = band % 2 ? across - 1 - in_band / thick : in_band / thick;
        const uint32_t row = (t.swizzle_direction == 0 ? major : minor) * t.base_m;
        const uint32_t column = (t.swizzle_direction == 0 ? minor : major) * t.base_n;
        visit(row, column, part(t.m, row, t.base_m), part(t.n, column, t.base_n));
    }
}

// Offset of the tile at `column` in B, and B's pitch, for the tile pipeline.
__aicore__ inline uint64_t offset_in_b(const MatmulTiling& t, uint32_t column)
{
    return t.layout_b == b_k_by_n ? column : uint64_t(column) * t.k;
}
__aicore__ inline uint32_t pitch_of_b(const MatmulTiling& t)
{
    return t.layout_b == b_k_by_n ? t.n : t.k;
}

// All tiles of this block: C = A * B.
template <class T, class Acc, class O>
__aicore__ inline void multiply_tiles(const MatmulTiling& t, GM_ADDR a, GM_ADDR b, GM_ADDR c)
{
    GlobalTensor<T> ga;
    GlobalTensor<T> gb;
    GlobalTensor<O> gc;
    ga.SetGlobalBuffer((__gm__ T*)a);
    gb.SetGlobalBuffer((__gm__ T*)b);
    gc.SetGlobalBuffer((__gm__ O*)c);
    MatmulTile<T, Acc, O> tile(t);
    tile.begin();
    for_each_tile(t, GetBlockIdx(), GetBlockNum(), [&](uint32_t row, uint32_t column, uint32_t rows, uint32_t columns) {
        tile.run(ga[uint64_t(row) * t.k], t.k, gb[offset_in_b(t, column)], pitch_of_b(t),
            gc[uint64_t(row) * t.n + column], t.n, rows, columns, t.k);
    });
    tile.end();
}
