// Sorting (score, index) pairs of 8 bytes, on UB, PIPE_V: Sort32, MrgSort, and what the basic API builds of them.
//
// A pair is a float score and a uint32 index, or a half score, two unused bytes and a uint32 index. Scores descend;
// of equal scores the earlier comes first. half and float.
#pragma once

#include "data_copy.h"
#include "sync.h"
#include "tensor.h"
#include "vector_gather.h"

namespace AscendC {

constexpr int32_t MRG_SORT_ELEMENT_LEN = 4;

struct MrgSort4Info {
    MrgSort4Info() = default;
    MrgSort4Info(const uint16_t lengths[MRG_SORT_ELEMENT_LEN], bool suspend, uint16_t valid, uint32_t repeats)
        : ifExhaustedSuspension(suspend), validBit(valid), repeatTimes(repeats)
    {
        for (int32_t i = 0; i < MRG_SORT_ELEMENT_LEN; ++i) {
            elementLengths[i] = lengths[i];
        }
    }

    uint16_t elementLengths[MRG_SORT_ELEMENT_LEN] = {0, 0, 0, 0};  // pairs
    bool ifExhaustedSuspension = false;                            // stop as soon as a list is exhausted
    uint16_t validBit = 0;                                         // 3, 7 or 15: how many lists there are
    uint32_t repeatTimes = 1;
};

template <class T>
struct MrgSortSrcList {
    MrgSortSrcList() = default;
    MrgSortSrcList(const LocalTensor<T>& first, const LocalTensor<T>& second, const LocalTensor<T>& third,
        const LocalTensor<T>& fourth)
        : src1(first), src2(second), src3(third), src4(fourth)
    {
    }

    LocalTensor<T> src1;
    LocalTensor<T> src2;
    LocalTensor<T> src3;
    LocalTensor<T> src4;
};

}  // namespace AscendC

namespace tile_simulator {

void vector_sort32(LocalOperand dst, LocalOperand scores, LocalOperand indices, int64_t repeats, Use use);
void vector_merge(LocalOperand dst, const LocalOperand* lists, const AscendC::MrgSort4Info& info, Use use);
// All pairs of `repeats` sorted groups of 32 into one list, level by level; `temporary` holds as many pairs as dst.
void vector_merge_all(LocalOperand dst, LocalOperand temporary, int64_t repeats, Use use);
// Pairs the last MrgSort took from each list; it must have stopped at an exhausted one.
void read_merged(uint16_t* counts, Use use);

template <class T>
constexpr bool sortable = is_one_of<T, half, float>;

}  // namespace tile_simulator

namespace AscendC {

// Sorts every 32 scores with their indices into 32 pairs.
template <class T>
inline void Sort32(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<uint32_t>& src1,
    const int32_t repeatTime, Where at = Where::here())
{
    static_assert(tile_simulator::sortable<T>, "Sort32: half and float only");
    tile_simulator::vector_sort32(dst.operand(), src0.operand(), src1.operand(), repeatTime, {"Sort32", at});
}

// Merges two to four sorted lists of pairs.
template <class T>
inline void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src, const MrgSort4Info& params,
    Where at = Where::here())
{
    static_assert(tile_simulator::sortable<T>, "MrgSort: half and float only");
    const tile_simulator::LocalOperand lists[] = {
        src.src1.operand(), src.src2.operand(), src.src3.operand(), src.src4.operand()};
    tile_simulator::vector_merge(dst.operand(), lists, params, {"MrgSort", at});
}
template <class T, bool isExhaustedSuspension = false>
inline void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& sortList,
    const uint16_t elementCountList[MRG_SORT_ELEMENT_LEN], uint32_t sortedNum[MRG_SORT_ELEMENT_LEN], uint16_t validBit,
    const int32_t repeatTime, Where at = Where::here())
{
    MrgSort(dst, sortList,
        MrgSort4Info(elementCountList, isExhaustedSuspension, validBit, static_cast<uint32_t>(repeatTime)), at);
    if constexpr (isExhaustedSuspension) {
        uint16_t counts[MRG_SORT_ELEMENT_LEN] = {0, 0, 0, 0};
        tile_simulator::read_merged(counts, {"MrgSort", at});
        for (int32_t i = 0; i < MRG_SORT_ELEMENT_LEN; ++i) {
            sortedNum[i] = counts[i];
        }
    }
}
inline void GetMrgSortResult(uint16_t& mrgSortList1, uint16_t& mrgSortList2, uint16_t& mrgSortList3,
    uint16_t& mrgSortList4, Where at = Where::here())
{
    uint16_t counts[MRG_SORT_ELEMENT_LEN] = {0, 0, 0, 0};
    tile_simulator::read_merged(counts, {"GetMrgSortResult", at});
    mrgSortList1 = counts[0];
    mrgSortList2 = counts[1];
    mrgSortList3 = counts[2];
    mrgSortList4 = counts[3];
}

// Elements of T that hold so many pairs.
template <class T>
inline uint32_t GetSortOffset(const uint32_t elemOffset)
{
    static_assert(tile_simulator::sortable<T>, "GetSortOffset: half and float only");
    return elemOffset * (8 / static_cast<uint32_t>(sizeof(T)));
}
template <class T>
inline uint32_t GetSortLen(const uint32_t elemCount)
{
    return GetSortOffset<T>(elemCount);
}

// Scores are sorted where they lie on 910B: nothing to concatenate.
template <class T>
inline void Concat(
    LocalTensor<T>& concat, const LocalTensor<T>& src, const LocalTensor<T>& tmp, const int32_t repeatTime)
{
    static_assert(tile_simulator::sortable<T>, "Concat: half and float only");
    (void)tmp;
    (void)repeatTime;
    concat = src;
}
// Scores and indices of sorted pairs, 32 per repeat.
template <class T>
inline void Extract(const LocalTensor<T>& dstValue, const LocalTensor<uint32_t>& dstIndex,
    const LocalTensor<T>& sorted, const int32_t repeatTime, Where at = Where::here())
{
    static_assert(tile_simulator::sortable<T>, "Extract: half and float only");
    const uint32_t repeats = static_cast<uint32_t>(repeatTime);
    const tile_simulator::Use use = {"Extract", at};
    const uint32_t pattern = sizeof(T) == 2 ? 3 : 1;
    tile_simulator::vector_gather_mask(
        dstValue.operand(), sorted.operand(), {nullptr, pattern}, false, 0, {1, repeats, 8, 0}, use);
    tile_simulator::pipe_barrier(PIPE_V, use);
    tile_simulator::vector_gather_mask(dstIndex.operand(), sorted.template ReinterpretCast<uint32_t>().operand(),
        {nullptr, 2}, false, 0, {1, repeats, 8, 0}, use);
}
template <class T, bool isFullSort>
inline void Sort(const LocalTensor<T>& dst, const LocalTensor<T>& concat, const LocalTensor<uint32_t>& index,
    LocalTensor<T>& tmp, const int32_t repeatTime, Where at = Where::here())
{
    static_assert(tile_simulator::sortable<T>, "Sort: half and float only");
    tile_simulator::vector_sort32(dst.operand(), concat.operand(), index.operand(), repeatTime, {"Sort", at});
    if constexpr (isFullSort) {
        tile_simulator::pipe_barrier(PIPE_V, {"Sort", at});
        tile_simulator::vector_merge_all(dst.operand(), tmp.operand(), repeatTime, {"Sort", at});
    }
}

}  // namespace AscendC
