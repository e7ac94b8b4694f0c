// TQueBind and TQue: a fixed set of buffers that go round between two pipes, ordered by flags.
//
//   AllocTensor  takes a free buffer; waits until the consumer has let go of it
//   EnQue        sets the flag from the producing pipe to the consuming one
//   DeQue        waits for that flag
//   FreeTensor   sets the flag back
//
// Event ids come from the TPipe: taken at the set, given back at the wait (kernel_tquebind_impl.h of CANN 8.1). A queue
// of depth 0 (9.x) has its two ids for good and gives its tensors by reference.
#pragma once

#include "pipe_buffers.h"

namespace AscendC {

// Fields a kernel may set in a constant that it names as the last template argument of a queue.
struct TQueConfig {
    bool nd2nz = false;
    bool nz2nd = false;
    bool scmBlockGroup = false;
    uint32_t bufferLen = 0;
    uint32_t bufferNumber = 0;
    uint32_t consumerSize = 0;
    TPosition consumer[8] = {};
    bool enableStaticEvtId = false;
    bool enableLoopQueue = false;
};

constexpr TQueConfig GetTQueConfig(int32_t mask)
{
    TQueConfig config;
    config.nd2nz = (mask & 1) != 0;
    config.nz2nd = (mask & 2) != 0;
    config.scmBlockGroup = (mask & 4) != 0;
    return config;
}
constexpr TQueConfig GetTQueConfig(const TQueConfig* config)
{
    return *config;
}
constexpr TQueConfig GetTQueConfig(const TQueConfig& config)
{
    return config;
}

}  // namespace AscendC

namespace tile_simulator {

// What the template arguments of a queue say.
struct QueueKind {
    AscendC::TPosition position;
    AscendC::HardEvent enqueue;
    AscendC::HardEvent free;
    int32_t depth;
    bool loop;          // enableLoopQueue: buffers change between queues of both directions
    bool to_tscm;       // L1 buffers below its top; an AIV has no events for them
    bool scm_block_group;
};

struct QueueState {
    static constexpr int32_t deepest = 64;  // there are no more buffers than that

    PipeBuffer* first = nullptr;
    uint32_t number = 0;
    int32_t used = 0;  // tensors between EnQue and DeQue
    int32_t head = 0;
    int32_t tail = 0;
    uint32_t taken = 0;  // buffers between AllocTensor and FreeTensor
    uint32_t cursor = 0;
    PipeBuffer* waiting[deepest] = {};
};

void queue_create(
    QueueState& queue, const QueueKind& kind, PipeState& pipe, uint32_t number, uint32_t bytes, Use use);
// With buffers of a pool.
void queue_create_in_pool(
    QueueState& queue, const QueueKind& kind, PoolState& pool, uint32_t number, uint32_t bytes, Use use);
// With buffers that a pool of the kernel's own places one by one.
void queue_begin(QueueState& queue, const QueueKind& kind, uint8_t* handle, uint32_t number, Use use);
void queue_place(QueueState& queue, const QueueKind& kind, uint32_t index, uint32_t address, uint32_t bytes, Use use);
PipeBuffer* queue_allocate(QueueState& queue, const QueueKind& kind, Use use);
void queue_enqueue(QueueState& queue, const QueueKind& kind, uint8_t* handle, Use use);
PipeBuffer* queue_dequeue(QueueState& queue, const QueueKind& kind, Use use);
void queue_dequeue_in_place(QueueState& queue, const QueueKind& kind, uint8_t* handle, Use use);
// The forms that name the two ends: the event is theirs, not the queue's.
void queue_enqueue_as(
    QueueState& queue, const QueueKind& kind, uint8_t* handle, AscendC::HardEvent event, Use use);
PipeBuffer* queue_dequeue_as(QueueState& queue, const QueueKind& kind, AscendC::HardEvent event, Use use);
void queue_free(QueueState& queue, const QueueKind& kind, uint8_t* handle, Use use);
void queue_free_all_events(QueueState& queue, const QueueKind& kind, Use use);
PipeBuffer& queue_buffer(const QueueState& queue, uint8_t* handle, Use use);

}  // namespace tile_simulator

