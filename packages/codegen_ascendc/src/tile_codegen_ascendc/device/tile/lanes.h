// Copies of elements between others that stay, by the mask of an instruction. Sizes and pitches are in elements.
#ifndef TILE_LANES_H
#define TILE_LANES_H

namespace tile {

// The lanes from one repeat of elements, the first of which is element `start` of a row, that are every `step`-th from
// `first` on and before `end`.
template <uint32_t lanes>
__aicore__ inline void mask_of_lanes(
    uint64_t (&mask)[2], uint32_t start, uint32_t first, uint32_t end, uint32_t step)
{
    mask[0] = 0;
    mask[1] = 0;
    const uint32_t skipped = start > first ? (start - first + step - 1) / step * step : 0;
    for (uint32_t place = first + skipped; place < end && place < start + lanes; place += step) {
        const uint32_t lane = place - start;
        mask[lane / 64] |= static_cast<uint64_t>(1) << lane % 64;
    }
}

// dst[r, c * step] = src[r, c * step] for all rows and columns, from the given elements on, which lie at the same place
// of a block of 32 bytes in both, as those of all rows do. Each repeat of an instruction takes a row, or the next part
// of one.
template <class T>
__aicore__ inline void copy_lanes(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    uint32_t dst_first, uint32_t src_first, uint32_t rows, uint32_t columns, uint32_t step, uint32_t dst_pitch,
    uint32_t src_pitch, Site site = Site::here())
{
    SiteScope scope(site);
    if (rows == 0 || columns == 0) {
        return;
    }
    constexpr uint32_t block = kBlockBytes / sizeof(T);
    constexpr uint32_t lanes = kRepeatBytes / sizeof(T);
    const auto to = as_bits(dst);
    const auto from = as_bits(src);
    const uint32_t length = (columns - 1) * step + 1;
    const bool alike = dst_pitch % block == 0 && src_pitch % block == 0 && dst_pitch / block <= 65535;
    const uint32_t together = alike && rows > 1 ? rows : 1;
    for (uint32_t row = 0; row < rows; row += together) {
        const uint32_t first = (dst_first + row * dst_pitch) % block;
        const uint32_t there = dst_first + row * dst_pitch - first;
        const uint32_t here = src_first + row * src_pitch - first;
        uint32_t start = 0;
        while (start < first + length) {
            uint64_t mask[2];
            mask_of_lanes<lanes>(mask, start, first, first + length, step);
            // Parts inside a single row have the same lanes, where steps divide a repeat.
            const bool inside = together == 1 && start > 0 && lanes % step == 0;
            uint32_t repeats = inside ? (first + length - start) / lanes : together;
            repeats = repeats == 0 ? 1 : minimum(repeats, together == 1 ? kMaxRepeats : repeats);
            for (uint32_t done = 0; done < repeats; done += kMaxRepeats) {
                const uint32_t count = minimum(repeats - done, kMaxRepeats);
                AscendC::CopyRepeatParams strides{1, 1, 8, 8};
                if (together > 1) {
                    strides.dstRepeatSize = static_cast<uint16_t>(dst_pitch / block);
                    strides.srcRepeatSize = static_cast<uint16_t>(src_pitch / block);
                }
                if (mask[0] != 0 || mask[1] != 0) {
                    AscendC::Copy(to[there + start + (together > 1 ? done * dst_pitch : 0)],
                        from[here + start + (together > 1 ? done * src_pitch : 0)], mask,
                        static_cast<uint8_t>(count), strides);
                }
            }
            start += lanes * (together == 1 ? repeats : 1);
        }
    }
}

}  // namespace tile

#endif
