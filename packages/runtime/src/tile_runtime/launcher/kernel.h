// A loaded kernel: the values of its arguments put into cells, and its entry called, on the simulator or a device.
// Not here: arguments that are tensors (remembered_call.h).
//
// A kernel library exports `extern "C" void tile_entry(void** args, void* stream)`; args[i] points at the value of the
// i-th argument. The signature is given once, so that a call only stores values and enters the library.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "library.h"

namespace tile_launcher {

namespace py = pybind11;

struct LaunchError {
    std::string kind;
    std::string text;
    std::string file;
    uint32_t line = 0;
    uint32_t block = 0;
    std::string core;
    std::string api;
    std::string hint;
    int32_t rank = -1;  // of a launch over several

    std::string repr() const;
};

// What launches on the same ranks have signalled, for a later one on them.
class WordHistory {
public:
    WordHistory();
    ~WordHistory();
    WordHistory(const WordHistory&) = delete;
    WordHistory& operator=(const WordHistory&) = delete;
    // All ranks have met.
    void forget();
    TileWords* words() const { return words_; }

private:
    TileWords* words_;
};

// What a run leaves: its error, and the text the kernel printed.
using Outcome = std::pair<std::optional<LaunchError>, std::string>;

enum class Kind { pointer, i32, i64, f32, f64, boolean };

// Room for one argument value of any kind.
union Value {
    void* pointer;
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;
    bool boolean;
};

// How the simulator runs a kernel.
struct RunOptions {
    TileOptions values{};
    std::optional<TileTiming> timing;

    // Whether what nothing has written yet is told from what is.
    bool checked() const { return values.checks != TILE_CHECKS_OFF; }
};

// The cells of one call; those of most kernels need no memory from the heap.
class Cells {
public:
    explicit Cells(size_t count);
    Cells(const Cells&) = delete;
    Cells& operator=(const Cells&) = delete;

    Value& operator[](size_t i) { return values_[i]; }
    void** arguments() { return pointers_; }
    // The next buffer of global memory among them.
    TileBuffer& add_buffer() { return buffers_[buffer_count_++]; }
    const TileBuffer* buffers() const { return buffers_; }
    size_t buffer_count() const { return buffer_count_; }

private:
    static constexpr size_t small = 32;
    Value small_values_[small];
    void* small_pointers_[small];
    TileBuffer small_buffers_[small];
    std::vector<Value> many_values_;
    std::vector<void*> many_pointers_;
    std::vector<TileBuffer> many_buffers_;
    Value* values_ = small_values_;
    void** pointers_ = small_pointers_;
    TileBuffer* buffers_ = small_buffers_;
    size_t buffer_count_ = 0;
};

class Kernel {
public:
    Kernel(const std::string& path, const std::string& symbol, const std::vector<std::string>& kinds,
        std::vector<std::string> names, bool simulated);

    void set_options(uint32_t checks, uint32_t threads, uint64_t seed, uint32_t starved, uint32_t cube_cores,
        uint32_t vector_cores, const std::optional<py::dict>& timing, double timeout, bool first, uint32_t starved_rank,
        uint32_t delivery, uint32_t node_ranks);

    size_t count() const { return kinds_.size(); }
    Kind kind(size_t i) const { return kinds_[i]; }
    bool simulated() const { return simulated_; }
    const RunOptions& options() const { return options_; }
    // Tells of the memory behind the pointer in a cell; what is fresh is filled with what nobody expects.
    void add_buffer(Cells& cells, size_t i, uint64_t bytes, bool fresh) const;

    // Runs the kernel without the GIL: the simulator to the end, a device until it is queued on the stream. The text of
    // an error of a device is that of its runtime library, and its kind the code.
    Outcome enter(Cells& cells, void* stream, const RunOptions& options) const;
    // The same on values from Python. `fresh`: the arguments whose memory nothing has written.
    Outcome run(const py::tuple& values, const std::optional<py::tuple>& byte_sizes, const py::tuple& fresh,
        uintptr_t stream) const;

    // The same for all ranks of a launch at once, each with values of its own; sizes are of all. `allocations`: memory
    // that ranks reach of each other, as (name, bytes, bases by rank); `timing`: constants of the time
    // model.
    // `earlier`, unless each rank has a process: the launches before, or null.
    // `process`, where each rank has a process of its own and the values are those of this one: how many ranks there are,
    // and what TileProcesses holds.
    using Process = std::tuple<uint32_t, uint32_t, uintptr_t, uint32_t, uintptr_t, uintptr_t, uintptr_t>;
    Outcome run_ranks(const std::vector<py::tuple>& values, const py::tuple& byte_sizes,
        const std::vector<py::tuple>& fresh, const std::vector<py::tuple>& allocations,
        const std::optional<py::dict>& timing, const std::optional<Process>& process,
        const WordHistory* earlier) const;

    // (totals, strings, events and accesses as bytes of their structs) of the latest run on this thread; None if that was
    // of another kernel, or without a clock.
    py::object timeline() const;
    // Of one over ranks: (totals by rank, links as (source, target, bytes, signals, busy cycles), cycles that it would
    // take if nothing between ranks took time), or None.
    static py::object rank_times();
    // What the latest run on this thread did that works on a device, but is waste or no document says it.
    static std::vector<LaunchError> others();
    static bool warned();
    // How many elements of a fresh buffer the latest run left unwritten, and the first run of them.
    static TileUnwritten unwritten(const void* base, uint64_t element_bytes);

private:
    // Puts values from Python into cells and tells of the memory behind them; sizes may be missing.
    void fill(Cells& cells, const py::tuple& values, const py::tuple* byte_sizes, const py::tuple& fresh) const;
    // Calls the entry; an exception is an error of the run.
    void call(Cells& cells, void* stream, Outcome& result) const;
    static void take_outcome(Outcome& result);

    uint64_t number_;  // of this object; addresses are used again
    Library library_;
    void (*entry_)(void**, void*);
    std::vector<Kind> kinds_;
    std::vector<std::string> names_;
    bool simulated_;
    DeviceErrors device_errors_;
    RunOptions options_;
};

// Loads libtile_simulator.so for the whole process; later calls do nothing.
void load_simulator(const std::string& path);

}  // namespace tile_launcher
