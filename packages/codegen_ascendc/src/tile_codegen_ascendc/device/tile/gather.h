// Elements of ub picked by byte offsets, by pattern or by bits. Counts are in elements.
#ifndef TILE_GATHER_H
#define TILE_GATHER_H

namespace tile {

// dst[k] = the element of src at byte base + offset[k].
template <class T, class Offset>
__aicore__ inline void gather(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const AscendC::LocalTensor<Offset>& offset, uint32_t base, uint32_t count, Site site = Site::here())
{
    SiteScope scope(site);
    constexpr uint32_t lanes = kRepeatBytes / sizeof(T);
    const auto to = as_bits(dst);
    const auto from = as_bits(src);
    const auto table = as_bits(offset);
    for (uint32_t start = 0; start < count; start += lanes * kMaxRepeats) {
        AscendC::Gather(to[start], from, table[start], base, minimum(count - start, lanes * kMaxRepeats));
    }
}

// The elements of src that one of the instruction's own patterns keeps.
template <class T>
__aicore__ inline void gather_mask(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    uint8_t pattern, uint32_t count, Site site = Site::here())
{
    SiteScope scope(site);
    if (count == 0) {
        return;
    }
    uint64_t kept = 0;
    AscendC::GatherMaskParams params{1, 1, 8, 0};
    AscendC::GatherMask(as_bits(dst), as_bits(src), pattern, true, count, params, kept);
}

// The instruction with bits of ub and strides as given.
template <class T, class Pattern>
__aicore__ inline void gather_bits(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const AscendC::LocalTensor<Pattern>& pattern, bool counted, uint32_t mask, uint32_t block_stride,
    uint32_t repeats, uint32_t src_repeat_stride, uint32_t pattern_repeat_stride, Site site = Site::here())
{
    SiteScope scope(site);
    if (counted && mask == 0) {
        return;
    }
    uint64_t kept = 0;
    AscendC::GatherMaskParams params;
    params.src0BlockStride = static_cast<uint8_t>(block_stride);
    params.repeatTimes = static_cast<uint16_t>(repeats);
    params.src0RepeatStride = static_cast<uint16_t>(src_repeat_stride);
    params.src1RepeatStride = static_cast<uint8_t>(pattern_repeat_stride);
    AscendC::GatherMask(as_bits(dst), as_bits(src), as_bits(pattern), counted, mask, params, kept);
}

// Blocks of 32 bytes by byte offsets, eight a repeat. What the bits mean does not matter.
template <class T, class Offset>
__aicore__ inline void gather_blocks(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const AscendC::LocalTensor<Offset>& offset, uint32_t repeats, uint32_t block_stride, uint32_t repeat_stride,
    Site site = Site::here())
{
    SiteScope scope(site);
    AscendC::GatherRepeatParams params;
    params.dstBlkStride = static_cast<uint8_t>(block_stride);
    params.dstRepStride = static_cast<uint16_t>(repeat_stride);
    AscendC::Gatherb(dst.template ReinterpretCast<uint32_t>(), src.template ReinterpretCast<uint32_t>(),
        as_bits(offset), static_cast<uint8_t>(repeats), params);
}

}  // namespace tile

#endif
