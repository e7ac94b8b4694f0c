// The cores of a block wait for each other.
#ifndef TILE_SYNC_BLOCK_H
#define TILE_SYNC_BLOCK_H

namespace tile {

// Flags that neither emitted kernels nor SyncAll use.
constexpr uint16_t block_arrives = 8;
constexpr uint16_t block_leaves = 9;

// All cores of the block are here, and what they did before is complete. `cubes`: the cube core too.
template <bool cubes>
__aicore__ inline void sync_block(Site site = Site::here())
{
    SiteScope scope(site);
    AscendC::PipeBarrier<PIPE_ALL>();
    if ASCEND_IS_AIC {
        AscendC::CrossCoreWaitFlag(block_arrives);
        AscendC::CrossCoreSetFlag<2, PIPE_FIX>(block_leaves);
    } else {
        AscendC::CrossCoreSetFlag<cubes ? 2 : 1, PIPE_MTE3>(block_arrives);
        AscendC::CrossCoreWaitFlag(cubes ? block_leaves : block_arrives);
    }
}

}  // namespace tile

#endif
