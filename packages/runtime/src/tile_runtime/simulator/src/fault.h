// Errors of a simulated kernel, and how they leave a core.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "ascend_c/operand.h"

namespace tile_simulator {

class Core;

// One error, as the launcher reports it.
struct Fault {
    std::string kind;
    std::string text;
    std::string file;
    uint32_t line = 0;
    uint32_t block = 0;
    std::string core;
    std::string api;
    std::string hint;  // what to do about it, or empty
    Where other{};     // the earlier of two accesses
    int32_t rank = -1;  // in a launch over several
};

// Thrown at the instruction that is wrong; caught at the entry of the core's co-routine.
struct FaultError {
    Fault fault;
};

// Thrown to unwind a core whose launch has been stopped by an error elsewhere.
struct Stopped {};

// Thrown in a core that goes on after KERNEL_TASK_TYPE_DEFAULT said it takes no part.
struct NotTakingPart {};

// The error of a call, at the place in the kernel it was made from.
Fault fault_of(const char* kind, Use use, std::string text);
[[noreturn]] void raise(const char* kind, Use use, std::string text);

// The same where the core can go on: the launch keeps the error, and ends with it. Thrown if it shall end at the first.
void tell(Core& core, Fault fault);
void tell(Core& core, const char* kind, Use use, std::string text);

// A warning, told once per kind and line; at strict level an error.
void warn_below_strict(Core& core, Fault fault);

// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string text_of(const char* format, ...);

const char* name_of(DataType type);
uint32_t size_of(DataType type);

}  // namespace tile_simulator
