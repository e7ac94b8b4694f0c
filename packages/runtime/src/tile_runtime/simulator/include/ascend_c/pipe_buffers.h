// TPipe and TBuf: the local memories and event ids of a core, handed out in program order.
//
// A buffer is a slot of the TPipe's table; queues (queue.h) pass slots around as handles.
#pragma once

#include "positions.h"
#include "sync.h"
#include "tensor.h"

namespace AscendC {

enum class TBufState : uint8_t { FREE, OCCUPIED, ENQUE, DEQUE };
constexpr TEventID INVALID_TEVENTID = -1;

}  // namespace AscendC

namespace tile_simulator {

constexpr uint32_t pipe_buffers = 64;       // buffers of one TPipe (InitBuffer, constraints)
constexpr uint32_t pool_buffers = 128;      // of all TBufPools of one TPipe: each has 16 at most
constexpr uint32_t pipe_event_ids = 8;      // ids per event (QUE_MAX_EVENT of the device headers)
constexpr uint32_t total_l1 = 524288 - 128;  // what TSCM buffers grow down from

struct PipeBuffer {
    AscendC::TBufState state = AscendC::TBufState::FREE;
    AscendC::HardEvent free_event = AscendC::HardEvent::MAX;
    AscendC::HardEvent user_event = AscendC::HardEvent::MAX;  // of an EnQue that names positions
    AscendC::TEventID enqueue_id = AscendC::INVALID_TEVENTID;
    AscendC::TEventID free_id = AscendC::INVALID_TEVENTID;
    uint32_t address = 0;
    uint32_t bytes = 0;
    Where made{};  // the AllocTensor that has it now, or the InitBuffer
};

struct PipeState {
    uint32_t next[9];     // first free byte of every memory
    uint32_t tscm;        // lowest byte taken from the top of L1
    uint8_t events[static_cast<int>(AscendC::HardEvent::MAX)];  // taken ids, a bit each
    PipeBuffer buffers[pipe_buffers];
    uint32_t count;
    PipeBuffer pooled[pool_buffers];  // of TBufPools (buffer_pool.h)
    uint32_t pooled_count;
    bool live;
    Where made;
};

void pipe_create(PipeState& state, void* pipe, Where at);
void pipe_destroy(PipeState& state, bool barrier, Use use);
void pipe_end(PipeState& state) noexcept;  // the same from a destructor: an error is kept for later
void pipe_reset(PipeState& state, Use use);
uint32_t pipe_allocate(PipeState& state, uint8_t position, uint64_t bytes, Use use);
PipeBuffer* pipe_add_buffers(PipeState& state, uint32_t number, uint32_t bytes, uint32_t address, Use use);
uint32_t pipe_allocate_tscm(PipeState& state, uint64_t bytes, bool shared, Use use);
AscendC::TEventID pipe_take_event(PipeState& state, AscendC::HardEvent event, bool keep, Use use);
void pipe_release_event(PipeState& state, AscendC::HardEvent event, int64_t id, Use use);
uint8_t* memory_base(uint8_t position, Use use);
void* current_pipe(Use use);
void check_buffer_range(uint64_t offset, uint64_t bytes, uint32_t length, Use use);
// The buffer behind a handle; one that no TPipe of this core has is an error.
PipeBuffer& pipe_buffer(uint8_t* handle, Use use);

// A part of a memory that hands out buffers itself.
struct PoolState {
    uint8_t position = 0;
    uint32_t start = 0;
    uint32_t bytes = 0;
    uint32_t next = 0;      // first free byte
    uint32_t first = 0;     // its buffers among those of the TPipe
    uint32_t capacity = 0;  // 0: not initialised
    uint32_t count = 0;     // buffers handed out
    bool live = false;
};

void pool_create(PoolState& pool, PipeState& pipe, uint8_t position, uint32_t capacity, uint64_t bytes, Use use);
// Out of another pool, or over the same bytes as another.
void pool_divide(PoolState& pool, PoolState& from, uint8_t position, uint32_t capacity, uint64_t bytes, Use use);
void pool_share(PoolState& pool, const PoolState& with, uint8_t position, uint32_t capacity, uint64_t bytes, Use use);
// `number` buffers of `bytes` each, one behind the other.
PipeBuffer* pool_add_buffers(PoolState& pool, uint8_t position, uint32_t number, uint64_t bytes, Use use);
PipeBuffer* pool_buffer(const PoolState& pool, uint32_t index, Use use);
void pool_reset(PoolState& pool, Use use);
void pool_end(PoolState& pool) noexcept;  // from a destructor: an error is kept for later

}  // namespace tile_simulator

