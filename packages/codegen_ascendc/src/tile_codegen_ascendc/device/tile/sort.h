// Sorting to pairs of 8 bytes, a float value and what belongs to it, largest value first. Counts of pairs are in pairs,
// other counts in elements.
#ifndef TILE_SORT_H
#define TILE_SORT_H

namespace tile {

constexpr uint32_t kSortGroup = 32;  // elements that one repeat of the instruction sorts
constexpr uint32_t kMergeLists = 4;
constexpr uint32_t kFloatsPerPair = 2;

// 0, 1, 2, ... as floats; `count` is a multiple of 32. The lanes of the first repeat are made bit by bit, so that the
// scalar unit has no part in it; the rest by doubling.
__aicore__ inline void count_up(const AscendC::LocalTensor<float>& dst, uint32_t count)
{
    constexpr uint32_t lanes = kRepeatBytes / sizeof(float);
    constexpr uint64_t with_bit[6] = {0xaaaaaaaaaaaaaaaaull, 0xccccccccccccccccull, 0xf0f0f0f0f0f0f0f0ull,
        0xff00ff00ff00ff00ull, 0xffff0000ffff0000ull, 0xffffffff00000000ull};
    const uint32_t first = minimum(count, lanes);
    AscendC::Duplicate(dst, 0.0f, static_cast<int32_t>(first));
    for (uint32_t bit = 0; (1u << bit) < first; ++bit) {
        uint64_t mask[2] = {first == lanes ? with_bit[bit] : with_bit[bit] & 0xffffffffull, 0};
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Adds(dst, dst, static_cast<float>(1u << bit), mask, 1, AscendC::UnaryRepeatParams{1, 1, 8, 8});
    }
    for (uint32_t done = lanes; done < count; done *= 2) {
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Adds(dst[done], dst, static_cast<float>(done), static_cast<int32_t>(minimum(done, count - done)));
    }
}

// Pairs of every 32 elements.
template <class T>
__aicore__ inline void sort_groups(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& values,
    const AscendC::LocalTensor<uint32_t>& index, uint32_t groups)
{
    constexpr uint32_t per_group = kSortGroup * (8 / sizeof(T));
    for (uint32_t group = 0; group < groups; group += kMaxRepeats) {
        AscendC::Sort32(dst[group * per_group], values[group * kSortGroup], index[group * kSortGroup],
            static_cast<int32_t>(minimum(groups - group, kMaxRepeats)));
    }
}

// One merge of up to four neighbouring lists of `length` pairs, `repeats` times over; the last list may be shorter. Of
// each the first `kept` take part.
__aicore__ inline void merge_lists(const AscendC::LocalTensor<float>& dst, const AscendC::LocalTensor<float>& src,
    uint32_t length, uint32_t pairs, uint32_t repeats, uint32_t kept)
{
    AscendC::MrgSort4Info info;
    info.ifExhaustedSuspension = false;
    info.repeatTimes = static_cast<uint8_t>(repeats);
    uint32_t lists = 0;
    for (uint32_t i = 0; i < kMergeLists; ++i) {
        const uint32_t before = minimum(i * length, pairs);
        info.elementLengths[i] = static_cast<uint16_t>(minimum(minimum(pairs - before, length), kept));
        lists += info.elementLengths[i] != 0 ? 1 : 0;
    }
    info.validBit = static_cast<uint16_t>((1u << lists) - 1);
    // Lists that do not take part must still be tensors inside ub.
    const uint32_t step = length * kFloatsPerPair;
    AscendC::MrgSort(dst,
        AscendC::MrgSortSrcList<float>{src, src[step], src[lists > 2 ? 2 * step : 0], src[lists > 3 ? 3 * step : 0]},
        info);
}

// All runs of `length` pairs of src merged by fours into dst, of which the first `kept` are wanted. Of longer lists no
// more take part; that leaves gaps, and repeats have none, so that every merge is an instruction.
__aicore__ inline void merge_runs(const AscendC::LocalTensor<float>& dst, const AscendC::LocalTensor<float>& src,
    uint32_t length, uint32_t pairs, uint32_t kept)
{
    const uint32_t four = kMergeLists * length;
    constexpr uint32_t issue = 8;  // of an instruction, in pairs of a list
    const bool cut = length > kept + issue;
    const uint32_t most = cut ? 1 : kMaxRepeats;
    const uint32_t part = cut ? kept : length;
    uint32_t done = pairs / four * four;
    for (uint32_t start = 0; start < done; start += four * most) {
        const uint32_t repeats = minimum((done - start) / four, most);
        merge_lists(dst[start * kFloatsPerPair], src[start * kFloatsPerPair], length, four, repeats, part);
    }
    const uint32_t left = pairs - done;
    if (left > length) {
        merge_lists(dst[done * kFloatsPerPair], src[done * kFloatsPerPair], length, left, 1, part);
    } else if (left != 0) {
        copy_ub_ub(dst[done * kFloatsPerPair], src[done * kFloatsPerPair], minimum(left, part) * kFloatsPerPair);
    }
}

// The sorted groups in the first half of `scratch` merged into one list of `pairs`, in one of both halves, of which the
// first `kept` are wanted.
__aicore__ inline AscendC::LocalTensor<float> merge_groups(
    const AscendC::LocalTensor<float>& scratch, uint32_t pairs, uint32_t kept)
{
    const auto even = scratch;
    const auto odd = scratch[pairs * kFloatsPerPair];
    bool in_even = true;
    for (uint32_t length = kSortGroup; length < pairs; length *= kMergeLists) {
        merge_runs(in_even ? odd : even, in_even ? even : odd, length, pairs, kept);
        AscendC::PipeBarrier<PIPE_V>();
        in_even = !in_even;
    }
    return in_even ? even : odd;
}

// Blocks of floats of which the largest alone is sorted first, and from how many elements on that is faster.
constexpr uint32_t kFloatsPerBlock = kBlockBytes / sizeof(float);
constexpr uint32_t kFewestToChoose = 1024;

// Whether the first `kept` of `padded` elements come from few of their blocks: from as many as are kept.
__aicore__ inline bool from_few_blocks(uint32_t padded, uint32_t kept)
{
    return padded >= kFewestToChoose && padded >= 2 * kFloatsPerBlock * ceil_to(kept, kSortGroup);
}

// The first pairs (value, index as a value) of `count` elements, a multiple of 256, at the front of the list that is
// returned. Elements in front of which there are `kept` are in no block but those whose largest are in front of all
// others: the first of equal blocks has the first of equal elements. These blocks alone are sorted, in their order.
// `scratch` has four floats for each of `room` elements; `values` may lie in its second half.
__aicore__ inline AscendC::LocalTensor<float> sort_few_blocks(const AscendC::LocalTensor<float>& values,
    uint32_t count, uint32_t kept, const AscendC::LocalTensor<float>& scratch, uint32_t room)
{
    constexpr uint32_t block = kFloatsPerBlock;
    constexpr uint32_t per_repeat = kRepeatBytes / kBlockBytes;
    const uint32_t blocks = count / block;
    const uint32_t chosen = ceil_to(kept, kSortGroup);
    const auto largest = scratch[4 * blocks];
    const auto index = largest[blocks];
    const auto number = index[blocks];
    const auto order = number[chosen];
    const auto first = order[4 * chosen];
    const auto offset = first[chosen];
    const auto picked = offset[chosen];
    const auto label = scratch;
    for (uint32_t done = 0; done < blocks; done += per_repeat * kMaxRepeats) {
        const uint32_t repeats = minimum((blocks - done) / per_repeat, kMaxRepeats);
        AscendC::BlockReduceMax(largest[done], values[done * block], static_cast<int32_t>(repeats),
            static_cast<int32_t>(kRepeatBytes / sizeof(float)), 1, 1, 8);
    }
    count_up(index, blocks);
    AscendC::PipeBarrier<PIPE_V>();
    sort_groups(scratch, largest, index.ReinterpretCast<uint32_t>(), blocks / kSortGroup);
    AscendC::PipeBarrier<PIPE_V>();
    gather_mask(number, merge_groups(scratch, blocks, chosen), 2, chosen * kFloatsPerPair);
    AscendC::PipeBarrier<PIPE_V>();
    // The blocks in the order of their numbers: the smallest is the largest of the negative ones.
    AscendC::Muls(number, number, -1.0f, static_cast<int32_t>(chosen));
    AscendC::PipeBarrier<PIPE_V>();
    sort_groups(order, number, number.ReinterpretCast<uint32_t>(), chosen / kSortGroup);
    AscendC::PipeBarrier<PIPE_V>();
    gather_mask(number, merge_groups(order, chosen, chosen), 1, chosen * kFloatsPerPair);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Muls(first, number, -static_cast<float>(block), static_cast<int32_t>(chosen));
    AscendC::Muls(number, number, -static_cast<float>(kBlockBytes), static_cast<int32_t>(chosen));
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Cast(offset.ReinterpretCast<int32_t>(), number, AscendC::RoundMode::CAST_RINT, chosen);
    AscendC::Brcb(as_bits(label), as_bits(first), static_cast<uint8_t>(chosen / per_repeat), {1, per_repeat});
    AscendC::PipeBarrier<PIPE_V>();
    gather_blocks(picked, values, offset.ReinterpretCast<uint32_t>(), chosen / per_repeat, 1, per_repeat);
    AscendC::Add(label, label, index, static_cast<uint64_t>(kRepeatBytes / sizeof(float)),
        static_cast<uint8_t>(chosen / per_repeat), {1, 1, 0, 8, 8, 0});
    AscendC::PipeBarrier<PIPE_V>();
    const auto pairs = scratch[room * kFloatsPerPair];
    sort_groups(pairs, picked, label.ReinterpretCast<uint32_t>(), chosen * block / kSortGroup);
    AscendC::PipeBarrier<PIPE_V>();
    return merge_groups(pairs, chosen * block, kept);
}

// The first `kept` pairs (value, index as a value) of the first `actual` of `count` elements, the rest of which counts
// as -inf. `scratch` holds twice the pairs of whole groups. src is only read.
template <class T>
__aicore__ inline void sort_pairs(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    uint32_t count, uint32_t actual, uint32_t kept, const AscendC::LocalTensor<float>& scratch,
    Site site = Site::here())
{
    SiteScope scope(site);
    if (count == 0 || kept == 0) {
        return;
    }
    const uint32_t room = ceil_to(count, kSortGroup);
    const uint32_t used = minimum(actual, count);
    const bool few = from_few_blocks(room, kept);
    const uint32_t padded = few ? ceil_to(room, kSortGroup * kFloatsPerBlock) : room;
    auto values = scratch[room * kFloatsPerPair];
    bool copied = true;
    if constexpr (Same<T, float>::value) {
        if (few && used == padded) {
            values = src;
            copied = false;
        }
    }
    if (copied) {
        AscendC::Duplicate(values, float_from_bits(0xff800000u), static_cast<int32_t>(padded));
    }
    if (!few) {
        count_up(values[padded], padded);
    }
    AscendC::PipeBarrier<PIPE_V>();
    if (copied && used != 0) {
        if constexpr (Same<T, half>::value) {
            AscendC::Cast(values, src, AscendC::RoundMode::CAST_NONE, used);
        } else {
            copy_ub_ub(values, src, used);
        }
        AscendC::PipeBarrier<PIPE_V>();
    }
    auto sorted = scratch;
    if (few) {
        sorted = sort_few_blocks(values, padded, kept, scratch, room);
    } else {
        sort_groups(scratch, values, values[padded].template ReinterpretCast<uint32_t>(), padded / kSortGroup);
        AscendC::PipeBarrier<PIPE_V>();
        sorted = merge_groups(scratch, padded, kept);
    }
    if constexpr (Same<T, half>::value) {
        AscendC::Cast(dst, sorted, AscendC::RoundMode::CAST_RINT, kept * kFloatsPerPair);
    } else {
        copy_ub_ub(dst, sorted, kept * kFloatsPerPair);
    }
}

// Rows of `columns` elements, whole blocks, with so many elements between the rows of each side.
__aicore__ inline void copy_whole_blocks(const AscendC::LocalTensor<float>& dst, const AscendC::LocalTensor<float>& src,
    uint32_t rows, uint32_t columns, uint32_t dst_gap, uint32_t src_gap)
{
    constexpr uint32_t block = kBlockBytes / sizeof(float);
    AscendC::DataCopyParams params;
    params.blockCount = static_cast<uint16_t>(rows);
    params.blockLen = static_cast<uint16_t>(columns / block);
    params.srcStride = static_cast<uint16_t>(src_gap / block);
    params.dstStride = static_cast<uint16_t>(dst_gap / block);
    AscendC::DataCopy(dst, src, params);
}

// The numbers of the elements of a row, `columns` of them, for each of `rows` rows; `columns` is a multiple of 32.
__aicore__ inline void count_rows(const AscendC::LocalTensor<float>& dst, uint32_t rows, uint32_t columns)
{
    count_up(dst, columns);
    for (uint32_t done = 1; done < rows; done *= 2) {
        AscendC::PipeBarrier<PIPE_V>();
        copy_ub_ub(dst[done * columns], dst, minimum(done, rows - done) * columns);
    }
}

// The sorted groups of `rows` rows of `pairs` pairs in the first half of `scratch` merged row by row, in one of both
// halves, which are `half` pairs apart; of each row the first `kept` are wanted. Rows do not wait for each other.
__aicore__ inline AscendC::LocalTensor<float> merge_rows(
    const AscendC::LocalTensor<float>& scratch, uint32_t half, uint32_t rows, uint32_t pairs, uint32_t kept)
{
    auto from = scratch;
    auto to = scratch[half * kFloatsPerPair];
    for (uint32_t length = kSortGroup; length < pairs; length *= kMergeLists) {
        const bool whole = pairs % (kMergeLists * length) == 0;
        const uint32_t at_once = whole ? rows * pairs : pairs;
        for (uint32_t start = 0; start < rows * pairs; start += at_once) {
            merge_runs(to[start * kFloatsPerPair], from[start * kFloatsPerPair], length, at_once, kept);
        }
        AscendC::PipeBarrier<PIPE_V>();
        const auto merged = to;
        to = from;
        from = merged;
    }
    return from;
}

// Of every row of `columns` elements the first `kept` pairs (value, number in the row as a value), without gaps between
// the rows of either. `scratch`, of `room` floats, holds the pairs of some rows twice: so many are sorted at a time.
__aicore__ inline void sort_rows(const AscendC::LocalTensor<float>& dst, const AscendC::LocalTensor<float>& src,
    uint32_t count, uint32_t columns, uint32_t kept, const AscendC::LocalTensor<float>& scratch, uint32_t room,
    Site site = Site::here())
{
    SiteScope scope(site);
    const uint32_t padded = ceil_to(columns, kSortGroup);
    const uint32_t rows = columns == 0 ? 0 : count / columns;
    if (from_few_blocks(padded, kept) && columns % (kSortGroup * kFloatsPerBlock) == 0) {
        for (uint32_t row = 0; row < rows; ++row) {
            const auto best = sort_few_blocks(src[row * columns], columns, kept, scratch, columns);
            copy_ub_ub(dst[row * kept * kFloatsPerPair], best, kept * kFloatsPerPair);
            AscendC::PipeBarrier<PIPE_V>();
        }
        return;
    }
    const uint32_t most = room / (2 * kFloatsPerPair * padded);
    for (uint32_t first = 0; first < rows; first += most) {
        const uint32_t now = minimum(most, rows - first);
        const auto values = scratch[most * padded * kFloatsPerPair];
        const auto index = values[most * padded];
        if (first != 0) {
            AscendC::PipeBarrier<PIPE_V>();
        }
        count_rows(index, now, padded);
        if (padded != columns) {
            AscendC::Duplicate(values, float_from_bits(0xff800000u), static_cast<int32_t>(now * padded));
            AscendC::PipeBarrier<PIPE_V>();
            copy_whole_blocks(values, src[first * columns], now, columns, padded - columns, 0);
        }
        AscendC::PipeBarrier<PIPE_V>();
        sort_groups(scratch, padded != columns ? values : src[first * columns],
            index.template ReinterpretCast<uint32_t>(), now * padded / kSortGroup);
        AscendC::PipeBarrier<PIPE_V>();
        const auto sorted = merge_rows(scratch, most * padded, now, padded, kept);
        copy_whole_blocks(dst[first * kept * kFloatsPerPair], sorted, now, kept * kFloatsPerPair, 0,
            (padded - kept) * kFloatsPerPair);
    }
}

// Pairs (value, bits of the index) of all `count` elements, a multiple of 32. `scratch` holds them twice.
template <class Index>
__aicore__ inline void sort_labelled(const AscendC::LocalTensor<float>& dst, const AscendC::LocalTensor<float>& src,
    const AscendC::LocalTensor<Index>& index, uint32_t count, const AscendC::LocalTensor<float>& scratch,
    Site site = Site::here())
{
    SiteScope scope(site);
    if (count == 0) {
        return;
    }
    sort_groups(scratch, src, as_bits(index), count / kSortGroup);
    AscendC::PipeBarrier<PIPE_V>();
    copy_ub_ub(dst, merge_groups(scratch, count, count), count * kFloatsPerPair);
}

// Pairs (value, bits of the index) of every 32 elements.
template <class T, class Index>
__aicore__ inline void sort32(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const AscendC::LocalTensor<Index>& index, uint32_t count, Site site = Site::here())
{
    SiteScope scope(site);
    sort_groups(dst, src, as_bits(index), count / kSortGroup);
}

// The first `count` elements become pairs below all others: -inf, and all bits set.
__aicore__ inline void lowest_pairs(
    const AscendC::LocalTensor<float>& dst, uint32_t count, Site site = Site::here())
{
    SiteScope scope(site);
    constexpr uint32_t lanes = kRepeatBytes / sizeof(float);
    constexpr uint64_t even = 0x5555555555555555ull;
    const auto bits = dst.template ReinterpretCast<uint32_t>();
    for (uint32_t start = 0; start < count; start += lanes * kMaxRepeats) {
        const uint32_t repeats = minimum((count - start) / lanes, kMaxRepeats);
        const uint32_t rest = repeats == kMaxRepeats ? 0 : (count - start) % lanes;
        for (uint32_t odd = 0; odd < 2; ++odd) {
            const uint32_t value = odd != 0 ? 0xffffffffu : 0xff800000u;
            if (repeats != 0) {
                uint64_t mask[2] = {even << odd, 0};
                AscendC::Duplicate(bits[start], value, mask, static_cast<uint8_t>(repeats), 1, 8);
            }
            if (rest != 0) {
                uint64_t mask[2] = {(even << odd) & ((1ull << rest) - 1), 0};
                AscendC::Duplicate(bits[start + repeats * lanes], value, mask, 1, 1, 8);
            }
        }
    }
}

// Two to four sorted lists merged; one that does not take part has no elements.
__aicore__ inline void merge_sort(const AscendC::LocalTensor<float>& dst, const AscendC::LocalTensor<float>& a,
    uint32_t a_count, const AscendC::LocalTensor<float>& b, uint32_t b_count, const AscendC::LocalTensor<float>& c,
    uint32_t c_count, const AscendC::LocalTensor<float>& d, uint32_t d_count, uint32_t lists,
    Site site = Site::here())
{
    SiteScope scope(site);
    AscendC::MrgSort4Info info;
    info.elementLengths[0] = static_cast<uint16_t>(a_count / kFloatsPerPair);
    info.elementLengths[1] = static_cast<uint16_t>(b_count / kFloatsPerPair);
    info.elementLengths[2] = static_cast<uint16_t>(c_count / kFloatsPerPair);
    info.elementLengths[3] = static_cast<uint16_t>(d_count / kFloatsPerPair);
    info.ifExhaustedSuspension = false;
    info.validBit = static_cast<uint16_t>((1u << lists) - 1);
    info.repeatTimes = 1;
    AscendC::MrgSort(dst, AscendC::MrgSortSrcList<float>{a, b, c, d}, info);
}

}  // namespace tile

#endif
