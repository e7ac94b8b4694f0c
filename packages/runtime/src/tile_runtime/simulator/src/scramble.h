// Numbers drawn by a seed.
#pragma once

#include <cstdint>

namespace tile_simulator {

// A number that depends on all bits of `value` (the finalizer of splitmix64).
inline uint64_t scrambled(uint64_t value)
{
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
    value = (value ^ value >> 27) * 0x94d049bb133111ebull;
    return value ^ value >> 31;
}

}  // namespace tile_simulator
