// What the parent process and the runner share: the request it reads, and the record it leaves.
//
// Both lie in anonymous files (memfd), so that nothing stays behind however the runner ends. The parent is
// tile_runtime/source_kernels/run_files.py, which has the same structures.
#pragma once

#include <cstdint>

namespace tile_runner {

constexpr uint32_t name_bytes = 64;

struct RequestArgument {
    uint32_t kind;  // tile_host::Kind
    uint32_t type;  // tile_simulator::DataType of the elements
    uint64_t bytes;
    uint64_t offset;   // of a buffer's first page in the request file
    uint64_t lead;     // bytes between that page's start and the data
    uint64_t integer;  // two's complement; of a buffer: how many words at its end are numbers of arguments to point to
    double real;
    uint32_t negative;
    uint32_t shares;  // argument whose buffer this is
    uint32_t fresh;   // bytes of an element of a buffer, all 0xFF, that holds nothing yet; else 0
    uint32_t unused;
    char name[name_bytes];
};

struct Request {
    uint32_t arguments;
    uint32_t blocks;
    uint32_t checks;
    uint32_t threads;
    uint64_t seed;
    uint32_t cube_cores;
    uint32_t vector_cores;
    uint64_t memory_limit;  // bytes the run may take besides its buffers
    uint32_t starved;
    uint32_t constants;  // of the time model; 0: the run is not timed
    uint32_t first;      // the run ends at its first error
    uint32_t unused;
    // RequestArgument[arguments] and RequestConstant[constants] follow
};

// A field of TileTiming.
struct RequestConstant {
    char name[24];
    double value;
};

enum State : uint32_t {
    state_starting = 0,
    state_cannot_load = 1,      // texts[1]: why
    state_bad_argument = 2,     // texts[1]: why; `argument` says which
    state_running = 3,          // the kernel was running when the process ended
    state_finished = 4,         // with or without a fault
    state_out_of_memory = 5,    // the host had no memory for the simulation
    state_wrote_outside = 6,    // bytes beside buffer `argument` were changed, `fault_address` bytes from its start
};

constexpr uint32_t most_frames = 64;
constexpr uint32_t text_count = 9;  // kind, text, file, core, api, printed, hint, warnings, gaps

struct Record {
    uint32_t state;
    int32_t signal;          // that ended the kernel; 0 if none did
    uint64_t fault_address;  // of SIGSEGV and SIGBUS
    int32_t nearest_buffer;  // argument whose buffer is near the address, or -1
    uint32_t in_simulator;   // the signal was raised in the simulator's own code
    int64_t nearest_offset;  // of the address from the start of that buffer
    uint32_t has_core;       // block and core are known
    uint32_t block;
    uint32_t core;           // 0 aic, 1 aiv0, 2 aiv1
    uint32_t line;
    uint32_t on_stack;       // the address lies at the end of a core's stack
    uint32_t argument;
    uint64_t elapsed;        // nanoseconds the kernel ran
    uint32_t has_fault;
    uint32_t frame_count;
    int32_t exit_code;       // with which the kernel called exit()
    uint32_t reserved;
    uint64_t frames[most_frames];  // offsets in the kernel library, innermost first
    uint64_t lengths[text_count];  // of the texts that follow in the record file
    // The API the core above entered last: in case of a signal, the last thing known.
    char last_api[64];
    char last_file[512];
    uint32_t last_line;
    uint32_t reserved_too;
};

// The head of the timeline file. Events, accesses, paddings and the strings, each with its final zero, follow.
struct TimelineHead {
    uint64_t events;
    uint64_t accesses;
    uint64_t strings;
    uint64_t string_bytes;
    uint64_t paddings;
    double cycles;
    double start_cycles;
    double scalar_cycles[2];
    double launch_us;
    uint64_t macs;
    uint64_t read_bytes;
    uint64_t write_bytes;
    uint64_t hbm_bytes;
    uint64_t owed_bytes;
};

}  // namespace tile_runner
