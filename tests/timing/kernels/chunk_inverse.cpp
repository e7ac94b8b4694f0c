// o = (I + a)^-1 of strictly lower 128 x 128 matrices, a block for each: 32 x 32 blocks of the diagonal on the AIVs row by
// row, the rest by products on the AIC.
//
// Structure after tilelang-ascend examples/linear_attention_and_rnn/opt_gdn/opt_gdn_solve_tril.py (the one for 128), with
// what its calls come down to (library_calls.h, serial_gemm.h): the blocks below the diagonal are negated first, products
// go through o. As there, instructions of the vector pipe are not separated by barriers but those inside of the calls.
#include "library_calls.h"
#include "serial_gemm.h"

namespace chunk_inverse {

constexpr uint32_t size = 128;
constexpr uint32_t f = 32;
constexpr uint32_t square = f * f;

template <HardEvent event>
__aicore__ inline void pass()
{
    SetFlag<event>(0);
    WaitFlag<event>(0);
}
__aicore__ inline LocalTensor<half> l1(uint32_t index) { return LocalTensor<half>(TPosition::A1, index * 8192, 4 * square); }
__aicore__ inline LocalTensor<float> l0c(uint32_t index) { return LocalTensor<float>(TPosition::CO1, index * 16384, 4 * square); }

class Cube {
public:
    __aicore__ inline explicit Cube(GM_ADDR to) { o.SetGlobalBuffer((__gm__ half*)to + uint64_t(GetBlockIdx()) * size * size); }
    __aicore__ inline void run()
    {
        CrossCoreWaitFlag(2);
        load(l1(0), 2 * f, 0, 2 * f);
        load(l1(1), f, 0, f);
        for (uint32_t i = 0; i < 2; ++i) {
            const uint32_t at = 2 * i * f;
            CrossCoreWaitFlag(i);
            load(l1(2), at, at, f);
            serial_gemm::multiply(l0c(0), l1(1), l1(2), f, f, f, false);
            store(l0c(0), at + f, at, f);
            load(l1(3), at + f, at + f, f);
            serial_gemm::stored();
            load(l1(4), at + f, at, f);
            serial_gemm::multiply(l0c(1), l1(3), l1(4), f, f, f, false);
            store(l0c(1), at + f, at, f);
            if (i == 0) {
                load(l1(1), 3 * f, 2 * f, f);
            }
        }
        // The source loads this block before the flag that follows; it reads what the product above has written.
        serial_gemm::stored();
        load(l1(5), 0, 0, 2 * f);
        serial_gemm::multiply(l0c(2), l1(0), l1(5), 2 * f, 2 * f, 2 * f, false);
        store(l0c(2), 2 * f, 0, 2 * f);
        load(l1(6), 2 * f, 2 * f, 2 * f);
        serial_gemm::stored();
        load(l1(7), 2 * f, 0, 2 * f);
        serial_gemm::multiply(l0c(3), l1(6), l1(7), 2 * f, 2 * f, 2 * f, false);
        store(l0c(3), 2 * f, 0, 2 * f);
    }

private:
    __aicore__ inline void load(const LocalTensor<half>& to, uint32_t row, uint32_t column, uint32_t side)
    {
        serial_gemm::load(to, o[row * size + column], side, side, size);
    }
    __aicore__ inline void store(const LocalTensor<float>& c, uint32_t row, uint32_t column, uint32_t side)
    {
        serial_gemm::store(o[row * size + column], c, side, side, size);
    }
    GlobalTensor<half> o;
};

class Vector {
public:
    __aicore__ inline Vector(GM_ADDR from, GM_ADDR identity, GM_ADDR to)
    {
        const uint64_t at = uint64_t(GetBlockIdx() / 2) * size * size;
        a.SetGlobalBuffer((__gm__ half*)from + at);
        o.SetGlobalBuffer((__gm__ half*)to + at);
        ones.SetGlobalBuffer((__gm__ float*)identity);
    }
    __aicore__ inline void run()
    {
        const uint32_t me = GetSubBlockIdx();
        load(block, (me * 2 + 1) * f, me * 2 * f, f);
        load(wide_block, (me + 2) * f, 0, 2 * f);
        Duplicate(zeros, half(0), square);
        Duplicate(wide_zeros, half(0), 2 * square);
        pass<HardEvent::V_MTE3>();
        store(zeros, me * 2 * f, (me * 2 + 1) * f, f);
        store(wide_zeros, me * f, 2 * f, 2 * f);
        pass<HardEvent::MTE2_V>();
        Sub(block, zeros, block, square);
        Sub(wide_block, wide_zeros, wide_block, 2 * square);
        pass<HardEvent::V_MTE3>();
        store(block, (me * 2 + 1) * f, me * 2 * f, f);
        store(wide_block, (me + 2) * f, 0, 2 * f);
        CrossCoreSetFlag<2, PIPE_MTE3>(2);
        for (uint32_t i = 0; i < 2; ++i) {
            const LocalTensor<half> diagonal = diagonals[i * square];
            const uint32_t at = (i * 2 + me) * f;
            load(diagonal, at, at, f);
            Duplicate(products, 0.0f, square);
            pass<HardEvent::MTE2_V>();
            DataCopyPad(unit, ones, DataCopyExtParams(f, f * 4, (size - f) * 4, 0, 0), DataCopyPadExtParams<float>());
            Cast(x, diagonal, RoundMode::CAST_NONE, square);
            invert();
            pass<HardEvent::MTE2_V>();
            Sub(x, unit, x, square);
            Cast(diagonal, x, RoundMode::CAST_RINT, square);
            pass<HardEvent::V_MTE3>();
            store(diagonal, at, at, f);
            CrossCoreSetFlag<2, PIPE_MTE3>(i);
        }
    }

private:
    // Rows of x from those of the block to those of the negated rest of its inverse, each from the rows above it.
    __aicore__ inline void invert()
    {
        for (uint32_t i = 2; i < f; ++i) {
            Adds(row, x[i * f], 0.0f, f);
            library::spread_along_rows(rows, row, scratch, f, f);
            Duplicate(sums, 0.0f, f);
            Mul(products, x, rows, square);
            library::sum_columns(sums, products, scratch, f, f);
            Sub(x[i * f], x[i * f], sums, f);
        }
    }
    __aicore__ inline void load(const LocalTensor<half>& to, uint32_t at, uint32_t column, uint32_t columns)
    {
        DataCopyPad(to, a[at * size + column], DataCopyExtParams(f, columns * 2, (size - columns) * 2, 0, 0), DataCopyPadExtParams<half>());
    }
    __aicore__ inline void store(const LocalTensor<half>& from, uint32_t at, uint32_t column, uint32_t columns)
    {
        DataCopyPad(o[at * size + column], from, DataCopyExtParams(f, columns * 2, 0, (size - columns) * 2, 0));
    }