namespace AscendC {

template <TPosition position = TPosition::LCM>
class TBuf {
public:
    template <class T>
    LocalTensor<T> Get(Where at = Where::here())
    {
        return LocalTensor<T>(address_, at);
    }
    template <class T>
    LocalTensor<T> Get(uint32_t elements, Where at = Where::here())
    {
        return GetWithOffset<T>(elements, 0, at);
    }
    template <class T>
    LocalTensor<T> GetWithOffset(uint32_t elements, uint32_t byte_offset, Where at = Where::here())
    {
        const uint64_t bytes = tile_simulator::bytes_of<T>(elements);
        tile_simulator::check_buffer_range(byte_offset, bytes, address_.dataLen, {"TBuf::Get", at});
        TBuffAddr part = address_;
        part.bufferAddr += byte_offset;
        part.dataLen = static_cast<uint32_t>(bytes);
        return LocalTensor<T>(part, at);
    }

    // Of a queue's interface, without events: a TBuf is one buffer that is always there.
    template <class T>
    void EnQue(const LocalTensor<T>&)
    {
    }
    template <class T>
    LocalTensor<T> DeQue(Where at = Where::here())
    {
        return Get<T>(at);
    }
    template <class T>
    LocalTensor<T> AllocTensor(Where at = Where::here())
    {
        return Get<T>(at);
    }
    template <class T>
    void FreeTensor(LocalTensor<T>&)
    {
    }

    // For pools that a kernel writes itself (EXTERN_IMPL_BUFPOOL).
    void InitStartBufHandle(TBufHandle handle, uint8_t, uint32_t bytes, Where at = Where::here())
    {
        (void)tile_simulator::pipe_buffer(handle, {"InitStartBufHandle", at});
        address_.logicPos = static_cast<uint8_t>(position);
        address_.dataLen = bytes;
    }
    template <class Pool>
    void InitBufHandle(Pool*, uint32_t, TBufHandle handle, uint32_t address, uint32_t bytes, Where at = Where::here())
    {
        tile_simulator::PipeBuffer& buffer = tile_simulator::pipe_buffer(handle, {"InitBufHandle", at});
        buffer = tile_simulator::PipeBuffer{};
        buffer.address = address_.bufferAddr = address;
        buffer.bytes = address_.dataLen = bytes;
        buffer.made = at;
    }

private:
    friend class TPipe;
    template <TPosition, uint32_t>
    friend class TBufPool;
    TBuffAddr address_;
};

class TPipe {
public:
    TPipe(Where at = Where::here()) { Init(at); }
    ~TPipe() { tile_simulator::pipe_end(state_); }
    TPipe(const TPipe&) = delete;
    TPipe& operator=(const TPipe&) = delete;

    void Init(Where at = Where::here()) { tile_simulator::pipe_create(state_, this, at); }
    void Destroy(Where at = Where::here()) { tile_simulator::pipe_destroy(state_, true, {"TPipe::Destroy", at}); }
    void DestroyWithoutPipeAll(Where at = Where::here())
    {
        tile_simulator::pipe_destroy(state_, false, {"TPipe::DestroyWithoutPipeAll", at});
    }
    void Reset(Where at = Where::here()) { tile_simulator::pipe_reset(state_, {"TPipe::Reset", at}); }

