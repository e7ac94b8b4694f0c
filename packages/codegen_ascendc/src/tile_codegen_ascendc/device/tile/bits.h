// Bits of integers and packed masks. The instructions have 16-bit lanes: other widths are taken as such lanes, and
// the last of an odd number of bytes is the scalar unit's.
#ifndef TILE_BITS_H
#define TILE_BITS_H

namespace tile {

template <class T>
__aicore__ inline AscendC::LocalTensor<uint16_t> as_words(const AscendC::LocalTensor<T>& t)
{
    return t.template ReinterpretCast<uint16_t>();
}

struct And {
    __aicore__ static void words(const AscendC::LocalTensor<uint16_t>& d, const AscendC::LocalTensor<uint16_t>& a,
        const AscendC::LocalTensor<uint16_t>& b, int32_t count)
    {
        AscendC::And(d, a, b, count);
    }
    __aicore__ static int byte(int a, int b) { return a & b; }
};

struct Or {
    __aicore__ static void words(const AscendC::LocalTensor<uint16_t>& d, const AscendC::LocalTensor<uint16_t>& a,
        const AscendC::LocalTensor<uint16_t>& b, int32_t count)
    {
        AscendC::Or(d, a, b, count);
    }
    __aicore__ static int byte(int a, int b) { return a | b; }
};

// dst = src0 OP src1, bit by bit.
template <class Operation, class T>
__aicore__ inline void bitwise(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src0,
    const AscendC::LocalTensor<T>& src1, uint32_t count, Site site = Site::here())
{
    SiteScope scope(site);
    const uint32_t bytes = count * sizeof(T);
    if (bytes >= 2) {
        Operation::words(as_words(dst), as_words(src0), as_words(src1), static_cast<int32_t>(bytes / 2));
    }
    if constexpr (sizeof(T) == 1) {
        if (bytes % 2 != 0) {
            AscendC::PipeBarrier<PIPE_ALL>();
            const uint32_t last = bytes - 1;
            dst.SetValue(last, static_cast<T>(Operation::byte(src0.GetValue(last), src1.GetValue(last))));
            AscendC::PipeBarrier<PIPE_ALL>();
        }
    }
}

// dst = ~src.
template <class T>
__aicore__ inline void bitwise_not(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    uint32_t count, Site site = Site::here())
{
    SiteScope scope(site);
    const uint32_t bytes = count * sizeof(T);
    if (bytes >= 2) {
        AscendC::Not(as_words(dst), as_words(src), static_cast<int32_t>(bytes / 2));
    }
    if constexpr (sizeof(T) == 1) {
        if (bytes % 2 != 0) {
            AscendC::PipeBarrier<PIPE_ALL>();
            dst.SetValue(bytes - 1, static_cast<T>(~src.GetValue(bytes - 1)));
            AscendC::PipeBarrier<PIPE_ALL>();
        }
    }
}

// A vector of one number, bytes in pairs; the scratch it goes to has whole blocks.
template <class T>
__aicore__ inline void fill_scratch(const AscendC::LocalTensor<T>& dst, T value, uint32_t count)
{
    if constexpr (sizeof(T) == 1) {
        const uint16_t pair = static_cast<uint16_t>(static_cast<uint8_t>(value) * 0x0101u);
        AscendC::Duplicate(as_words(dst), pair, static_cast<int32_t>((count + 1) / 2));
    } else {
        AscendC::Duplicate(dst, value, static_cast<int32_t>(count));
    }
}

// dst = src OP number.
template <class Operation, class T>
__aicore__ inline void bitwise_scalar(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    T value, const AscendC::LocalTensor<T>& scratch, uint32_t count, Site site = Site::here())
{
    SiteScope scope(site);
    AscendC::PipeBarrier<PIPE_V>();  // the row before may still read the scratch
    fill_scratch(scratch, value, count);
    AscendC::PipeBarrier<PIPE_V>();
    bitwise<Operation>(dst, src, scratch, count);
}

// The numbers of four bits without sign that src packs, less 8. With their highest bit turned they are these as signed
// numbers, which one conversion takes apart. `dst` holds both halves of the exclusive or meanwhile, `scratch` the result
// and a repeat of the bits to turn.
template <class T>
__aicore__ inline void widen_unsigned_numbers(const AscendC::LocalTensor<half>& dst,
    const AscendC::LocalTensor<T>& src, const AscendC::LocalTensor<int16_t>& scratch, uint32_t count,
    Site site = Site::here())
{
    SiteScope scope(site);
    constexpr uint32_t lanes = kRepeatBytes / sizeof(int16_t);
    constexpr uint32_t block = kBlockBytes / sizeof(int16_t);
    constexpr int16_t tops = static_cast<int16_t>(0x8888);
    const uint32_t words = count / 4;
    const uint32_t room = (words + block - 1) / block * block;
    const auto numbers = src.template ReinterpretCast<int16_t>();
    const auto set = dst.template ReinterpretCast<int16_t>();
    const auto kept = set[room];
    const auto bits = scratch[room];
    AscendC::Duplicate(bits, tops, static_cast<int32_t>(lanes));
    AscendC::PipeBarrier<PIPE_V>();
    const AscendC::BinaryRepeatParams steps{1, 1, 1, 8, 8, 0};
    for (uint32_t start = 0; start < words; start += lanes * kMaxRepeats) {
        const uint32_t left = minimum(words - start, lanes * kMaxRepeats);
        const uint8_t repeats = static_cast<uint8_t>(left / lanes);
        const uint32_t tail = start + repeats * lanes;
        if (repeats > 0) {
            AscendC::Or(set[start], numbers[start], bits, static_cast<uint64_t>(lanes), repeats, steps);
            AscendC::And(kept[start], numbers[start], bits, static_cast<uint64_t>(lanes), repeats, steps);
        }
        if (left % lanes != 0) {
            AscendC::Or(set[tail], numbers[tail], bits, static_cast<uint64_t>(left % lanes), 1, steps);
            AscendC::And(kept[tail], numbers[tail], bits, static_cast<uint64_t>(left % lanes), 1, steps);
        }
    }
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Sub(scratch, set, kept, static_cast<int32_t>(words));
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Cast(dst, scratch.ReinterpretCast<AscendC::int4b_t>(), AscendC::RoundMode::CAST_NONE, count);
}

}  // namespace tile

#endif
