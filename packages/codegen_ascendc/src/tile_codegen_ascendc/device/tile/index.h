// Vectors that count up, made on the vector unit alone: scalar stores would run ahead of its earlier work.
// Sizes are in elements.
#ifndef TILE_INDEX_H
#define TILE_INDEX_H

namespace tile {

// dst[k] += step on the lanes whose number has a bit set; `lanes` of one repeat.
template <class T>
__aicore__ inline void add_on_lanes(const AscendC::LocalTensor<T>& dst, uint32_t bit, uint32_t lanes)
{
    uint64_t chosen[2] = {0, 0};
    for (uint32_t lane = 0; lane < lanes; ++lane) {
        if ((lane >> bit & 1u) != 0) {
            chosen[lane / 64] |= static_cast<uint64_t>(1) << (lane % 64);
        }
    }
    AscendC::Adds(dst, dst, static_cast<T>(static_cast<int32_t>(1u << bit)), chosen, 1, {1, 1, 8, 8});
}

// dst[k] = k: the first repeat bit by bit, then twice as much with each instruction.
template <class T>
__aicore__ inline void count_up(const AscendC::LocalTensor<T>& dst, uint32_t count)
{
    const uint32_t lanes = minimum(count, static_cast<uint32_t>(kRepeatBytes / sizeof(T)));
    AscendC::Duplicate(dst, static_cast<T>(0), static_cast<int32_t>(lanes));
    for (uint32_t bit = 0; (1u << bit) < lanes; ++bit) {
        AscendC::PipeBarrier<PIPE_V>();
        add_on_lanes(dst, bit, lanes);
    }
    for (uint32_t done = lanes; done < count; done *= 2) {
        AscendC::PipeBarrier<PIPE_V>();
        const int32_t more = static_cast<int32_t>(minimum(count - done, done));
        AscendC::Adds(dst[done], dst, static_cast<T>(static_cast<int32_t>(done)), more);
    }
}

// The signed type that computes with the same bits; floats are themselves.
template <class T>
struct Counted {
    using type = T;
};
template <>
struct Counted<uint16_t> {
    using type = int16_t;
};
template <>
struct Counted<uint32_t> {
    using type = int32_t;
};

// dst[k] = first + k * step over rows of `columns` elements, which are `pitch` apart. A step of one needs no product.
template <bool unit, class T>
__aicore__ inline void progression_rows(const AscendC::LocalTensor<T>& dst, T first, T step, uint32_t rows,
    uint32_t columns, uint32_t pitch)
{
    using C = typename Counted<T>::type;
    const auto to = dst.template ReinterpretCast<C>();
    if (rows == 0 || columns == 0) {
        return;
    }
    AscendC::PipeBarrier<PIPE_V>();
    count_up(to, columns);
    for (uint32_t row = 1; row < rows; ++row) {
        if (row == 1) {
            AscendC::PipeBarrier<PIPE_V>();
        }
        AscendC::Adds(to[row * pitch], to, static_cast<C>(static_cast<int32_t>(row * columns)),
            static_cast<int32_t>(columns));
    }
    AscendC::PipeBarrier<PIPE_V>();
    if constexpr (!unit) {
        for (uint32_t row = 0; row < rows; ++row) {
            AscendC::Muls(to[row * pitch], to[row * pitch], static_cast<C>(step), static_cast<int32_t>(columns));
        }
        AscendC::PipeBarrier<PIPE_V>();
    }
    for (uint32_t row = 0; row < rows; ++row) {
        AscendC::Adds(to[row * pitch], to[row * pitch], static_cast<C>(first), static_cast<int32_t>(columns));
    }
}

// dst[k] = first + k.
template <class T>
__aicore__ inline void create_index(const AscendC::LocalTensor<T>& dst, T first, uint32_t rows, uint32_t columns,
    uint32_t pitch, Site site = Site::here())
{
    SiteScope scope(site);
    progression_rows<true>(dst, first, first, rows, columns, pitch);
}

// dst[k] = first + k * step.
template <class T>
__aicore__ inline void progression(const AscendC::LocalTensor<T>& dst, T first, T step, uint32_t rows,
    uint32_t columns, uint32_t pitch, Site site = Site::here())
{
    SiteScope scope(site);
    progression_rows<false>(dst, first, step, rows, columns, pitch);
}

}  // namespace tile

#endif
