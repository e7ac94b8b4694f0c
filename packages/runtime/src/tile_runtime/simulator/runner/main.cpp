// Runs one kernel of a hand-written source in a process of its own, so that nothing it does harms the caller.
//
// Usage: runner <parent pid> <libtile_simulator.so> <kernel library> <request descriptor> <record descriptor>
// <timeline descriptor, or -1> <host stub>
#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "argument_memory.h"
#include "crash_report.h"
#include "run_record.h"
#include "tile_host_stub.h"

namespace tile_runner {
namespace {

// Printed text beyond this is cut off; a kernel that prints more is not read by anyone.
constexpr uint64_t most_printed = 32u << 20;
// The same for what the kernel writes to the console by itself.
constexpr rlim_t most_written = 64u << 20;

template <class Function>
Function* find(void* library, const char* name)
{
    void* symbol = dlsym(library, name);
    if (symbol == nullptr) {
        throw std::runtime_error(std::string("no function ") + name + " in the library");
    }
    return reinterpret_cast<Function*>(symbol);
}

void* open_library(const char* path, int mode)
{
    void* library = dlopen(path, mode);
    if (library == nullptr) {
        throw std::runtime_error(dlerror());
    }
    return library;
}

// The record file: a page of facts, then texts.
class RecordFile {
public:
    explicit RecordFile(int file) : file_(file)
    {
        void* mapped = mmap(nullptr, sizeof(Record), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (mapped == MAP_FAILED) {
            _exit(3);
        }
        record_ = static_cast<Record*>(mapped);
        record_->nearest_buffer = -1;
    }

    Record& record() { return *record_; }

    // Allocates nothing: it has to work when memory has run out.
    void write(int index, const char* text, uint64_t length)
    {
        record_->lengths[index] = length;
        for (uint64_t done = 0; done < length;) {
            const ssize_t count = pwrite(file_, text + done, length - done, static_cast<off_t>(position_ + done));
            if (count <= 0) {
                break;
            }
            done += static_cast<uint64_t>(count);
        }
        position_ += length;
    }
    void write(int index, const char* text) { write(index, text, std::strlen(text)); }

private:
    int file_;
    Record* record_;
    uint64_t position_ = sizeof(Record);
};

const Request& map_request(int file)
{
    struct stat information {};
    if (fstat(file, &information) != 0) {
        _exit(3);
    }
    // Private: what the parent asked for stays as it was, even if the kernel writes here.
    void* mapped = mmap(nullptr, static_cast<size_t>(information.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    if (mapped == MAP_FAILED) {
        _exit(3);
    }
    return *static_cast<const Request*>(mapped);
}

void limit_resources(uint64_t memory)
{
    uint64_t pages_in_use = 0;
    if (FILE* statistics = std::fopen("/proc/self/statm", "r")) {
        unsigned long long pages = 0;
        if (std::fscanf(statistics, "%llu", &pages) == 1) {
            pages_in_use = pages;
        }
        std::fclose(statistics);
    }
    // Only the lower of the two limits that each resource has: what the runner itself writes later may be longer.
    const auto set = [](__rlimit_resource_t which, rlim_t value) {
        rlimit limit{};
        getrlimit(which, &limit);
        limit.rlim_cur = std::min(value, limit.rlim_max);
        setrlimit(which, &limit);
    };
    if (memory != 0) {
        set(RLIMIT_AS, pages_in_use * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + memory);
    }
    set(RLIMIT_FSIZE, most_written);
    set(RLIMIT_CORE, 0);
}

void lift_limit(__rlimit_resource_t which)
{
    rlimit limit{};
    getrlimit(which, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(which, &limit);
}

// Appends to the timeline file. A file that can not be written is one the parent finds too short.
void append(int file, const void* data, uint64_t bytes)
{
    for (uint64_t done = 0; done < bytes;) {
        const ssize_t count = write(file, static_cast<const char*>(data) + done, bytes - done);
        if (count <= 0) {
            return;
        }
        done += static_cast<uint64_t>(count);
    }
}

class Run {
public:
    Run(const char* simulator, const char* kernel, int request_file, int record_file, int timeline_file, const char* stub)
        : request_(map_request(request_file)),
          arguments_(reinterpret_cast<const RequestArgument*>(&request_ + 1)),
          memory_(request_file, arguments_, request_.arguments),
          out_(record_file),
          timeline_file_(timeline_file),
          simulator_(open_library(simulator, RTLD_NOW | RTLD_GLOBAL)),
          kernel_(open_library(kernel, RTLD_NOW | RTLD_LOCAL)),
          stub_(stub)
    {
    }

    void execute()
    {
        auto* stub = find<bool(tile_host::Call*)>(kernel_, stub_);
        Watched watched;
        watched.record = &out_.record();
        watched.memory = &memory_;
        watched.running_core =
            find<decltype(tile_simulator_running_core)>(simulator_, "tile_simulator_running_core");
        watched.kernel = code_range_of(reinterpret_cast<const void*>(stub));
        watched.simulator = code_range_of(reinterpret_cast<const void*>(watched.running_core));
        watch(watched);
        prepare_thread();
        on_exit([](int code, void*) { report_exit(code); }, nullptr);
        configure();
        std::vector<tile_host::Argument> cells = argument_cells();
        tile_host::Call call{cells.data(), request_.blocks, &prepare_thread, 0, {}};
        limit_resources(request_.memory_limit);
        Record& record = out_.record();
        record.state = state_running;
        const auto begin = std::chrono::steady_clock::now();
        const bool fits = stub(&call);
        record.elapsed = static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count());
        if (!fits) {
            record.argument = call.wrong_argument;
            out_.write(0, "");
            out_.write(1, call.problem);
            record.state = state_bad_argument;
            return;
        }
        report();
    }

    RecordFile& out() { return out_; }

private:
    void configure()
    {
        TileOptions options;
        find<decltype(tile_simulator_default_options)>(simulator_, "tile_simulator_default_options")(&options);
        options.checks = request_.checks;
        options.threads = request_.threads;
        options.seed = request_.seed;
        options.starved = request_.starved;
        options.first = request_.first;
        options.cube_cores = request_.cube_cores;
        options.vector_cores = request_.vector_cores;
        if (request_.constants != 0) {
            read_timing();
            options.timing = &timing_;
        }
        find<decltype(tile_simulator_set_options)>(simulator_, "tile_simulator_set_options")(&options);
        std::vector<TileBuffer> buffers;
        for (uint32_t i = 0; i < request_.arguments; ++i) {
            if (arguments_[i].kind == 1 && arguments_[i].shares == i) {
                const uint32_t fresh = arguments_[i].fresh != 0 ? 1 : 0;
                buffers.push_back({memory_.address(i), arguments_[i].bytes, arguments_[i].name, fresh});
            }
        }
        find<decltype(tile_simulator_set_buffers)>(simulator_, "tile_simulator_set_buffers")(
            buffers.data(), buffers.size());
        point_lists();
    }

    // The words at the end of a list of tensors become the addresses of the arguments they number.
    void point_lists()
    {
        for (uint32_t i = 0; i < request_.arguments; ++i) {
            const RequestArgument& list = arguments_[i];
            const uint64_t count = list.kind == 1 ? list.integer : 0;
            if (count == 0) {
                continue;
            }
            auto* words = reinterpret_cast<uint64_t*>(
                static_cast<uint8_t*>(memory_.address(i)) + list.bytes - count * sizeof(uint64_t));
            for (uint64_t word = 0; word < count; ++word) {
                words[word] = reinterpret_cast<uint64_t>(memory_.address(static_cast<uint32_t>(words[word])));
            }
        }
    }

    void read_timing()
    {
        const auto* given = reinterpret_cast<const RequestConstant*>(arguments_ + request_.arguments);
        std::istringstream names(find<decltype(tile_simulator_timing_names)>(simulator_, "tile_simulator_timing_names")());
        double* field = reinterpret_cast<double*>(&timing_);
        for (std::string name; names >> name; ++field) {
            const auto* found = std::find_if(
                given, given + request_.constants, [&](const RequestConstant& constant) { return constant.name == name; });
            if (found == given + request_.constants) {
                throw std::runtime_error("the time model lacks the constant " + name);
            }
            *field = found->value;
        }
    }

    std::vector<tile_host::Argument> argument_cells() const
    {
        std::vector<tile_host::Argument> cells(request_.arguments);
        for (uint32_t i = 0; i < request_.arguments; ++i) {
            const RequestArgument& given = arguments_[i];
            cells[i] = {static_cast<tile_host::Kind>(given.kind), static_cast<tile_simulator::DataType>(given.type),
                given.bytes, given.kind == 1 ? memory_.address(i) : nullptr, given.integer, given.negative != 0,
                given.real};
        }
        return cells;
    }

    void report()
    {
        Record& record = out_.record();
        const TileError* error = find<decltype(tile_simulator_error)>(simulator_, "tile_simulator_error")();
        if (error != nullptr) {
            record.has_fault = 1;
            record.line = error->line;
            record.block = error->block;
            const char* texts[] = {error->kind, error->text, error->file, error->core, error->api};
            for (int i = 0; i < 5; ++i) {
                out_.write(i, texts[i]);
            }
        }
        write_timeline();
        size_t length = 0;
        const char* printed = find<decltype(tile_simulator_output)>(simulator_, "tile_simulator_output")(&length);
        out_.write(5, printed, std::min<uint64_t>(length, most_printed));
        out_.write(6, error != nullptr ? error->hint : "");
        const std::string others = other_text();
        out_.write(7, others.data(), others.size());
        const std::string gaps = error == nullptr ? gap_text() : std::string();
        out_.write(8, gaps.data(), gaps.size());
        const Nearest overwritten = memory_.find_overwritten();
        record.nearest_buffer = overwritten.argument;
        record.nearest_offset = overwritten.offset;
        record.state = error == nullptr && overwritten.argument >= 0 ? state_wrote_outside : state_finished;
    }

    // Records that end in '\x1e', with fields that end in '\x1f', as `others` of run_files.py takes them.
    std::string other_text() const
    {
        size_t count = 0;
        const TileError* others = find<decltype(tile_simulator_others)>(simulator_, "tile_simulator_others")(&count);
        std::string text;
        for (size_t i = 0; i < count; ++i) {
            const TileError& other = others[i];
            for (const std::string& field : {std::string(other.kind), std::string(other.text),
                     std::string(other.file), std::to_string(other.line), std::to_string(other.block),
                     std::string(other.core), std::string(other.api), std::string(other.hint)}) {
                text.append(field).push_back('\x1f');
            }
            text.push_back('\x1e');
        }
        return text;
    }

    // What the run left unwritten of buffers that held nothing, in records as above: number of the argument, how many
    // elements, and the first run of them.
    std::string gap_text() const
    {
        const auto unwritten = find<decltype(tile_simulator_unwritten)>(simulator_, "tile_simulator_unwritten");
        std::string text;
        for (uint32_t i = 0; i < request_.arguments; ++i) {
            if (arguments_[i].fresh == 0 || arguments_[i].shares != i) {
                continue;
            }
            const TileUnwritten gap = unwritten(memory_.address(i), arguments_[i].fresh);
            for (const uint64_t field : {uint64_t(i), gap.count, gap.first, gap.end}) {
                text.append(std::to_string(field)).push_back('\x1f');
            }
            text.push_back('\x1e');
        }
        return text;
    }

    void write_timeline()
    {
        const TileTimeline* line = find<decltype(tile_simulator_timeline)>(simulator_, "tile_simulator_timeline")();
        if (line == nullptr || timeline_file_ < 0) {
            return;
        }
        std::string strings;
        for (size_t i = 0; i < line->string_count; ++i) {
            strings.append(line->strings[i]).push_back('\0');
        }
        const TimelineHead head{line->count, line->access_count, line->string_count, strings.size(), line->padding_count, line->cycles,
            line->start_cycles, {line->scalar_cycles[0], line->scalar_cycles[1]}, line->launch_us, line->macs, line->read_bytes, line->write_bytes, line->hbm_bytes,
            line->owed_bytes};
        lift_limit(RLIMIT_FSIZE);
        append(timeline_file_, &head, sizeof(head));
        append(timeline_file_, line->events, line->count * sizeof(TileTimeEvent));
        append(timeline_file_, line->accesses, line->access_count * sizeof(TileTimeAccess));
        append(timeline_file_, line->paddings, line->padding_count * sizeof(TileBankPadding));
        append(timeline_file_, strings.data(), strings.size());
    }

    const Request& request_;
    const RequestArgument* arguments_;
    ArgumentMemory memory_;
    RecordFile out_;
    const int timeline_file_;
    TileTiming timing_{};
    void* simulator_;
    void* kernel_;
    const char* stub_;
};

int run(char** arguments)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != std::atoi(arguments[1])) {
        return 3;  // the parent is gone already
    }
    const int record_file = std::atoi(arguments[5]);
    RecordFile record(record_file);
    try {
        Run run(arguments[2], arguments[3], std::atoi(arguments[4]), record_file, std::atoi(arguments[6]), arguments[7]);
        run.execute();
        std::fflush(nullptr);
        // No destructors: the kernel may have left anything behind, and the system takes all of it back.
        _exit(0);
    } catch (const std::bad_alloc&) {
        record.record().state = state_out_of_memory;
    } catch (const std::exception& error) {
        // A kernel's own exceptions end in the simulator; what comes out of a run is a thread it could not start.
        const bool running = record.record().state == state_running;
        record.write(0, "");
        record.write(1, error.what());
        record.record().state = running ? state_out_of_memory : state_cannot_load;
    }
    _exit(0);
}

}  // namespace
}  // namespace tile_runner

int main(int count, char** arguments)
{
    return count == 8 ? tile_runner::run(arguments) : 3;
}