    template <TPosition position>
    bool InitBuffer(TBuf<position>& buffer, uint32_t bytes, Where at = Where::here())
    {
        const tile_simulator::Use use = {"TPipe::InitBuffer", at};
        buffer.address_.logicPos = static_cast<uint8_t>(position);
        buffer.address_.dataLen = (bytes + 31u) / 32u * 32u;
        buffer.address_.bufferAddr =
            tile_simulator::pipe_allocate(state_, buffer.address_.logicPos, buffer.address_.dataLen, use);
        tile_simulator::pipe_add_buffers(state_, 1, buffer.address_.dataLen, buffer.address_.bufferAddr, use);
        return true;
    }
    // For queues; `bytes` of each of the `number` buffers are rounded up to 32.
    template <class Queue>
    bool InitBuffer(Queue& queue, uint32_t number, uint32_t bytes, Where at = Where::here())
    {
        queue.create_buffers(state_, number, bytes, {"TPipe::InitBuffer", at});
        return true;
    }

    // A part of a memory that hands out buffers itself; with a third argument, over the same bytes as another.
    template <class Pool>
    bool InitBufPool(Pool& pool, uint32_t bytes, Where at = Where::here())
    {
        tile_simulator::pool_create(pool.state(), state_, static_cast<uint8_t>(Pool::poolPos), Pool::bufIDSize, bytes,
            {"TPipe::InitBufPool", at});
        return true;
    }
    template <class Pool, class Shared>
    bool InitBufPool(Pool& pool, uint32_t bytes, Shared& shared, Where at = Where::here())
    {
        tile_simulator::pool_share(pool.state(), shared.state(), static_cast<uint8_t>(Pool::poolPos),
            Pool::bufIDSize, bytes, {"TPipe::InitBufPool", at});
        return true;
    }

    template <HardEvent event>
    TEventID AllocEventID(Where at = Where::here())
    {
        return tile_simulator::pipe_take_event(state_, event, true, {"TPipe::AllocEventID", at});
    }
    template <HardEvent event>
    void ReleaseEventID(TEventID id, Where at = Where::here())
    {
        tile_simulator::pipe_release_event(state_, event, id, {"TPipe::ReleaseEventID", at});
    }
    // The id AllocEventID would give, without taking it.
    template <HardEvent event>
    TEventID FetchEventID(Where at = Where::here())
    {
        return FetchEventID(event, at);
    }
    TEventID FetchEventID(HardEvent event, Where at = Where::here())
    {
        return tile_simulator::pipe_take_event(state_, event, false, {"TPipe::FetchEventID", at});
    }

    template <TPosition position, class T>
    LocalTensor<T> GetAbsAddr(int32_t offset, int32_t elements, Where at = Where::here()) const
    {
        return LocalTensor<T>(position, static_cast<uint32_t>(offset), static_cast<uint32_t>(elements), at);
    }
    // Host address of the memory behind a position (CPU debugging only on the device's side).
    uint8_t* GetBaseAddr(int8_t position, Where at = Where::here())
    {
        return tile_simulator::memory_base(static_cast<uint8_t>(position), {"TPipe::GetBaseAddr", at});
    }

    tile_simulator::PipeState& state() { return state_; }

private:
    tile_simulator::PipeState state_ = {};
};

// The TPipe the running core made last and that still lives.
inline TPipe* GetTPipePtr(Where at = Where::here())
{
    return static_cast<TPipe*>(tile_simulator::current_pipe({"GetTPipePtr", at}));
}

// All of UB behind the buffers of the TPipe.
template <class T, TPosition position>
inline bool PopStackBuffer(LocalTensor<T>& tensor, Where at = Where::here())
{
    static_assert(GetPhyType(position) == Hardware::UB, "PopStackBuffer: positions of UB only");
    const uint32_t next = GetTPipePtr(at)->state().next[static_cast<int>(Hardware::UB)];
    TBuffAddr address;
    address.logicPos = static_cast<uint8_t>(position);
    address.bufferAddr = next;
    address.dataLen = 196608 - 64 - next;  // the last 64 B of UB hold messages (kernel_pop_stack_buffer.h)
    tensor.SetAddr(address, at);
    return true;
}

}  // namespace AscendC

// Of the global namespace in the vendor's headers (kernel_common.h).
using AscendC::GetTPipePtr;
