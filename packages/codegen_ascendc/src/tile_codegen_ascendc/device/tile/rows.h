// Vector instructions on rows that do not touch: a repeat for each row, or an instruction for each. Sizes and pitches
// are in elements; rows start at multiples of 32 bytes.
#ifndef TILE_ROWS_H
#define TILE_ROWS_H

namespace tile {

constexpr uint32_t kMaxStepBytes = 255 * kBlockBytes;  // between repeats: a byte, in blocks; Copy alone goes farther

// Steps from repeat to repeat of an instruction that has one for each row, and the rows it takes: those of rows too far
// apart take one.
struct RowSteps {
    uint8_t dst;
    uint8_t a;
    uint8_t b;
    uint32_t at_once;
};

__aicore__ inline RowSteps row_steps(uint32_t dst_bytes, uint32_t a_bytes, uint32_t b_bytes)
{
    if (dst_bytes > kMaxStepBytes || a_bytes > kMaxStepBytes || b_bytes > kMaxStepBytes) {
        return {0, 0, 0, 1};
    }
    return {static_cast<uint8_t>(dst_bytes / kBlockBytes), static_cast<uint8_t>(a_bytes / kBlockBytes),
        static_cast<uint8_t>(b_bytes / kBlockBytes), kMaxRepeats};
}

// Repeats of the rows that are taken row by row, where these are fewer instructions than those that take all rows.
__aicore__ inline uint32_t repeats_along(uint32_t rows, uint32_t columns, uint32_t lanes, uint32_t at_once)
{
    const uint32_t whole = columns / lanes;
    return rows < whole || at_once == 1 ? whole : 0;
}

// What an instruction is called in Ascend C, as a type.
namespace instruction {

// With two sources.
#define TILE_BINARY(name)                                                                                             \
    struct name {                                                                                                     \
        template <class T>                                                                                            \
        __aicore__ static void apply(const AscendC::LocalTensor<T>& d, const AscendC::LocalTensor<T>& a,              \
            const AscendC::LocalTensor<T>& b, uint64_t mask, uint8_t repeats,                                         \
            const AscendC::BinaryRepeatParams& strides)                                                               \
        {                                                                                                             \
            AscendC::name(d, a, b, mask, repeats, strides);                                                           \
        }                                                                                                             \
    };
TILE_BINARY(Add)
TILE_BINARY(Sub)
TILE_BINARY(Mul)
TILE_BINARY(Div)
TILE_BINARY(Max)
TILE_BINARY(Min)
TILE_BINARY(MulAddDst)
#undef TILE_BINARY

// With one source, without a scalar and with one.
#define TILE_UNARY(name)                                                                                              \
    struct name {                                                                                                     \
        template <class T>                                                                                            \
        __aicore__ void apply(const AscendC::LocalTensor<T>& d, const AscendC::LocalTensor<T>& a, uint64_t mask,      \
            uint8_t repeats, const AscendC::UnaryRepeatParams& strides) const                                         \
        {                                                                                                             \
            AscendC::name(d, a, mask, repeats, strides);                                                              \
        }                                                                                                             \
    };
TILE_UNARY(Abs)
TILE_UNARY(Exp)
TILE_UNARY(Ln)
TILE_UNARY(Reciprocal)
TILE_UNARY(Relu)
TILE_UNARY(Rsqrt)
TILE_UNARY(Sqrt)
#undef TILE_UNARY
#define TILE_WITH_SCALAR(name)                                                                                        \
    template <class T>                                                                                                \
    struct name {                                                                                                     \
        T scalar;                                                                                                     \
        __aicore__ void apply(const AscendC::LocalTensor<T>& d, const AscendC::LocalTensor<T>& a, uint64_t mask,      \
            uint8_t repeats, const AscendC::UnaryRepeatParams& strides) const                                         \
        {                                                                                                             \
            AscendC::name(d, a, scalar, mask, repeats, strides);                                                      \
        }                                                                                                             \
    };
TILE_WITH_SCALAR(Adds)
TILE_WITH_SCALAR(Axpy)
TILE_WITH_SCALAR(LeakyRelu)
TILE_WITH_SCALAR(Maxs)
TILE_WITH_SCALAR(Mins)
TILE_WITH_SCALAR(Muls)
TILE_WITH_SCALAR(ShiftLeft)
TILE_WITH_SCALAR(ShiftRight)
#undef TILE_WITH_SCALAR

struct Cast {
    AscendC::RoundMode mode;
    template <class D, class S>
    __aicore__ void apply(const AscendC::LocalTensor<D>& d, const AscendC::LocalTensor<S>& a, uint64_t mask,
        uint8_t repeats, const AscendC::UnaryRepeatParams& strides) const
    {
        AscendC::Cast(d, a, mode, mask, repeats, strides);
    }
};

// It has no source: what stands for one is the destination.
template <class T>
struct Duplicate {
    T scalar;
    __aicore__ void apply(const AscendC::LocalTensor<T>& d, const AscendC::LocalTensor<T>&, uint64_t mask,
        uint8_t repeats, const AscendC::UnaryRepeatParams& strides) const
    {
        AscendC::Duplicate(d, scalar, mask, repeats, 1, static_cast<uint8_t>(strides.dstRepStride));
    }
};

}  // namespace instruction

// Where the second operand of a row is: blocks from lane group to lane group of a repeat, from repeat to repeat of a
// row, and elements from row to row.
struct Operand {
    uint8_t inner;
    uint8_t across;
    uint32_t down;
};

// dst[r, c] = src[r, c] op b, which lies as `place` says.
template <class Binary, class T>
__aicore__ inline void against_rows(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const AscendC::LocalTensor<T>& b, const Operand& place, uint32_t rows, uint32_t columns, uint32_t dst_pitch,
    uint32_t src_pitch)
{
    constexpr uint32_t lanes = kRepeatBytes / sizeof(T);
    constexpr uint32_t block = kBlockBytes / sizeof(T);
    const RowSteps steps = row_steps(dst_pitch * sizeof(T), src_pitch * sizeof(T), place.down * sizeof(T));
    const uint32_t whole = repeats_along(rows, columns, lanes, steps.at_once);
    for (uint32_t start = 0; start < whole; start += kMaxRepeats) {
        const uint8_t repeats = static_cast<uint8_t>(minimum(whole - start, kMaxRepeats));
        for (uint32_t row = 0; row < rows; ++row) {
            Binary::apply(dst[row * dst_pitch + start * lanes], src[row * src_pitch + start * lanes],
                b[row * place.down + start * place.across * block], static_cast<uint64_t>(lanes), repeats,
                AscendC::BinaryRepeatParams{1, 1, place.inner, 8, 8, place.across});
        }
    }
    const AscendC::BinaryRepeatParams strides(1, 1, place.inner, steps.dst, steps.a, steps.b);
    for (uint32_t column = whole * lanes; column < columns; column += lanes) {
        const uint64_t mask = minimum(columns - column, lanes);
        for (uint32_t row = 0; row < rows; row += steps.at_once) {
            const uint8_t repeats = static_cast<uint8_t>(minimum(rows - row, steps.at_once));
            Binary::apply(dst[row * dst_pitch + column], src[row * src_pitch + column],
                b[row * place.down + column / lanes * place.across * block], mask, repeats, strides);
        }
    }
}

// dst[r, c] = src0[r, c] op src1[r, c].
template <class Binary, class T>
__aicore__ inline void in_rows(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src0,
    const AscendC::LocalTensor<T>& src1, uint32_t rows, uint32_t columns, uint32_t dst_pitch, uint32_t src0_pitch,
    uint32_t src1_pitch, Site site = Site::here())
{
    SiteScope scope(site);
    against_rows<Binary>(dst, src0, src1, {1, 8, src1_pitch}, rows, columns, dst_pitch, src0_pitch);
}

// dst[r, c] = op src[r, c]; the wider of both types says how much of a row a repeat takes.
template <class Unary, class D, class S>
__aicore__ inline void in_rows(const Unary& op, const AscendC::LocalTensor<D>& dst,
    const AscendC::LocalTensor<S>& src, uint32_t rows, uint32_t columns, uint32_t dst_pitch, uint32_t src_pitch,
    Site site = Site::here())
{
    SiteScope scope(site);
    constexpr uint32_t lanes = kRepeatBytes / (sizeof(D) > sizeof(S) ? sizeof(D) : sizeof(S));
    constexpr uint8_t dst_next = lanes * sizeof(D) / kBlockBytes;
    constexpr uint8_t src_next = lanes * sizeof(S) / kBlockBytes;
    const RowSteps steps = row_steps(dst_pitch * sizeof(D), src_pitch * sizeof(S), kBlockBytes);
    const uint32_t whole = repeats_along(rows, columns, lanes, steps.at_once);
    for (uint32_t start = 0; start < whole; start += kMaxRepeats) {
        const uint8_t repeats = static_cast<uint8_t>(minimum(whole - start, kMaxRepeats));
        for (uint32_t row = 0; row < rows; ++row) {
            op.apply(dst[row * dst_pitch + start * lanes], src[row * src_pitch + start * lanes],
                static_cast<uint64_t>(lanes), repeats, AscendC::UnaryRepeatParams{1, 1, dst_next, src_next});
        }
    }
    const AscendC::UnaryRepeatParams strides(1, 1, steps.dst, steps.a);
    for (uint32_t column = whole * lanes; column < columns; column += lanes) {
        const uint64_t mask = minimum(columns - column, lanes);
        for (uint32_t row = 0; row < rows; row += steps.at_once) {
            const uint8_t repeats = static_cast<uint8_t>(minimum(rows - row, steps.at_once));
            op.apply(dst[row * dst_pitch + column], src[row * src_pitch + column], mask, repeats, strides);
        }
    }
}

// dst[r, c] = op, which has no source.
template <class Fill, class T>
__aicore__ inline void in_rows(const Fill& op, const AscendC::LocalTensor<T>& dst, uint32_t rows, uint32_t columns,
    uint32_t pitch, Site site = Site::here())
{
    in_rows(op, dst, dst, rows, columns, pitch, pitch, site);
}

}  // namespace tile

#endif
