// Atomic mode of later DMA writes to GM.
#pragma once

#include "operand.h"

namespace tile_simulator {

enum class AtomicKind : uint8_t { none, add, max, min };

void set_atomic(AtomicKind kind, DataType type, Use use);
void set_atomic_type(DataType type);

template <class T>
constexpr bool atomic_type = is_one_of<T, int8_t, int16_t, half, bfloat16_t, int32_t, float>;

}  // namespace tile_simulator

namespace AscendC {

using tile_simulator::Where;

template <class T>
inline void SetAtomicAdd(Where at = Where::here())
{
    static_assert(tile_simulator::atomic_type<T>, "SetAtomicAdd: int8, int16, half, bfloat16, int32 or float");
    tile_simulator::set_atomic(
        tile_simulator::AtomicKind::add, tile_simulator::type_code<T>::value, {"SetAtomicAdd", at});
}
template <class T>
inline void SetAtomicMax(Where at = Where::here())
{
    static_assert(tile_simulator::atomic_type<T>, "SetAtomicMax: int8, int16, half, bfloat16, int32 or float");
    tile_simulator::set_atomic(
        tile_simulator::AtomicKind::max, tile_simulator::type_code<T>::value, {"SetAtomicMax", at});
}
template <class T>
inline void SetAtomicMin(Where at = Where::here())
{
    static_assert(tile_simulator::atomic_type<T>, "SetAtomicMin: int8, int16, half, bfloat16, int32 or float");
    tile_simulator::set_atomic(
        tile_simulator::AtomicKind::min, tile_simulator::type_code<T>::value, {"SetAtomicMin", at});
}
inline void SetAtomicNone(Where at = Where::here())
{
    tile_simulator::set_atomic(
        tile_simulator::AtomicKind::none, tile_simulator::DataType::other, {"SetAtomicNone", at});
}
// The type alone; the kind of operation stays. Set by SetAtomicAdd, SetAtomicMax and SetAtomicMin already.
template <class T>
inline void SetAtomicType()
{
    static_assert(tile_simulator::atomic_type<T>, "SetAtomicType: int8, int16, half, bfloat16, int32 or float");
    tile_simulator::set_atomic_type(tile_simulator::type_code<T>::value);
}

}  // namespace AscendC
