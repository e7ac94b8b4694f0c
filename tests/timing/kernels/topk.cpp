// The k largest of every row with their indices.
//
// Structure after PTO-ISA kernels/manual/a2a3/topk (topk_kernel.cpp): rows are dealt to the cores, two rows at a time in
// each of two sets of buffers. A row: Sort32, MrgSort of four lists while four are left, then of two, with a copy and a
// barrier after each, and the values and indices gathered from the pairs.
#include "kernel_operator.h"
using namespace AscendC;

namespace topk {

constexpr uint32_t pair = 8;      // bytes of a value with its index
constexpr uint32_t at_once = 2;   // rows
constexpr uint32_t columns = 1024;

template <class T>
class Rows {
public:
    static constexpr uint32_t lanes = pair / sizeof(T);  // elements of T in a pair
    static constexpr uint32_t row = columns * lanes;

    __aicore__ inline Rows(GM_ADDR src, GM_ADDR index, GM_ADDR out, GM_ADDR out_index, uint32_t pitch, uint32_t k)
        : pitch(pitch), k(k)
    {
        from.SetGlobalBuffer((__gm__ T*)src);
        labels_from.SetGlobalBuffer((__gm__ uint32_t*)index);
        to.SetGlobalBuffer((__gm__ T*)out);
        labels_to.SetGlobalBuffer((__gm__ uint32_t*)out_index);
        uint32_t at = 0;
        const auto place = [&](uint32_t bytes) {
            const uint32_t begin = at;
            at += (bytes + 255) / 256 * 256;
            return begin;
        };
        labels = LocalTensor<uint32_t>(TPosition::VECCALC, place(columns * 4), columns);
        for (uint32_t i = 0; i < 2; ++i) {
            scores[i] = LocalTensor<T>(TPosition::VECIN, place(at_once * columns * sizeof(T)), at_once * columns);
            sorted[i] = LocalTensor<T>(TPosition::VECCALC, place(at_once * columns * pair), at_once * row);
            merged[i] = LocalTensor<T>(TPosition::VECCALC, place(at_once * columns * pair), at_once * row);
            spare[i] = LocalTensor<T>(TPosition::VECCALC, place(columns * pair), row);
            best[i] = LocalTensor<T>(TPosition::VECOUT, place(at_once * k * sizeof(T)), at_once * k);
            best_labels[i] = LocalTensor<uint32_t>(TPosition::VECOUT, place(at_once * k * 4), at_once * k);
        }
    }
    __aicore__ inline void begin()
    {
        DataCopy(labels, labels_from, columns);
        for (int32_t i = 0; i < 2; ++i) {
            SetFlag<HardEvent::V_MTE2>(i);
            SetFlag<HardEvent::MTE3_V>(i);
        }
    }
    __aicore__ inline void end()
    {
        for (int32_t i = 0; i < 2; ++i) {
            WaitFlag<HardEvent::V_MTE2>(i);
            WaitFlag<HardEvent::MTE3_V>(i);
        }
    }
    __aicore__ inline void run(uint32_t first, int32_t slot)
    {
        WaitFlag<HardEvent::V_MTE2>(slot);
        DataCopy(scores[slot], from[uint64_t(first) * pitch],
            DataCopyParams(at_once, columns * sizeof(T) / 32, (pitch - columns) * sizeof(T) / 32, 0));
        SetFlag<HardEvent::MTE2_V>(slot);
        WaitFlag<HardEvent::MTE2_V>(slot);
        for (uint32_t i = 0; i < at_once; ++i) {
            Sort32(sorted[slot][i * row], scores[slot][i * columns], labels, columns / 32);
            PipeBarrier<PIPE_V>();
        }
        SetFlag<HardEvent::V_MTE2>(slot);
        WaitFlag<HardEvent::MTE3_V>(slot);
        for (uint32_t i = 0; i < at_once; ++i) {
            merge(merged[slot][i * row], sorted[slot][i * row], spare[slot]);
        }
        PipeBarrier<PIPE_V>();
        const uint32_t kept = k;
        for (uint32_t i = 0; i < at_once; ++i) {
            uint64_t count = 0;
            const uint8_t values = sizeof(T) == 4 ? 1 : 3;  // every second of two, every fourth of four
            GatherMask(best[slot][i * kept], merged[slot][i * row], values, true, kept * lanes, GatherMaskParams(1, 1, 8, 0), count);
        }
        SetFlag<HardEvent::V_MTE3>(slot);
        PipeBarrier<PIPE_V>();
        for (uint32_t i = 0; i < at_once; ++i) {
            uint64_t count = 0;
            GatherMask(best_labels[slot][i * kept], merged[slot][i * row].template ReinterpretCast<uint32_t>(), uint8_t(2), true,
                kept * 2, GatherMaskParams(1, 1, 8, 0), count);
        }
        SetFlag<HardEvent::V_MTE3>(2 + slot);
        WaitFlag<HardEvent::V_MTE3>(slot);
        DataCopy(to[uint64_t(first) * kept], best[slot], at_once * kept);
        WaitFlag<HardEvent::V_MTE3>(2 + slot);
        DataCopy(labels_to[uint64_t(first) * kept], best_labels[slot], at_once * kept);
        SetFlag<HardEvent::MTE3_V>(slot);
    }

private:
    __aicore__ inline void move(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t pairs)
    {
        PipeBarrier<PIPE_V>();
        DataCopy(dst, src, (pairs * lanes + 31) / 32 * 32);
    }
    __aicore__ inline void merge(const LocalTensor<T>& dst, const LocalTensor<T>& lists, const LocalTensor<T>& tmp)
    {
        uint32_t length = 32;
        for (; length * 4 <= columns; length *= 4) {
            const uint16_t each = uint16_t(length);
            MrgSort4Info info;
            for (uint16_t& list : info.elementLengths) {
                list = each;
            }
            info.validBit = 15;
            info.repeatTimes = columns / (length * 4);
            MrgSort(tmp, four(lists, length), info);
            move(lists, tmp, columns);
            PipeBarrier<PIPE_V>();
        }
        for (uint32_t done = length; done < columns; done += length) {
            MrgSort4Info info;
            info.elementLengths[0] = uint16_t(done < k ? done : k);
            info.elementLengths[1] = uint16_t(length < k ? length : k);
            info.validBit = 3;
            info.repeatTimes = 1;
            MrgSort(tmp, MrgSortSrcList<T>(lists, lists[done * lanes], lists, lists), info);
            move(lists, tmp, done + length);
            PipeBarrier<PIPE_V>();
        }
        move(dst, lists, k);
    }
    __aicore__ inline MrgSortSrcList<T> four(const LocalTensor<T>& lists, uint32_t length) const
    {
        return MrgSortSrcList<T>(lists, lists[length * lanes], lists[2 * length * lanes], lists[3 * length * lanes]);
    }

