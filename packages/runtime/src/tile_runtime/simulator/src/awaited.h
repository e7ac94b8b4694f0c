// What a core waits for that another rank does: a value of a word, or a barrier.
#pragma once

#include <atomic>
#include <cstdint>

#include "ascend_c/operand.h"
#include "handover_pointer.h"

namespace tile_simulator {

enum class Compare : uint8_t { eq, ne, gt, ge, lt, le };

// What a word has to be.
struct SignalCondition {
    DataType type = DataType::i32;
    Compare compare = Compare::eq;
    int64_t value = 0;  // of a float, its bits

    // Of a value of the type.
    bool holds(int64_t seen) const;
    // "== 3"
    const char* sign() const;
};

struct JudgedWait;

struct Awaited {
    bool waiting = false;
    std::atomic<bool> ready{false};
    uint64_t address = 0;  // of a word; 0: a barrier
    SignalCondition condition;
    uint32_t barrier = 0;  // its number
    Use use{};
    int64_t seen = 0;
    ForeignPointer knowledge;  // what came with the value
    std::shared_ptr<JudgedWait> judged;  // why, if signals were added up

    void begin()
    {
        waiting = false;
        ready.store(false, std::memory_order_relaxed);
        knowledge = nullptr;
        judged = nullptr;
    }
};

}  // namespace tile_simulator
