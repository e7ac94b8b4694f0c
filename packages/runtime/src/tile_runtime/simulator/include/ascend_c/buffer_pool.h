// TBufPool: parts of UB or L1 that hand out buffers to queues, one part after another over the same bytes.
#pragma once

#include "queue.h"

namespace AscendC {

template <TPosition pos, uint32_t bufIDSize_ = 4>
class TBufPool {
    static_assert(GetPhyType(pos) == Hardware::UB || GetPhyType(pos) == Hardware::L1, "TBufPool: of UB or L1 only");
    static_assert(bufIDSize_ <= 16, "TBufPool: 16 buffers at most");

public:
    static constexpr TPosition poolPos = pos;
    static constexpr uint32_t bufIDSize = bufIDSize_;

    TBufPool() = default;
    ~TBufPool() { tile_simulator::pool_end(state_); }
    TBufPool(const TBufPool&) = delete;
    TBufPool& operator=(const TBufPool&) = delete;

    template <class Pool>
    bool InitBufPool(Pool& pool, uint32_t bytes, Where at = Where::here())
    {
        tile_simulator::pool_divide(pool.state(), state_, static_cast<uint8_t>(Pool::poolPos), Pool::bufIDSize, bytes,
            {"TBufPool::InitBufPool", at});
        return true;
    }
    template <class Pool, class Shared>
    bool InitBufPool(Pool& pool, uint32_t bytes, Shared& shared, Where at = Where::here())
    {
        tile_simulator::pool_share(pool.state(), shared.state(), static_cast<uint8_t>(Pool::poolPos),
            Pool::bufIDSize, bytes, {"TBufPool::InitBufPool", at});
        return true;
    }
    template <class Queue>
    bool InitBuffer(Queue& queue, uint8_t number, uint32_t bytes, Where at = Where::here())
    {
        queue.create_buffers(state_, number, bytes, {"TBufPool::InitBuffer", at});
        return true;
    }
    template <TPosition position>
    bool InitBuffer(TBuf<position>& buffer, uint32_t bytes, Where at = Where::here())
    {
        const tile_simulator::PipeBuffer& made = *tile_simulator::pool_add_buffers(
            state_, static_cast<uint8_t>(position), 1, bytes, {"TBufPool::InitBuffer", at});
        buffer.address_.logicPos = static_cast<uint8_t>(position);
        buffer.address_.dataLen = made.bytes;
        buffer.address_.bufferAddr = made.address;
        return true;
    }
    // Waits until the last users of its buffers are done with them.
    void Reset(Where at = Where::here()) { tile_simulator::pool_reset(state_, {"TBufPool::Reset", at}); }

    tile_simulator::PoolState& state() { return state_; }

private:
    tile_simulator::PoolState state_;
};

}  // namespace AscendC

// The members of a pool whose InitBuffer a kernel writes itself.
#define EXTERN_IMPL_BUFPOOL(EXT_BUFPOOL, POSITION, BUFID_SIZE)                                                       \
public:                                                                                                              \
    static constexpr AscendC::TPosition poolPos = POSITION;                                                          \
    static constexpr uint32_t bufIDSize = BUFID_SIZE;                                                                \
    ~EXT_BUFPOOL() { tile_simulator::pool_end(pool_state_); }                                                        \
    void Init()                                                                                                      \
    {                                                                                                                \
        static_assert(AscendC::GetPhyType(poolPos) == AscendC::Hardware::UB ||                                       \
                          AscendC::GetPhyType(poolPos) == AscendC::Hardware::L1,                                     \
            "a buffer pool lies in UB or L1");                                                                       \
    }                                                                                                                \
    void Reset(AscendC::Where at = AscendC::Where::here())                                                           \
    {                                                                                                                \
        tile_simulator::pool_reset(pool_state_, {#EXT_BUFPOOL "::Reset", at});                                       \
    }                                                                                                                \
    AscendC::TBufHandle GetBufHandle(uint8_t offset, AscendC::Where at = AscendC::Where::here())                     \
    {                                                                                                                \
        return reinterpret_cast<AscendC::TBufHandle>(                                                                \
            tile_simulator::pool_buffer(pool_state_, offset, {"GetBufHandle", at}));                                 \
    }                                                                                                                \
    void SetCurAddr(uint32_t curAddr) { pool_state_.next = curAddr; }                                                \
    uint32_t GetCurAddr() { return pool_state_.next; }                                                               \
    void SetCurBufSize(uint8_t curBufSize)                                                                           \
    {                                                                                                                \
        pool_state_.count = curBufSize < pool_state_.capacity ? curBufSize : pool_state_.capacity;                   \
    }                                                                                                                \
    uint8_t GetCurBufSize() { return static_cast<uint8_t>(pool_state_.count); }                                      \
    tile_simulator::PoolState& state() { return pool_state_; }                                                       \
                                                                                                                     \
private:                                                                                                             \
    tile_simulator::PoolState pool_state_
