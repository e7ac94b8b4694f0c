// The vector mask register and its mode: per-repeat lanes (normal) or a total element count (counter).
#pragma once

#include "operand.h"

namespace tile_simulator {

void set_mask_counter(bool counter);
void set_mask_bits(uint64_t high, uint64_t low);
void set_mask_lanes(int64_t lanes, uint32_t element_size, bool counter, Use use);

}  // namespace tile_simulator

namespace AscendC {

using tile_simulator::Where;

inline void SetMaskNorm()
{
    tile_simulator::set_mask_counter(false);
}
inline void SetMaskCount()
{
    tile_simulator::set_mask_counter(true);
}
inline void ResetMask()
{
    tile_simulator::set_mask_bits(~uint64_t(0), ~uint64_t(0));
}

template <class T, MaskMode mode = MaskMode::NORMAL>
inline void SetVectorMask(const uint64_t maskHigh, const uint64_t maskLow)
{
    tile_simulator::set_mask_bits(maskHigh, maskLow);
}
template <class T, MaskMode mode = MaskMode::NORMAL>
inline void SetVectorMask(int32_t len, Where at = Where::here())
{
    tile_simulator::set_mask_lanes(len, sizeof(T), mode == MaskMode::COUNTER, {"SetVectorMask", at});
}

// Of the device headers' inside; operators written like the vendor's own use it.
struct AscendCUtils {
    template <class T, bool isSetMask = true>
    static void SetMask(const uint64_t maskHigh, const uint64_t maskLow)
    {
        if constexpr (isSetMask) {
            SetVectorMask<T>(maskHigh, maskLow);
        }
    }
    template <class T, bool isSetMask = true>
    static void SetMask(int32_t len, Where at = Where::here())
    {
        if constexpr (isSetMask) {
            SetVectorMask<T>(len, at);
        }
    }
    template <bool isSetMask = true>
    static void ResetMask()
    {
        if constexpr (isSetMask) {
            AscendC::ResetMask();
        }
    }
};

}  // namespace AscendC
