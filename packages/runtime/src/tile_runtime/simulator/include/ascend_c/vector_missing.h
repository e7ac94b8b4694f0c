// Vector APIs of other chips, which a kernel for Ascend 910B / A3 (dav-c220) may not use: an error where they are used.
//
// "Not supported" on A2 and A3 by the vendor's page of each; the device headers declare them all the same, and a kernel
// fails only when it runs.
#pragma once

#include "tensor.h"

namespace tile_simulator {

template <class...>
constexpr bool exists_on_910b = false;

}  // namespace tile_simulator

namespace AscendC {

template <class... A>
inline void Scatter(const A&...)
{
    static_assert(tile_simulator::exists_on_910b<A...>,
        "Scatter does not exist on Ascend 910B / A3 (dav-c220): write the elements with scalar stores, or gather");
}
template <class... A>
inline void VectorPadding(const A&...)
{
    static_assert(tile_simulator::exists_on_910b<A...>, "VectorPadding does not exist on Ascend 910B / A3 (dav-c220)");
}
template <class... A>
inline void MrgSort4(const A&...)
{
    static_assert(
        tile_simulator::exists_on_910b<A...>, "MrgSort4 does not exist on Ascend 910B / A3 (dav-c220): use MrgSort");
}
template <class... A>
inline void RpSort16(const A&...)
{
    static_assert(
        tile_simulator::exists_on_910b<A...>, "RpSort16 does not exist on Ascend 910B / A3 (dav-c220): use Sort32");
}
template <class... A>
inline void ProposalConcat(const A&...)
{
    static_assert(tile_simulator::exists_on_910b<A...>, "ProposalConcat does not exist on Ascend 910B / A3 (dav-c220)");
}
template <class... A>
inline void ProposalExtract(const A&...)
{
    static_assert(tile_simulator::exists_on_910b<A...>,
        "ProposalExtract does not exist on Ascend 910B / A3 (dav-c220): use GatherMask");
}
template <class T, RoundMode roundMode, class... A>
inline void Truncate(const A&...)
{
    static_assert(tile_simulator::exists_on_910b<A...>,
        "Truncate does not exist on Ascend 910B / A3 (dav-c220): use Cast from float to float");
}

// Without the index.
template <class T>
inline void GetReduceMaxMinCount(T&)
{
    static_assert(tile_simulator::exists_on_910b<T>,
        "GetReduceMaxMinCount(value) does not exist on Ascend 910B / A3 (dav-c220): read the index too");
}
template <class T>
inline void GetReduceRepeatMaxMinSpr(T&)
{
    static_assert(tile_simulator::exists_on_910b<T>,
        "GetReduceRepeatMaxMinSpr(value) does not exist on Ascend 910B / A3 (dav-c220): read the index too");
}
template <class... A>
inline void AtomicAdd(const A&...)
{
    static_assert(tile_simulator::exists_on_910b<A...>,
        "AtomicAdd does not exist on Ascend 910B / A3 (dav-c220): copy with SetAtomicAdd");
}
template <class... A>
inline void AtomicMax(const A&...)
{
    static_assert(tile_simulator::exists_on_910b<A...>,
        "AtomicMax does not exist on Ascend 910B / A3 (dav-c220): copy with SetAtomicMax");
}
template <class... A>
inline void AtomicMin(const A&...)
{
    static_assert(tile_simulator::exists_on_910b<A...>,
        "AtomicMin does not exist on Ascend 910B / A3 (dav-c220): copy with SetAtomicMin");
}

}  // namespace AscendC