namespace AscendC {

template <TPosition src, TPosition dst, int32_t depth, auto mask = 0>
class TQueBind {
    static constexpr TQueConfig config = GetTQueConfig(mask);
    static constexpr Hardware source_memory = GetPhyType(src);
    static constexpr Hardware target_memory = GetPhyType(dst);
    static constexpr tile_simulator::QueueKind kind = {GetPosition(src, dst),
        GetQueEvt(source_memory, target_memory, true), GetQueEvt(source_memory, target_memory, false), depth,
        config.enableLoopQueue, GetPosition(src, dst) == TPosition::TSCM, config.scmBlockGroup};
    static_assert(src != TPosition::MAX && dst != TPosition::MAX, "no queue of this position: use TBuf");
    static_assert(kind.enqueue != HardEvent::MAX, "this chip has no queue between these positions");
    static_assert(depth >= 0 && depth <= tile_simulator::QueueState::deepest, "the depth of a queue is 0..64");

public:
    template <class T>
    LocalTensor<T> AllocTensor(Where at = Where::here())
    {
        return tensor_of<T>(*tile_simulator::queue_allocate(state_, kind, {"AllocTensor", at}));
    }
    template <class T>
    void AllocTensor(LocalTensor<T>& tensor, Where at = Where::here())
    {
        static_assert(depth == 0, "AllocTensor by reference is for queues of depth 0");
        tensor = tensor_of<T>(*tile_simulator::queue_allocate(state_, kind, {"AllocTensor", at}));
    }
    template <class T>
    void FreeTensor(LocalTensor<T>& tensor, Where at = Where::here())
    {
        tile_simulator::queue_free(state_, kind, tensor.GetBufferHandle(), {"FreeTensor", at});
    }
    template <class T>
    void FreeTensor(const LocalTensor<T>& tensor, Where at = Where::here())
    {
        tile_simulator::queue_free(state_, kind, tensor.GetBufferHandle(), {"FreeTensor", at});
    }
    template <class T>
    bool EnQue(const LocalTensor<T>& tensor, Where at = Where::here())
    {
        tile_simulator::queue_enqueue(state_, kind, tensor.GetBufferHandle(), {"EnQue", at});
        return true;
    }
    template <TPosition user_src, TPosition user_dst, class T>
    bool EnQue(const LocalTensor<T>& tensor, Where at = Where::here())
    {
        constexpr HardEvent event = user_event<user_src, user_dst>();
        tile_simulator::queue_enqueue_as(state_, kind, tensor.GetBufferHandle(), event, {"EnQue", at});
        return true;
    }
    template <class T>
    LocalTensor<T> DeQue(Where at = Where::here())
    {
        static_assert(depth != 0, "a queue of depth 0 gives its tensor by reference: DeQue(tensor)");
        return tensor_of<T>(*tile_simulator::queue_dequeue(state_, kind, {"DeQue", at}));
    }
    template <class T>
    void DeQue(LocalTensor<T>& tensor, Where at = Where::here())
    {
        static_assert(depth == 0, "DeQue by reference is for queues of depth 0");
        tile_simulator::queue_dequeue_in_place(state_, kind, tensor.GetBufferHandle(), {"DeQue", at});
    }
    template <TPosition user_src, TPosition user_dst, class T>
    LocalTensor<T> DeQue(Where at = Where::here())
    {
        constexpr HardEvent event = user_event<user_src, user_dst>();
        return tensor_of<T>(*tile_simulator::queue_dequeue_as(state_, kind, event, {"DeQue", at}));
    }

    // The same with handles instead of tensors.
    bool EnQue(TBufHandle handle, Where at = Where::here())
    {
        tile_simulator::queue_enqueue(state_, kind, handle, {"EnQue", at});
        return true;
    }
    TBufHandle DeQue(Where at = Where::here())
    {
        return reinterpret_cast<TBufHandle>(tile_simulator::queue_dequeue(state_, kind, {"DeQue", at}));
    }
    void FreeBuffer(TBufHandle handle, Where at = Where::here())
    {
        tile_simulator::queue_free(state_, kind, handle, {"FreeBuffer", at});
    }
    TBuffAddr GetBufferAddr(TBufHandle handle, Where at = Where::here())
    {
        return address_of(tile_simulator::queue_buffer(state_, handle, {"GetBufferAddr", at}));
    }

