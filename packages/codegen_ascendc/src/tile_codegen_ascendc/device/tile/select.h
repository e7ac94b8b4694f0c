// Comparisons to packed bits, and selection by packed bits. Counts are in elements.
#ifndef TILE_SELECT_H
#define TILE_SELECT_H

namespace tile {

constexpr uint32_t kBitsPerBlock = 256;  // elements whose bits fill a block

template <class T, class Mask>
__aicore__ inline void compare_repeats(const AscendC::LocalTensor<Mask>& dst, const AscendC::LocalTensor<T>& a,
    const AscendC::LocalTensor<T>& b, AscendC::CMPMODE mode, uint32_t count)
{
    AscendC::Compare(dst, a, b, mode, count);
}

template <class T, class Mask>
__aicore__ inline void compare_repeats(const AscendC::LocalTensor<Mask>& dst, const AscendC::LocalTensor<T>& a, T b,
    AscendC::CMPMODE mode, uint32_t count)
{
    AscendC::CompareScalar(dst, a, b, mode, count);
}

// The right side from element `start` on: a vector goes to the padded scratch, behind the left side.
template <class T>
__aicore__ inline AscendC::LocalTensor<T> padded_right(const AscendC::LocalTensor<T>& b, uint32_t start,
    uint32_t left, const AscendC::LocalTensor<T>& scratch)
{
    copy_ub_ub(scratch, b[start], left);
    return scratch;
}

template <class T>
__aicore__ inline T padded_right(T b, uint32_t, uint32_t, const AscendC::LocalTensor<T>&)
{
    return b;
}

// Fillers that compare as false: NaN in float types; integers, of which only equality is known, differ.
template <class T>
__aicore__ inline void fill_unequal(const AscendC::LocalTensor<T>& a, uint32_t count, const AscendC::LocalTensor<T>&)
{
    if constexpr (Same<T, int32_t>::value) {
        AscendC::Duplicate(a, static_cast<int32_t>(0), static_cast<int32_t>(count));
        AscendC::Duplicate(a[count], static_cast<int32_t>(1), static_cast<int32_t>(count));
    } else if constexpr (sizeof(T) == 2) {
        AscendC::Duplicate(as_bits(a), static_cast<uint16_t>(0x7e00), static_cast<int32_t>(2 * count));
    } else {
        AscendC::Duplicate(as_bits(a), static_cast<uint32_t>(0x7fc00000), static_cast<int32_t>(2 * count));
    }
}

template <class T>
__aicore__ inline void fill_unequal(const AscendC::LocalTensor<T>& a, uint32_t count, T b)
{
    if constexpr (Same<T, int32_t>::value) {
        AscendC::Duplicate(a, static_cast<int32_t>(~b), static_cast<int32_t>(count));
    } else if constexpr (sizeof(T) == 2) {
        AscendC::Duplicate(as_bits(a), static_cast<uint16_t>(0x7e00), static_cast<int32_t>(count));
    } else {
        AscendC::Duplicate(as_bits(a), static_cast<uint32_t>(0x7fc00000), static_cast<int32_t>(count));
    }
}

// Bit k of dst = a[k] MODE b[k]; b is a vector or a number. The instruction takes whole repeats, so what is left after
// whole blocks of bits goes through `scratch`: the elements padded (a, then b if it is a vector), then a block of bits.
template <class T, class Mask, class Right>
__aicore__ inline void compare(const AscendC::LocalTensor<Mask>& dst, const AscendC::LocalTensor<T>& a,
    const Right& b, AscendC::CMPMODE mode, uint32_t count, const AscendC::LocalTensor<T>& scratch,
    Site site = Site::here())
{
    SiteScope scope(site);
    constexpr uint32_t lanes = kRepeatBytes / sizeof(T);
    constexpr uint32_t sides = Same<Right, T>::value ? 1 : 2;
    const uint32_t whole = count % lanes == 0 ? count : count / kBitsPerBlock * kBitsPerBlock;
    if (whole != 0) {
        compare_repeats(dst, a, b, mode, whole);
    }
    const uint32_t left = count - whole;
    if (left == 0) {
        return;
    }
    const uint32_t padded = ceil_to(left, lanes);
    const auto bits = scratch[sides * padded].template ReinterpretCast<Mask>();
    fill_unequal(scratch, padded, b);
    AscendC::PipeBarrier<PIPE_V>();
    copy_ub_ub(scratch, a[whole], left);
    const auto right = padded_right(b, whole, left, scratch[padded]);
    AscendC::PipeBarrier<PIPE_V>();
    compare_repeats(bits, scratch, right, mode, padded);
    AscendC::PipeBarrier<PIPE_V>();
    copy_ub_ub(dst[whole / 8], bits, (left + 7) / 8);
}

// The types the selecting instruction is declared for; it moves whatever bits they have.
template <class T>
struct Selected {
    using type = typename Choose<sizeof(T) == 4, float, half>::type;
};

template <class T>
__aicore__ inline AscendC::LocalTensor<typename Selected<T>::type> as_selected(const AscendC::LocalTensor<T>& t)
{
    return t.template ReinterpretCast<typename Selected<T>::type>();
}

// From here on vector instructions without a mask parameter take `count` elements.
__aicore__ inline void begin_counted(uint32_t count)
{
    AscendC::SetMaskCount();
    AscendC::SetVectorMask<half, AscendC::MaskMode::COUNTER>(static_cast<int32_t>(count));
}

__aicore__ inline void end_counted()
{
    AscendC::SetMaskNorm();
    AscendC::ResetMask();
}

// The mask register from the block of scratch it was prepared in.
template <class T>
__aicore__ inline void load_mask_register(const AscendC::LocalTensor<T>& scratch)
{
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::SetCmpMask(scratch);
    AscendC::PipeBarrier<PIPE_V>();
}

// dst[k] = a[k] where bit k of mask is set, else b[k]. The instruction finds the bits by an address in the mask
// register; the vendor's function would prepare it at the end of ub, which is ours to plan.
template <class T, class Mask>
__aicore__ inline void select(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<Mask>& mask,
    const AscendC::LocalTensor<T>& a, const AscendC::LocalTensor<T>& b, uint32_t count,
    const AscendC::LocalTensor<uint32_t>& scratch, Site site = Site::here())
{
    SiteScope scope(site);
    AscendC::Duplicate(scratch, address_of(mask), static_cast<int32_t>(kBlockBytes / sizeof(uint32_t)));
    load_mask_register(scratch);
    begin_counted(count);
    AscendC::Select<typename Selected<T>::type, AscendC::SELMODE::VSEL_TENSOR_TENSOR_MODE>(
        as_selected(dst), as_selected(a), as_selected(b), 1, AscendC::BinaryRepeatParams{1, 1, 1, 8, 8, 8});
    end_counted();
}

// The same with a number, which stands in the mask register.
template <class T, class Mask>
__aicore__ inline void select_scalar(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<Mask>& mask,
    const AscendC::LocalTensor<T>& a, T b, uint32_t count, const AscendC::LocalTensor<uint32_t>& scratch,
    Site site = Site::here())
{
    SiteScope scope(site);
    const auto numbers = scratch.template ReinterpretCast<T>();
    AscendC::Duplicate(numbers, b, static_cast<int32_t>(kBlockBytes / sizeof(T)));
    load_mask_register(numbers);
    begin_counted(count);
    AscendC::Select(as_selected(dst), mask.template ReinterpretCast<uint8_t>(), as_selected(a), 1,
        AscendC::BinaryRepeatParams{1, 1, 1, 8, 8, 8});
    end_counted();
}

// The same with the bits of the first 256 bytes of elements for every 256 bytes.
template <class T, class Mask>
__aicore__ inline void select_register(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<Mask>& mask,
    const AscendC::LocalTensor<T>& a, const AscendC::LocalTensor<T>& b, uint32_t count, Site site = Site::here())
{
    SiteScope scope(site);
    AscendC::Select(as_selected(dst), mask.template ReinterpretCast<uint8_t>(), as_selected(a), as_selected(b),
        AscendC::SELMODE::VSEL_CMPMASK_SPR, count);
}

}  // namespace tile

#endif
