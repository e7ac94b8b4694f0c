// The vector mask register and its mode: per-repeat lanes (normal) or a total element count (counter).
#pragma once

#include "operand.h"

namespace tile_simulator {

void set_mask_counter(bool counter, Use use);
void set_mask_bits(uint64_t high, uint64_t low, Use use);
void set_mask_lanes(int64_t lanes, uint32_t element_size, bool counter, Use use);

}  // namespace tile_simulator

namespace AscendC {

using tile_simulator::Where;

inline void SetMaskNorm(Where at = Where::here())
{
    tile_simulator::set_mask_counter(false, {"SetMaskNorm", at});
}
inline void SetMaskCount(Where at = Where::here())
{
    tile_simulator::set_mask_counter(true, {"SetMaskCount", at});
}
inline void ResetMask(Where at = Where::here())
{
    tile_simulator::set_mask_bits(~uint64_t(0), ~uint64_t(0), {"ResetMask", at});
}

template <class T, MaskMode mode = MaskMode::NORMAL>
inline void SetVectorMask(const uint64_t maskHigh, const uint64_t maskLow, Where at = Where::here())
{
    tile_simulator::set_mask_bits(maskHigh, maskLow, {"SetVectorMask", at});
}
template <class T, MaskMode mode = MaskMode::NORMAL>
inline void SetVectorMask(int32_t len, Where at = Where::here())
{
    tile_simulator::set_mask_lanes(len, sizeof(T), mode == MaskMode::COUNTER, {"SetVectorMask", at});
}

// Of the device headers' inside; operators written like the vendor's own use it.
struct AscendCUtils {
    template <class T, bool isSetMask = true>
    static void SetMask(const uint64_t maskHigh, const uint64_t maskLow, Where at = Where::here())
    {
        if constexpr (isSetMask) {
            SetVectorMask<T>(maskHigh, maskLow, at);
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
    static void ResetMask(Where at = Where::here())
    {
        if constexpr (isSetMask) {
            AscendC::ResetMask(at);
        }
    }
};

}  // namespace AscendC
