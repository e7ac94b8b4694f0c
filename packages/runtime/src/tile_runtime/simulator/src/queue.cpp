// TQueBind and TQue: the round of buffers and their flags (kernel_tquebind_impl.h of CANN 8.1; depth 0 as in 9.x).
//
// What the device headers only assert in debugging builds, and what hangs or corrupts memory otherwise, is an error.
#include "ascend_c/queue.h"

#include "ascend_c/sync.h"
#include "core.h"
#include "instruction.h"

namespace tile_simulator {
namespace {

using AscendC::HardEvent;
using AscendC::INVALID_TEVENTID;
using AscendC::TBufState;

PipeState& pipe_of(Use use)
{
    return static_cast<AscendC::TPipe*>(current_pipe(use))->state();
}

// Of L1 buffers for data of the vector cores the AIC alone has the events.
bool has_events(const QueueKind& kind, Use use)
{
    return !kind.to_tscm || !core_of(use).is_vector();
}

const char* name_of(TBufState state)
{
    static const char* const names[] = {"free", "allocated", "in the queue", "taken out of the queue"};
    return names[static_cast<int>(state)];
}

void require_buffers(const QueueState& queue, Use use)
{
    if (queue.number == 0) {
        raise("queue", use, text_of("%s: the queue has no buffers: call TPipe::InitBuffer first", use.api));
    }
    const PipeState& pipe = pipe_of(use);
    const auto among = [&queue](const PipeBuffer* first, uint32_t count) {
        return queue.first >= first && queue.first + queue.number <= first + count;
    };
    if (!among(pipe.buffers, pipe.count) && !among(pipe.pooled, pipe.pooled_count)) {
        raise("queue", use,
            text_of("%s: the buffers of the queue are gone: its TPipe has ended or was reset", use.api));
    }
}

void take_flag(PipeBuffer& buffer, HardEvent event, AscendC::TEventID& id, Use use)
{
    (void)buffer;
    wait_flag(event, id, use);
    pipe_release_event(pipe_of(use), event, id, use);
    id = INVALID_TEVENTID;
}

AscendC::TEventID give_flag(HardEvent event, Use use)
{
    const AscendC::TEventID id = pipe_take_event(pipe_of(use), event, true, use);
    set_flag(event, id, use);
    return id;
}

// The buffer's last user may have freed it through a queue of the other direction (enableLoopQueue).
void wait_until_free(PipeBuffer& buffer, const QueueKind& kind, Use use)
{
    const HardEvent freed_by = kind.loop ? buffer.free_event : kind.free;
    if (freed_by == kind.free) {
        return take_flag(buffer, kind.free, buffer.free_id, use);
    }
    if (kind.free == HardEvent::V_MTE2 && freed_by == HardEvent::MTE3_V) {
        take_flag(buffer, HardEvent::MTE3_V, buffer.free_id, use);
        AscendC::TEventID id = give_flag(HardEvent::MTE3_MTE2, use);
        return take_flag(buffer, HardEvent::MTE3_MTE2, id, use);
    }
    if (kind.free == HardEvent::MTE3_V && freed_by == HardEvent::V_MTE2) {
        return take_flag(buffer, HardEvent::V_MTE2, buffer.free_id, use);
    }
    raise("queue", use, text_of("%s: the buffer was freed by a queue that does not match this one", use.api));
}

// What a new buffer of a queue begins with.
void make_events(PipeBuffer& buffer, const QueueKind& kind, PipeState& pipe, Use use)
{
    buffer.free_event = kind.free;
    if (kind.depth == 0) {
        buffer.enqueue_id = pipe_take_event(pipe, kind.enqueue, true, use);
        buffer.free_id = pipe_take_event(pipe, kind.free, true, use);
        set_flag(kind.free, buffer.free_id, use);
    }
}

PipeBuffer& next_buffer(QueueState& queue, Use use)
{
    for (uint32_t tried = 0; tried < queue.number; ++tried) {
        PipeBuffer& buffer = queue.first[queue.cursor];
        queue.cursor = (queue.cursor + 1) % queue.number;
        if (buffer.state == TBufState::FREE) {
            return buffer;
        }
    }
    const PipeBuffer& oldest = queue.first[queue.cursor];
    raise("queue-no-buffer", use,
        text_of("%s: all %u buffers of the queue are in use (one is %s since %s:%u), so this call never returns: a "
                "FreeTensor is missing, or InitBuffer needs more buffers",
            use.api, queue.number, name_of(oldest.state), oldest.made.file, oldest.made.line));
}

// Puts a buffer behind the others; the caller sets its flag.
PipeBuffer& push(QueueState& queue, const QueueKind& kind, uint8_t* handle, Use use)
{
    PipeBuffer& buffer = queue_buffer(queue, handle, use);
    if (buffer.state != TBufState::OCCUPIED && buffer.state != TBufState::DEQUE) {
        raise("queue", use,
            text_of("%s: the tensor is %s, but must come from AllocTensor or DeQue", use.api, name_of(buffer.state)));
    }
    if (kind.depth != 0) {
        if (queue.used >= kind.depth) {
            raise("queue-full", use,
                text_of("%s: the queue holds %d tensors already, which is its depth", use.api, queue.used));
        }
        queue.waiting[queue.tail] = &buffer;
        queue.tail = (queue.tail + 1) % kind.depth;
        ++queue.used;
    }
    buffer.state = TBufState::ENQUE;
    return buffer;
}

PipeBuffer& pop(QueueState& queue, const QueueKind& kind, Use use)
{
    require_buffers(queue, use);
    if (queue.used == 0) {
        raise("queue-empty", use, text_of("%s: the queue is empty: every DeQue needs an EnQue before it", use.api));
    }
    PipeBuffer& buffer = *queue.waiting[queue.head];
    queue.head = (queue.head + 1) % kind.depth;
    --queue.used;
    buffer.state = TBufState::DEQUE;
    return buffer;
}

}  // namespace

PipeBuffer& queue_buffer(const QueueState& queue, uint8_t* handle, Use use)
{
    require_buffers(queue, use);
    PipeBuffer* const buffer = reinterpret_cast<PipeBuffer*>(handle);
    if (buffer < queue.first || buffer >= queue.first + queue.number) {
        raise("queue", use,
            text_of("%s: the tensor is not one of this queue's: it must come from its AllocTensor or DeQue", use.api));
    }
    return *buffer;
}

void queue_create(
    QueueState& queue, const QueueKind& kind, PipeState& pipe, uint32_t number, uint32_t bytes, Use use)
{
    if (number == 0 || number > pipe_buffers) {
        raise("bad-argument", use, text_of("%s: num is %u, but must be 1..%u", use.api, number, pipe_buffers));
    }
    const uint32_t each = static_cast<uint32_t>((uint64_t(bytes) + 31) / 32 * 32);
    const uint32_t address = kind.to_tscm
        ? pipe_allocate_tscm(pipe, uint64_t(each) * number, kind.scm_block_group, use)
        : pipe_allocate(pipe, static_cast<uint8_t>(kind.position), uint64_t(each) * number, use);
    queue = QueueState{};
    queue.first = pipe_add_buffers(pipe, number, each, address, use);
    queue.number = number;
    for (uint32_t i = 0; i < number; ++i) {
        make_events(queue.first[i], kind, pipe, use);
    }
}

void queue_create_in_pool(
    QueueState& queue, const QueueKind& kind, PoolState& pool, uint32_t number, uint32_t bytes, Use use)
{
    PipeState& pipe = pipe_of(use);
    queue = QueueState{};
    queue.first = pool_add_buffers(pool, static_cast<uint8_t>(kind.position), number, bytes, use);
    queue.number = number;
    for (uint32_t i = 0; i < number; ++i) {
        make_events(queue.first[i], kind, pipe, use);
    }
}

void queue_begin(QueueState& queue, const QueueKind& kind, uint8_t* handle, uint32_t number, Use use)
{
    (void)kind;
    PipeBuffer& first = pipe_buffer(handle, use);
    QueueState begun;
    begun.first = &first;
    begun.number = number;
    require_buffers(begun, use);
    queue = begun;
}

void queue_place(QueueState& queue, const QueueKind& kind, uint32_t index, uint32_t address, uint32_t bytes, Use use)
{
    require_buffers(queue, use);
    if (index >= queue.number) {
        raise("queue", use, text_of("%s: buffer %u of a queue that has %u", use.api, index, queue.number));
    }
    PipeBuffer& buffer = queue.first[index];
    buffer = PipeBuffer{};
    buffer.address = address;
    buffer.bytes = bytes;
    buffer.made = use.at;
    make_events(buffer, kind, pipe_of(use), use);
}

PipeBuffer* queue_allocate(QueueState& queue, const QueueKind& kind, Use use)
{
    require_buffers(queue, use);
    PipeBuffer& buffer = next_buffer(queue, use);
    buffer.state = TBufState::OCCUPIED;
    buffer.made = use.at;
    ++queue.taken;
    if (kind.depth == 0) {
        wait_flag(kind.free, buffer.free_id, use);
    } else if (buffer.free_id != INVALID_TEVENTID && has_events(kind, use)) {
        wait_until_free(buffer, kind, use);
    }
    return &buffer;
}

void queue_enqueue(QueueState& queue, const QueueKind& kind, uint8_t* handle, Use use)
{
    PipeBuffer& buffer = push(queue, kind, handle, use);
    if (!has_events(kind, use)) {
        return;
    }
    if (kind.depth == 0) {
        set_flag(kind.enqueue, buffer.enqueue_id, use);
    } else {
        buffer.user_event = kind.enqueue;
        buffer.enqueue_id = give_flag(kind.enqueue, use);
    }
}

void queue_enqueue_as(QueueState& queue, const QueueKind& kind, uint8_t* handle, HardEvent event, Use use)
{
    PipeBuffer& buffer = push(queue, kind, handle, use);
    buffer.user_event = event;
    buffer.enqueue_id = give_flag(event, use);
}

PipeBuffer* queue_dequeue(QueueState& queue, const QueueKind& kind, Use use)
{
    return queue_dequeue_as(queue, kind, kind.enqueue, use);
}

PipeBuffer* queue_dequeue_as(QueueState& queue, const QueueKind& kind, HardEvent event, Use use)
{
    PipeBuffer& buffer = pop(queue, kind, use);
    if (buffer.enqueue_id == INVALID_TEVENTID || !has_events(kind, use)) {
        return &buffer;
    }
    if (buffer.user_event != event) {
        raise("queue", use,
            text_of("%s: it names other positions than the EnQue of this tensor, so it waits for another event",
                use.api));
    }
    take_flag(buffer, event, buffer.enqueue_id, use);
    return &buffer;
}

void queue_dequeue_in_place(QueueState& queue, const QueueKind& kind, uint8_t* handle, Use use)
{
    PipeBuffer& buffer = queue_buffer(queue, handle, use);
    if (buffer.state != TBufState::ENQUE) {
        raise("queue-empty", use, text_of("%s: the tensor is %s, but must be in the queue", use.api, name_of(buffer.state)));
    }
    buffer.state = TBufState::DEQUE;
    wait_flag(kind.enqueue, buffer.enqueue_id, use);
}

void queue_free(QueueState& queue, const QueueKind& kind, uint8_t* handle, Use use)
{
    PipeBuffer& buffer = queue_buffer(queue, handle, use);
    if (buffer.state == TBufState::FREE) {
        raise("queue", use, text_of("%s: the tensor is free already", use.api));
    }
    if (buffer.state == TBufState::ENQUE) {
        raise("queue", use, text_of("%s: the tensor is in the queue: take it out with DeQue first", use.api));
    }
    if (kind.depth == 0) {
        set_flag(kind.free, buffer.free_id, use);
    } else if (has_events(kind, use)) {
        buffer.free_id = give_flag(kind.free, use);
        buffer.free_event = kind.free;
    }
    buffer.state = TBufState::FREE;
    --queue.taken;
}

void queue_free_all_events(QueueState& queue, const QueueKind& kind, Use use)
{
    require_buffers(queue, use);
    for (uint32_t i = 0; i < queue.number; ++i) {
        PipeBuffer& buffer = queue.first[i];
        if (buffer.state == TBufState::ENQUE) {
            raise("queue", use, text_of("%s: a tensor is still in the queue", use.api));
        }
        if (buffer.free_id != INVALID_TEVENTID && buffer.state == TBufState::FREE) {
            take_flag(buffer, kind.free, buffer.free_id, use);
        }
    }
}

}  // namespace tile_simulator