    bool VacantInQue() const { return state_.used < depth; }
    bool HasTensorInQue() const { return state_.used > 0; }
    int32_t GetTensorCountInQue() const { return state_.used; }
    bool HasIdleBuffer() const { return state_.taken < state_.number; }
    void FreeAllEvent(Where at = Where::here())
    {
        tile_simulator::queue_free_all_events(state_, kind, {"FreeAllEvent", at});
    }
    template <class T>
    TBufState GetState(const LocalTensor<T>& tensor, Where at = Where::here()) const
    {
        return tensor.GetBufferHandle() == nullptr
            ? TBufState::FREE
            : tile_simulator::queue_buffer(state_, tensor.GetBufferHandle(), {"GetState", at}).state;
    }

    // For pools that a kernel writes itself (EXTERN_IMPL_BUFPOOL).
    void InitStartBufHandle(TBufHandle handle, uint8_t number, uint32_t, Where at = Where::here())
    {
        tile_simulator::queue_begin(state_, kind, handle, number, {"InitStartBufHandle", at});
    }
    template <class Pool>
    void InitBufHandle(
        Pool*, uint32_t index, TBufHandle, uint32_t address, uint32_t bytes, Where at = Where::here())
    {
        tile_simulator::queue_place(state_, kind, index, address, bytes, {"InitBufHandle", at});
    }

private:
    friend class TPipe;
    template <TPosition, uint32_t>
    friend class TBufPool;

    void create_buffers(tile_simulator::PipeState& pipe, uint32_t number, uint32_t bytes, tile_simulator::Use use)
    {
        tile_simulator::queue_create(state_, kind, pipe, number, bytes, use);
    }
    void create_buffers(tile_simulator::PoolState& pool, uint32_t number, uint32_t bytes, tile_simulator::Use use)
    {
        tile_simulator::queue_create_in_pool(state_, kind, pool, number, bytes, use);
    }

    template <TPosition user_src, TPosition user_dst>
    static constexpr HardEvent user_event()
    {
        constexpr auto legal = [](TPosition p) {
            return p == TPosition::GM || p == TPosition::VECIN || p == TPosition::VECOUT || p == TPosition::VECCALC;
        };
        static_assert(legal(user_src) && legal(user_dst), "EnQue and DeQue name GM, VECIN, VECOUT or VECCALC only");
        static_assert(user_src != TPosition::GM || user_dst != TPosition::GM, "not from GM to GM");
        return GetQueEvt(GetPhyType(user_src), GetPhyType(user_dst), true);
    }
    static TBuffAddr address_of(tile_simulator::PipeBuffer& buffer)
    {
        TBuffAddr address;
        address.logicPos = static_cast<uint8_t>(kind.position);
        address.bufferHandle = reinterpret_cast<TBufHandle>(&buffer);
        address.bufferAddr = buffer.address;
        address.dataLen = buffer.bytes;
        return address;
    }
    template <class T>
    static LocalTensor<T> tensor_of(tile_simulator::PipeBuffer& buffer)
    {
        return LocalTensor<T>(address_of(buffer), buffer.made);
    }

    tile_simulator::QueueState state_;
};

template <TPosition position, int32_t depth, auto mask = 0>
class TQue : public TQueBind<GetBufferLogicPos(position, true), GetBufferLogicPos(position, false), depth, mask> {
};

template <TPosition position, int32_t depth = 1, auto mask = 0>
using TSCM = TQueBind<position, TPosition::TSCM, depth, mask>;

// Flags between two pipes that a kernel names, with ids of its own choice.
template <pipe_t src, pipe_t dst>
class TQueSync {
    static_assert(src != dst, "TQueSync: the two pipes are the same; use PipeBarrier");

public:
    void SetFlag(TEventID id, Where at = Where::here())
    {
        tile_simulator::set_flag(tile_simulator::event_between(src, dst), id, {"TQueSync::SetFlag", at});
    }
    void WaitFlag(TEventID id, Where at = Where::here())
    {
        tile_simulator::wait_flag(tile_simulator::event_between(src, dst), id, {"TQueSync::WaitFlag", at});
    }
};

}  // namespace AscendC
