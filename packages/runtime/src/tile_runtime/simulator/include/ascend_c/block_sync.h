// Order between blocks through words of GM: IBSet and IBWait, SyncAll with a workspace, blocks in turn, groups of AIVs.
//
// A word lies at the start of 32 bytes of the kernel's workspace (GroupBarrier: of 512). These functions work on AIVs
// and do nothing on an AIC.
#pragma once

#include "system_variables.h"
#include "tensor.h"

namespace tile_simulator {

// A workspace of GM and one of UB, of 32 bytes at least.
struct SyncWorkspace {
    GlobalOperand global;
    LocalOperand local;
};

void block_set(SyncWorkspace workspace, int64_t block, int64_t event, bool vector_cores_only, Use use);
void block_wait(SyncWorkspace workspace, int64_t block, int64_t event, bool vector_cores_only, Use use);
void sync_all_in_memory(SyncWorkspace workspace, int64_t cores, Use use);
void init_turns(SyncWorkspace workspace, Use use);
void wait_for_turn(SyncWorkspace workspace, Use use);
void pass_turn(SyncWorkspace workspace, Use use);

// Counters of a group of AIVs that arrive and one that waits; each core has its own.
struct GroupCounters {
    uint64_t address;  // of the workspace
    uint32_t arrivers;
    uint32_t waiters;
    uint32_t round = 1;
    bool arrived = false;  // in this round
};

void create_group(const GroupCounters& group, Use use);
void group_arrive(GroupCounters& group, uint32_t index, Use use);
void group_wait(GroupCounters& group, uint32_t index, Use use);

}  // namespace tile_simulator

namespace AscendC {

// `blockIdx` and `eventID` name the word; the set waits until it is 0 and makes it 1, the wait makes it 0 again.
template <bool isAIVOnly = true>
inline void IBSet(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>& ubWorkspace, int32_t blockIdx,
    int32_t eventID, Where at = Where::here())
{
    tile_simulator::block_set(
        {gmWorkspace.operand(), ubWorkspace.operand()}, blockIdx, eventID, isAIVOnly, {"IBSet", at});
}
template <bool isAIVOnly = true>
inline void IBWait(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>& ubWorkspace, int32_t blockIdx,
    int32_t eventID, Where at = Where::here())
{
    tile_simulator::block_wait(
        {gmWorkspace.operand(), ubWorkspace.operand()}, blockIdx, eventID, isAIVOnly, {"IBWait", at});
}

// Without hardware flags; the workspace must be 0 at first. `usedCores` 0 means all.
template <bool isAIVOnly = true>
inline void SyncAll(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>& ubWorkspace,
    const int32_t usedCores = 0, Where at = Where::here())
{
    tile_simulator::sync_all_in_memory({gmWorkspace.operand(), ubWorkspace.operand()}, usedCores, {"SyncAll", at});
}

// Blocks one after the other: between WaitPreBlock and NotifyNextBlock a block has all blocks before it behind it.
inline void InitDetermineComputeWorkspace(
    GlobalTensor<int32_t>& gmWorkspace, LocalTensor<int32_t>& ubWorkspace, Where at = Where::here())
{
    tile_simulator::init_turns(
        {gmWorkspace.operand(), ubWorkspace.operand()}, {"InitDetermineComputeWorkspace", at});
}
inline void WaitPreBlock(
    GlobalTensor<int32_t>& gmWorkspace, LocalTensor<int32_t>& ubWorkspace, Where at = Where::here())
{
    tile_simulator::wait_for_turn({gmWorkspace.operand(), ubWorkspace.operand()}, {"WaitPreBlock", at});
}
inline void NotifyNextBlock(
    GlobalTensor<int32_t>& gmWorkspace, LocalTensor<int32_t>& ubWorkspace, Where at = Where::here())
{
    tile_simulator::pass_turn({gmWorkspace.operand(), ubWorkspace.operand()}, {"NotifyNextBlock", at});
}

// Between kernels that were made one (SuperKernel); alone, a kernel has no other before or behind it.
template <bool force = false>
inline void WaitPreTaskEnd()
{
}
template <pipe_t aivPipe = PIPE_MTE3, pipe_t aicPipe = PIPE_FIX, bool force = false>
inline void SetNextTaskStart()
{
}

enum class PipeMode : uint8_t { SCALAR_MODE = 0, MTE3_MODE = 1, MAX };

// `waitSize` AIVs wait until `arriveSize` AIVs have arrived; the workspace (512 B each) must be 0 at first.
template <PipeMode pipeMode>
class GroupBarrier {
    static_assert(pipeMode == PipeMode::MTE3_MODE, "GroupBarrier: PipeMode::MTE3_MODE only");

public:
    GroupBarrier(GM_ADDR groupWorkspace, uint32_t arriveSizeIn, uint32_t waitSizeIn, Where at = Where::here())
        : group_{reinterpret_cast<uint64_t>(groupWorkspace), arriveSizeIn, waitSizeIn}
    {
        tile_simulator::create_group(group_, {"GroupBarrier", at});
    }
    void Arrive(uint32_t arriveIndex, Where at = Where::here())
    {
        tile_simulator::group_arrive(group_, arriveIndex, {"GroupBarrier::Arrive", at});
    }
    void Wait(uint32_t waitIndex, Where at = Where::here())
    {
        tile_simulator::group_wait(group_, waitIndex, {"GroupBarrier::Wait", at});
    }
    uint64_t GetWorkspaceLen() const
    {
        return 512ull * (group_.arrivers > group_.waiters ? group_.arrivers : group_.waiters);
    }

private:
    tile_simulator::GroupCounters group_;
};

}  // namespace AscendC
