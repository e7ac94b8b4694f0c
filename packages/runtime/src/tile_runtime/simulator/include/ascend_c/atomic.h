// Atomic mode of later DMA writes to GM.
#pragma once

#include "operand.h"

namespace tile_simulator {

enum class AtomicKind : uint8_t { none, add, max, min };

void set_atomic(AtomicKind kind, DataType type);
void set_atomic_type(DataType type);

template <class T>
constexpr bool atomic_type = is_one_of<T, int8_t, int16_t, half, bfloat16_t, int32_t, float>;

}  // namespace tile_simulator

namespace AscendC {

template <class T>
inline void SetAtomicAdd()
{
    static_assert(tile_simulator::atomic_type<T>, "SetAtomicAdd: int8, int16, half, bfloat16, int32 or float");
    tile_simulator::set_atomic(tile_simulator::AtomicKind::add, tile_simulator::type_code<T>::value);
}
template <class T>
inline void SetAtomicMax()
{
    static_assert(tile_simulator::atomic_type<T>, "SetAtomicMax: int8, int16, half, bfloat16, int32 or float");
    tile_simulator::set_atomic(tile_simulator::AtomicKind::max, tile_simulator::type_code<T>::value);
}
template <class T>
inline void SetAtomicMin()
{
    static_assert(tile_simulator::atomic_type<T>, "SetAtomicMin: int8, int16, half, bfloat16, int32 or float");
    tile_simulator::set_atomic(tile_simulator::AtomicKind::min, tile_simulator::type_code<T>::value);
}
inline void SetAtomicNone()
{
    tile_simulator::set_atomic(tile_simulator::AtomicKind::none, tile_simulator::DataType::other);
}
// The type alone; the kind of operation stays. Set by SetAtomicAdd, SetAtomicMax and SetAtomicMin already.
template <class T>
inline void SetAtomicType()
{
    static_assert(tile_simulator::atomic_type<T>, "SetAtomicType: int8, int16, half, bfloat16, int32 or float");
    tile_simulator::set_atomic_type(tile_simulator::type_code<T>::value);
}

}  // namespace AscendC
