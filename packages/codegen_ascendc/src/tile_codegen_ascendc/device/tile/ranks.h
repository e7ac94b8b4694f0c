// The instances that other ranks have of a symmetric tensor, and words that ranks signal each other by.
#ifndef TILE_RANKS_H
#define TILE_RANKS_H

#include "shmem.h"

namespace tile {

// The tensor of the rank `pe`.
template <class T>
__aicore__ inline AscendC::GlobalTensor<T> on_rank(const AscendC::GlobalTensor<T>& own, int32_t pe, Site site = Site::here())
{
    SiteScope scope(site);
    AscendC::GlobalTensor<T> there;
    there.SetGlobalBuffer(static_cast<__gm__ T*>(aclshmem_ptr((__gm__ void*)own.GetPhyAddr(), pe)));
    return there;
}

// What signals add goes through these 32 bytes of ub, not through its first ones.
__aicore__ inline void add_through(const AscendC::LocalTensor<int32_t>& line)
{
    aclshmemx_set_mte_config(line.address_.bufferAddr, 32, 0);
}

}  // namespace tile

#endif