    const uint32_t pitch;
    const uint32_t k;
    GlobalTensor<T> from;
    GlobalTensor<uint32_t> labels_from;
    GlobalTensor<T> to;
    GlobalTensor<uint32_t> labels_to;
    LocalTensor<uint32_t> labels;
    LocalTensor<T> scores[2];
    LocalTensor<T> sorted[2];
    LocalTensor<T> merged[2];
    LocalTensor<T> spare[2];
    LocalTensor<T> best[2];
    LocalTensor<uint32_t> best_labels[2];
};

template <class T>
__aicore__ inline void all_rows(GM_ADDR src, GM_ADDR index, GM_ADDR out, GM_ADDR out_index, uint32_t count, uint32_t pitch, uint32_t k)
{
    InitSocState();
    Rows<T> rows(src, index, out, out_index, pitch, k);
    const uint32_t mine = count / GetBlockNum();
    rows.begin();
    for (uint32_t i = 0; i < mine; i += at_once) {
        rows.run(GetBlockIdx() * mine + i, i / at_once % 2);
    }
    rows.end();
    PipeBarrier<PIPE_ALL>();
}

}  // namespace topk

extern "C" __global__ __aicore__ void topk_f32(
    GM_ADDR src, GM_ADDR index, GM_ADDR out, GM_ADDR out_index, int32_t rows, int32_t pitch, int32_t k)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    topk::all_rows<float>(src, index, out, out_index, rows, pitch, k);
}

extern "C" __global__ __aicore__ void topk_f16(
    GM_ADDR src, GM_ADDR index, GM_ADDR out, GM_ADDR out_index, int32_t rows, int32_t pitch, int32_t k)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    topk::all_rows<half>(src, index, out, out_index, rows, pitch, k);
}
