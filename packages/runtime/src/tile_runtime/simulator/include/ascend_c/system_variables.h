// Which block and core this is, and core state.
#pragma once

#include "operand.h"

namespace tile_simulator {

int64_t block_index();
int64_t block_count();
int64_t launch_block();
int64_t sub_block_index();
int64_t sub_block_count();
int64_t system_cycle();
void reset_core_state();
void trap(Use use);

// The variables of the device's compiler: the block, on every core of it, and how many there are.
struct BlockIndexVariable {
    operator int64_t() const { return launch_block(); }
};
struct BlockCountVariable {
    operator int64_t() const { return block_count(); }
};
// Compared with AscendC::AIV or AIC.
struct CoreTypeVariable {
    operator int() const { return core_type(); }
};

}  // namespace tile_simulator

inline constexpr tile_simulator::BlockIndexVariable block_idx{};
inline constexpr tile_simulator::BlockCountVariable block_num{};
inline constexpr tile_simulator::CoreTypeVariable g_coreType{};

namespace AscendC {

using tile_simulator::Where;

// AIC: the block. AIV: block * (AIVs per block) + sub block.
inline int64_t GetBlockIdx()
{
    return tile_simulator::block_index();
}
inline int64_t GetBlockNum()
{
    return tile_simulator::block_count();
}
inline int64_t GetSubBlockIdx()
{
    return tile_simulator::sub_block_index();
}
inline int64_t GetSubBlockNum()
{
    return tile_simulator::sub_block_count();
}
inline int64_t GetTaskRation()
{
    return tile_simulator::sub_block_count();
}
inline int64_t GetSystemCycle()
{
    return tile_simulator::system_cycle();
}
inline void InitSocState()
{
    tile_simulator::reset_core_state();
}
inline void Trap(Where at = Where::here())
{
    tile_simulator::trap({"Trap", at});
}
inline constexpr int16_t GetDataBlockSizeInBytes()
{
    return 32;
}

}  // namespace AscendC
