// TBufPool: bytes and buffers of a part of UB or L1, handed out in order (kernel_tbufpool_impl.h of CANN 9.0).
#include <exception>

#include "ascend_c/buffer_pool.h"
#include "core.h"
#include "instruction.h"

namespace tile_simulator {
namespace {

using AscendC::INVALID_TEVENTID;

PipeState& pipe_of(Use use)
{
    return static_cast<AscendC::TPipe*>(current_pipe(use))->state();
}

uint64_t padded(uint64_t bytes)
{
    return (bytes + 31) / 32 * 32;
}

void require_pool(const PoolState& pool, const PipeState& pipe, Use use)
{
    if (!pool.live || pool.first + pool.capacity > pipe.pooled_count) {
        raise("bad-argument", use,
            text_of("%s: the pool has no bytes: it needs an InitBufPool first, and ends with Reset", use.api));
    }
}

void take_buffers(PoolState& pool, PipeState& pipe, uint8_t position, uint32_t capacity, Use use)
{
    if (capacity > pool_buffers - pipe.pooled_count) {
        raise("bad-argument", use,
            text_of("%s: %u more buffers make %u in the pools of this TPipe, but at most %u are possible", use.api,
                capacity, pipe.pooled_count + capacity, pool_buffers));
    }
    pool.position = position;
    pool.first = pipe.pooled_count;
    pool.capacity = capacity;
    pool.count = 0;
    pool.next = pool.start;
    pool.live = true;
    for (uint32_t i = 0; i < capacity; ++i) {
        pipe.pooled[pipe.pooled_count + i] = PipeBuffer{};
    }
    pipe.pooled_count += capacity;
}

// The next bytes of a pool.
uint32_t take_bytes(PoolState& pool, uint8_t position, uint64_t bytes, Use use)
{
    if (memory_of(position) != memory_of(pool.position)) {
        raise("bad-argument", use, text_of("%s: a pool of %s holds no buffers of %s", use.api,
            name_of(memory_of(pool.position)), name_of(memory_of(position))));
    }
    const uint64_t left = pool.start + uint64_t(pool.bytes) - pool.next;
    if (pool.next < pool.start || bytes > left || pool.next > pool.start + pool.bytes) {
        raise("out-of-bounds", use,
            text_of("%s: %llu bytes do not fit into the pool, which has %u bytes", use.api,
                static_cast<unsigned long long>(bytes), pool.bytes));
    }
    const uint32_t address = pool.next;
    pool.next += static_cast<uint32_t>(bytes);
    return address;
}

}  // namespace

void pool_create(PoolState& pool, PipeState& pipe, uint8_t position, uint32_t capacity, uint64_t bytes, Use use)
{
    pool.start = pipe_allocate(pipe, position, padded(bytes), use);
    pool.bytes = static_cast<uint32_t>(padded(bytes));
    take_buffers(pool, pipe, position, capacity, use);
}

void pool_divide(PoolState& pool, PoolState& from, uint8_t position, uint32_t capacity, uint64_t bytes, Use use)
{
    PipeState& pipe = pipe_of(use);
    require_pool(from, pipe, use);
    pool.start = take_bytes(from, position, padded(bytes), use);
    pool.bytes = static_cast<uint32_t>(padded(bytes));
    take_buffers(pool, pipe, position, capacity, use);
}

void pool_share(PoolState& pool, const PoolState& with, uint8_t position, uint32_t capacity, uint64_t bytes, Use use)
{
    PipeState& pipe = pipe_of(use);
    require_pool(with, pipe, use);
    if (memory_of(position) != memory_of(with.position)) {
        raise("bad-argument", use, text_of("%s: pools of two memories share no bytes", use.api));
    }
    if (padded(bytes) > with.bytes) {
        raise("out-of-bounds", use,
            text_of("%s: %llu bytes, but the pool to share with has %u", use.api,
                static_cast<unsigned long long>(padded(bytes)), with.bytes));
    }
    pool.start = with.start;
    pool.bytes = with.bytes;
    take_buffers(pool, pipe, position, capacity, use);
}

PipeBuffer* pool_add_buffers(PoolState& pool, uint8_t position, uint32_t number, uint64_t bytes, Use use)
{
    PipeState& pipe = pipe_of(use);
    require_pool(pool, pipe, use);
    if (number == 0 || bytes == 0 || number > pool.capacity - pool.count) {
        raise("bad-argument", use,
            text_of("%s: %u buffers of %llu bytes; the pool has %u buffers left of %u", use.api, number,
                static_cast<unsigned long long>(bytes), pool.capacity - pool.count, pool.capacity));
    }
    const uint32_t address = take_bytes(pool, position, padded(bytes) * number, use);
    PipeBuffer* const first = pipe.pooled + pool.first + pool.count;
    for (uint32_t i = 0; i < number; ++i) {
        first[i] = PipeBuffer{};
        first[i].address = address + i * static_cast<uint32_t>(padded(bytes));
        first[i].bytes = static_cast<uint32_t>(padded(bytes));
        first[i].made = use.at;
    }
    pool.count += number;
    return first;
}

PipeBuffer* pool_buffer(const PoolState& pool, uint32_t index, Use use)
{
    PipeState& pipe = pipe_of(use);
    require_pool(pool, pipe, use);
    if (index >= pool.capacity) {
        raise("bad-argument", use,
            text_of("%s: buffer %u of a pool that has %u", use.api, index, pool.capacity));
    }
    return pipe.pooled + pool.first + index;
}

void pool_reset(PoolState& pool, Use use)
{
    enter(core_of(use), use);
    if (!pool.live) {
        return;
    }
    PipeState& pipe = pipe_of(use);
    require_pool(pool, pipe, use);
    for (uint32_t i = 0; i < pool.count; ++i) {
        PipeBuffer& buffer = pipe.pooled[pool.first + i];
        if (buffer.free_id != INVALID_TEVENTID && buffer.state == AscendC::TBufState::FREE) {
            wait_flag(buffer.free_event, buffer.free_id, use);
            pipe_release_event(pipe, buffer.free_event, buffer.free_id, use);
            buffer.free_id = INVALID_TEVENTID;
        }
    }
    pool.live = false;
}

void pool_end(PoolState& pool) noexcept
{
    if (!pool.live || current_core == nullptr) {
        return;
    }
    Core& core = *current_core;
    const auto* pipe = static_cast<AscendC::TPipe*>(core.cube.pipe);
    const bool gone = pipe == nullptr;  // its TPipe has ended, and has waited for the users of all buffers
    if (gone || std::uncaught_exceptions() > 0 || core.stopped() || !core.takes_part || core.has_pending) {
        pool.live = false;
        return;
    }
    try {
        PipeState& state = pipe_of({"~TBufPool", {"", 0}});
        if (pool.first + pool.capacity <= state.pooled_count) {
            pool_reset(pool, {"~TBufPool", {"", 0}});
        }
    } catch (FaultError& error) {
        core.has_pending = true;
        core.pending = error.fault;
    } catch (...) {
        // The launch was stopped meanwhile; the next instruction leaves the kernel.
    }
    pool.live = false;
}

}  // namespace tile_simulator
