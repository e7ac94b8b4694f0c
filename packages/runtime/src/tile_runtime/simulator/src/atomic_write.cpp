#include "atomic_write.h"

#include <cstring>
#include <mutex>

#include "instruction.h"
#include "launch.h"
#include "order_checks.h"

namespace tile_simulator {
namespace {

// Blocks run on several host threads; one lock makes every atomic DMA indivisible.
std::mutex atomic_mutex;

template <class T>
T combine(AtomicKind kind, T old, T value)
{
    switch (kind) {
        case AtomicKind::add:
            return static_cast<T>(old + value);
        case AtomicKind::max:
            return old > value ? old : value;
        default:
            return old < value ? old : value;
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

}  // namespace

void check_atomic_type(const Core& core, DataType destination, Use use)
{
    if (core.device_checks && core.atomic != AtomicKind::none && core.atomic_type != destination) {
        raise("bad-argument", use,
            text_of("%s: the atomic mode was set for %s, but dst is %s", use.api, name_of(core.atomic_type),
                name_of(destination)));
    }
}

void write_global(const Core& core, uint8_t* target, const uint8_t* source, uint64_t bytes)
{
    if (core.atomic == AtomicKind::none) {
        if (OrderChecks* order = core.block.order()) {
            order->stored(core, target, source, bytes);
        }
        std::memcpy(target, source, bytes);
        return;
    }
    const std::lock_guard<std::mutex> lock(atomic_mutex);
    if (OrderChecks* order = core.block.order()) {
        order->updated(core, target, bytes);
    }
    switch (core.atomic_type) {
        case DataType::i8:
            return combine_array<int8_t>(core.atomic, target, source, bytes);
        case DataType::i16:
            return combine_array<int16_t>(core.atomic, target, source, bytes);
        case DataType::i32:
            // Wraps, so computed unsigned for add; max and min need the sign.
            return core.atomic == AtomicKind::add ? combine_array<uint32_t>(core.atomic, target, source, bytes)
                                                  : combine_array<int32_t>(core.atomic, target, source, bytes);
        case DataType::f16:
            return combine_array<half>(core.atomic, target, source, bytes);
        case DataType::bf16:
            return combine_array<bfloat16_t>(core.atomic, target, source, bytes);
        default:
            return combine_array<float>(core.atomic, target, source, bytes);
    }
}

void set_atomic_type(DataType type)
{
    core_of({"SetAtomicType", {"", 0}}).atomic_type = type;
}

}  // namespace tile_simulator
