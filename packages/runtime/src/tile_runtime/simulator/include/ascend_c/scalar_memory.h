// Scalar loads and stores of GM past the data cache, and atomic ones.
#pragma once

#include "tensor.h"

namespace tile_simulator {

void global_load_past_cache(GlobalOperand element, uint32_t bytes, void* value, Use use);
void global_store_past_cache(GlobalOperand element, uint32_t bytes, const void* value, Use use);

}  // namespace tile_simulator

namespace AscendC {

template <class T>
inline T ReadGmByPassDCache(__gm__ T* addr, Where at = Where::here())
{
    static_assert(std::is_integral_v<T>, "ReadGmByPassDCache: integers of 8 to 64 bits only");
    T value;
    tile_simulator::global_load_past_cache(
        {reinterpret_cast<uint64_t>(addr), tile_simulator::type_code<T>::value}, sizeof(T), &value,
        {"ReadGmByPassDCache", at});
    return value;
}
template <class T>
inline void WriteGmByPassDCache(__gm__ T* addr, T value, Where at = Where::here())
{
    static_assert(std::is_integral_v<T>, "WriteGmByPassDCache: integers of 8 to 64 bits only");
    tile_simulator::global_store_past_cache(
        {reinterpret_cast<uint64_t>(addr), tile_simulator::type_code<T>::value}, sizeof(T), &value,
        {"WriteGmByPassDCache", at});
}

}  // namespace AscendC