    GlobalTensor<half> a;
    GlobalTensor<half> o;
    GlobalTensor<float> ones;
    LocalTensor<float> x{TPosition::VECCALC, 0, square};
    LocalTensor<float> rows{TPosition::VECCALC, 4096, square};
    LocalTensor<float> unit{TPosition::VECCALC, 8192, square};
    LocalTensor<float> products{TPosition::VECCALC, 12288, square};
    LocalTensor<float> row{TPosition::VECCALC, 16384, f};
    LocalTensor<float> sums{TPosition::VECCALC, 16512, f};
    LocalTensor<half> block{TPosition::VECCALC, 16640, square};
    LocalTensor<half> diagonals{TPosition::VECCALC, 18688, 2 * square};
    LocalTensor<half> zeros{TPosition::VECCALC, 22784, square};
    LocalTensor<half> wide_block{TPosition::VECCALC, 24832, 2 * square};
    LocalTensor<half> wide_zeros{TPosition::VECCALC, 28928, 2 * square};
    LocalTensor<float> scratch{TPosition::VECCALC, 33024, square};
};

}  // namespace chunk_inverse

extern "C" __global__ __aicore__ void chunk_inverse_128(GM_ADDR a, GM_ADDR identity, GM_ADDR o)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    InitSocState();
    if ASCEND_IS_AIC {
        chunk_inverse::Cube cube(o);
        cube.run();
    }
    if ASCEND_IS_AIV {
        chunk_inverse::Vector vector(a, identity, o);
        vector.run();
    }
    PipeBarrier<PIPE_ALL>();
}
