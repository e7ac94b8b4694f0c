#include "atomic_write.h"

#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

#include "elementwise.h"
#include "instruction.h"
#include "launch.h"
#include "order_checks.h"

namespace tile_simulator {
namespace {

// Blocks run on several host threads; one lock makes every atomic DMA indivisible.
std::recursive_mutex atomic_mutex;

// The same among processes that share memory. One that was killed inside does not keep the others for ever.
class ProcessLock {
public:
    explicit ProcessLock(const TileProcesses* processes) : word_(processes != nullptr ? processes->lock : nullptr)
    {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
        uint32_t nobody = 0;
        while (word_ != nullptr && !__atomic_compare_exchange_n(
                                       word_, &nobody, 1u, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            nobody = 0;
            if (std::chrono::steady_clock::now() > end) {
                break;
            }
            std::this_thread::yield();
        }
    }
    ~ProcessLock()
    {
        if (word_ != nullptr) {
            __atomic_store_n(word_, 0u, __ATOMIC_RELEASE);
        }
    }
    ProcessLock(const ProcessLock&) = delete;
    ProcessLock& operator=(const ProcessLock&) = delete;

private:
    uint32_t* word_;
};

// Of floats as of vector instructions: NaN wins, and -0 is below +0 (the vendor's tables of edge values of atomics).
template <class T>
T combine(AtomicKind kind, T old, T value)
{
    using Wide = std::conditional_t<std::is_integral_v<T>, T, float>;
    switch (kind) {
        case AtomicKind::add:
            return static_cast<T>(old + value);
        case AtomicKind::max:
            return static_cast<T>(maximum(static_cast<Wide>(old), static_cast<Wide>(value)));
        default:
            return static_cast<T>(minimum(static_cast<Wide>(old), static_cast<Wide>(value)));
    }
}

template <class T>
void combine_array(AtomicKind kind, uint8_t* target, const uint8_t* source, uint64_t bytes)
{
    for (uint64_t i = 0; i + sizeof(T) <= bytes; i += sizeof(T)) {
        T old;
        T value;
        std::memcpy(&old, target + i, sizeof(T));
        std::memcpy(&value, source + i, sizeof(T));
        value = combine<T>(kind, old, value);
        std::memcpy(target + i, &value, sizeof(T));
    }
}

template <class T>
void combine_small_floats(
    AtomicKind kind, DataType type, bool saturates, uint8_t* target, const uint8_t* source, uint64_t bytes)
{
    combine_array<T>(kind, target, source, bytes);
    for (uint64_t i = 0; i + sizeof(T) <= bytes && saturates; i += sizeof(T)) {
        uint16_t bits;
        std::memcpy(&bits, target + i, sizeof(T));
        saturate_small_floats(type, &bits, 1);
        std::memcpy(target + i, &bits, sizeof(T));
    }
}

// Under the lock.
void combine(AtomicKind kind, DataType type, bool saturates, uint8_t* target, const uint8_t* source, uint64_t bytes)
{
    switch (type) {
        case DataType::i8:
            return combine_array<int8_t>(kind, target, source, bytes);
        case DataType::i16:
            return combine_array<int16_t>(kind, target, source, bytes);
        case DataType::i32:
            // Wraps, so computed unsigned for add; max and min need the sign.
            return kind == AtomicKind::add ? combine_array<uint32_t>(kind, target, source, bytes)
                                           : combine_array<int32_t>(kind, target, source, bytes);
        case DataType::f16:
            return combine_small_floats<half>(kind, type, saturates, target, source, bytes);
        case DataType::bf16:
            return combine_small_floats<bfloat16_t>(kind, type, saturates, target, source, bytes);
        default:
            return combine_array<float>(kind, target, source, bytes);
    }
}

}  // namespace

void check_atomic_type(const Core& core, DataType destination, Use use)
{
    if (core.device_checks && core.atomic != AtomicKind::none && core.atomic_type != destination) {
        raise("bad-argument", use,
            text_of("%s: the atomic mode was set for %s, but dst is %s", use.api, name_of(core.atomic_type),
                name_of(destination)));
    }
}

void write_global(Core& core, uint8_t* target, const uint8_t* source, uint64_t bytes)
{
    OrderChecks* const order = core.block.order();
    if (core.atomic == AtomicKind::none) {
        if (order != nullptr) {
            order->stored(core, target, source, bytes);
        }
        if (core.remote.target() < 0 || !core.remote.hold(core, target, source, bytes)) {
            std::memcpy(target, source, bytes);
        }
        return;
    }
    const std::lock_guard<std::recursive_mutex> lock(atomic_mutex);
    if (order != nullptr) {
        order->updated(core, target, bytes);
    }
    if (core.remote.target() < 0 || !core.remote.hold(core, target, source, bytes)) {
        const ProcessLock others(core.block.launch().options().processes);
        combine(core.atomic, core.atomic_type, core.saturation.floats, target, source, bytes);
    }
}

void update_global(AtomicKind kind, DataType type, bool saturates, uint8_t* target, const uint8_t* source,
    uint64_t bytes, const TileProcesses* processes)
{
    if (kind == AtomicKind::none) {
        std::memcpy(target, source, bytes);
        return;
    }
    const std::lock_guard<std::recursive_mutex> lock(atomic_mutex);
    const ProcessLock others(processes);
    combine(kind, type, saturates, target, source, bytes);
}

void set_atomic_type(DataType type)
{
    core_of({"SetAtomicType", {"", 0}}).atomic_type = type;
}

}  // namespace tile_simulator
