// Signals of the running kernel: what happened, on which core, and from where, written to the record.
#pragma once

#include <cstdint>

#include "argument_memory.h"
#include "run_record.h"
#include "tile_code_range.h"
#include "tile_simulator.h"

namespace tile_runner {

using tile_simulator::CodeRange;
using tile_simulator::code_range_of;

// What the handlers look at. One per process; set before the kernel starts.
struct Watched {
    Record* record = nullptr;
    const ArgumentMemory* memory = nullptr;
    decltype(tile_simulator_running_core)* running_core = nullptr;
    CodeRange kernel;
    CodeRange simulator;
};

void watch(const Watched& watched);
// Gives the calling host thread a stack of its own for signals: a kernel may have used up the stack it runs on.
void prepare_thread();
// Records where exit() was called while the kernel ran, and ends the process.
void report_exit(int code);

}  // namespace tile_runner
