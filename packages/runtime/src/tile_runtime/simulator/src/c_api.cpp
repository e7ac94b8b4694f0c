// The C interface: per-thread settings, the pool of host threads, and what a launch leaves behind.
#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "ascend_c/division.h"
#include "crash_guard.h"
#include "launch.h"
#include "rank_messages.h"
#include "thread_pool.h"
#include "word_history.h"

namespace tile_simulator {
namespace {

// A launch that waits for those of other ranks; owns its closure.
struct Recorded {
    std::string kernel;
    uint32_t blocks;
    void (*entry)(void*);
    std::unique_ptr<void, void (*)(void*)> closure;
};

struct Session {
    GlobalBuffers buffers;
    SymmetricMemory symmetric;
    uint32_t ranks = 0;  // 0: launches run at once
    uint32_t ranks_of_launch = 0;
    std::vector<std::vector<Recorded>> recorded;  // by rank
    TileOptions options;
    bool failed = false;
    Fault fault;
    TileError error;
    std::string output;
    std::vector<Fault> warnings;
    std::vector<TileError> told_warnings;
    bool timed = false;
    TimedLaunch time;
    TileRankTimes rank_times{};

    Session() { tile_simulator_default_options(&options); }
};

Session& session()
{
    static thread_local Session instance;
    return instance;
}

uint32_t host_threads()
{
    static const uint32_t count = std::max(1u, std::thread::hardware_concurrency());
    return count;
}

TileError as_error(const Fault& fault)
{
    return TileError{fault.kind.c_str(), fault.text.c_str(), fault.file.c_str(), fault.line, fault.block,
        fault.core.c_str(), fault.api.c_str(), fault.hint.c_str(), fault.rank};
}

int run_launch(const char* kernel_name, uint32_t blocks, std::vector<RankEntry> entries)
{
    Session& now = session();
    if (now.failed) {
        return 1;  // an earlier launch of the same host stub failed: its results cannot be used
    }
    if (blocks == 0 || blocks > 65535) {
        now.failed = true;
        now.fault = Fault{};
        now.fault.kind = "bad-argument";
        now.fault.text = text_of("kernel %s is launched with %d blocks, but must have 1..65535", kernel_name,
            static_cast<int32_t>(blocks));
        now.fault.api = "launch";
        return 1;
    }
    const uint32_t all = blocks * static_cast<uint32_t>(entries.size());
    Launch launch(blocks, std::move(entries), now.symmetric, now.buffers, now.options);
    const uint32_t threads = std::min(all, now.options.threads == 0 ? host_threads() : now.options.threads);
    launch.add_worker();
    if (threads <= 1) {
        launch.work();
    } else {
        ThreadPool::instance().run(launch, threads - 1);
    }
    launch.finish();
    if (launch.failed() && now.options.words != nullptr) {
        now.options.words->forget();
    }
    now.output += launch.collect_output();
    for (Fault& warning : launch.take_others()) {
        now.warnings.push_back(std::move(warning));
    }
    now.timed = now.options.timing != nullptr && !launch.failed();
    if (now.timed) {
        now.time.timeline = TileTimeline{};
        now.time.ranks.clear();
        launch.time(now.time);
        for (Fault& remark : launch.redundant_syncs(now.time.events, now.time.strings)) {
            now.warnings.push_back(std::move(remark));
        }
    }
    if (launch.failed()) {
        now.failed = true;
        now.fault = std::move(launch.fault());
        return 1;
    }
    return 0;
}

// The most launches that a rank has asked for.
const std::vector<Recorded>& longest_of(const std::vector<std::vector<Recorded>>& recorded)
{
    return *std::max_element(
        recorded.begin(), recorded.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
}

// The launch that each rank has asked for as its `number`-th.
int run_recorded(const std::vector<std::vector<Recorded>>& recorded, size_t number)
{
    const std::vector<Recorded>& longest = longest_of(recorded);
    const Recorded& first = longest[number];
    std::vector<RankEntry> entries;
    for (const std::vector<Recorded>& rank : recorded) {
        const bool same = rank.size() == longest.size() && rank[number].kernel == first.kernel &&
                          rank[number].blocks == first.blocks;
        if (!same) {
            Session& now = session();
            now.failed = true;
            now.fault = Fault{};
            now.fault.kind = "collective-mismatch";
            now.fault.text = text_of("the ranks do not launch the same: rank %zu launches other kernels, another number of them, or other numbers of blocks",
                entries.size());
            now.fault.api = "launch";
            return 1;
        }
        entries.push_back({rank[number].entry, rank[number].closure.get()});
    }
    // The other ranks are of other processes.
    entries.resize(session().ranks_of_launch, entries.front());
    return run_launch(first.kernel.c_str(), first.blocks, std::move(entries));
}

}  // namespace

void division_fault(const char* what, Where at)
{
    const Use use{"integer division", at};
    const std::string text = text_of("an integer division has no value: %s", what);
    if (current_core != nullptr) {
        raise("division-by-zero", use, text);
    }
    Session& now = session();
    if (!now.failed) {
        now.failed = true;
        now.fault = fault_of("division-by-zero", use, text);
        now.fault.hint = "the number of blocks divides by an argument of the call: give another one";
    }
}

}  // namespace tile_simulator

using namespace tile_simulator;

extern "C" {

void tile_simulator_default_options(TileOptions* options)
{
    // Core counts of Ascend910B1 (docs/hardware/index.md#chips).
    *options = TileOptions{TILE_CHECKS_DEVICE, 0, 0, 0, 24, 48, nullptr, 0, 0, 0, TILE_DELIVERY_SEED, 0};
}

void tile_simulator_guard(void)
{
    install_crash_guard();
}

void tile_simulator_set_buffers(const TileBuffer* buffers, size_t count)
{
    session().buffers.assign(buffers, count);
}

void tile_simulator_set_options(const TileOptions* options)
{
    session().options = *options;
}

int tile_simulator_run(const char* kernel_name, uint32_t blocks, void (*entry)(void*), void* closure)
{
    return run_launch(kernel_name, blocks, {{entry, closure}});
}

void tile_simulator_begin_ranks(uint32_t ranks, const TileSymmetric* memory, size_t count)
{
    Session& now = session();
    now.ranks = now.ranks_of_launch = ranks;
    now.recorded.clear();
    now.symmetric = SymmetricMemory(ranks, memory, count);
    now.buffers.add_symmetric(now.symmetric);
}

void tile_simulator_next_rank(void)
{
    session().recorded.emplace_back();
}

int tile_simulator_recording(void)
{
    return session().ranks != 0 ? 1 : 0;
}

void tile_simulator_record(
    const char* kernel_name, uint32_t blocks, void (*entry)(void*), void* closure, void (*destroy)(void*))
{
    session().recorded.back().push_back({kernel_name, blocks, entry, {closure, destroy}});
}

int tile_simulator_end_ranks(void)
{
    Session& now = session();
    const std::vector<std::vector<Recorded>> recorded = std::move(now.recorded);
    now.ranks = 0;
    now.recorded.clear();
    int result = now.failed ? 1 : 0;
    for (size_t i = 0; result == 0 && !recorded.empty() && i < longest_of(recorded).size(); ++i) {
        result = run_recorded(recorded, i);
    }
    if (now.options.processes != nullptr && now.options.processes->messages != nullptr) {
        now.options.processes->messages->quiet();
    }
    now.symmetric = SymmetricMemory();
    return result;
}

const TileError* tile_simulator_error(void)
{
    Session& now = session();
    if (!now.failed) {
        return nullptr;
    }
    now.error = as_error(now.fault);
    return &now.error;
}

const TileError* tile_simulator_others(size_t* count)
{
    Session& now = session();
    now.told_warnings.clear();
    for (const Fault& fault : now.warnings) {
        now.told_warnings.push_back(as_error(fault));
    }
    *count = now.told_warnings.size();
    return now.told_warnings.data();
}

const char* tile_simulator_output(size_t* length)
{
    *length = session().output.size();
    return session().output.c_str();
}

const TileTimeline* tile_simulator_timeline(void)
{
    return session().timed ? &session().time.timeline : nullptr;
}

const TileRankTimes* tile_simulator_rank_times(void)
{
    Session& now = session();
    const TimedLaunch& time = now.time;
    now.rank_times = {time.ranks.data(), time.ranks.size(), time.links.data(), time.links.size(), time.blocks, time.cycles_without_links};
    return now.timed && !time.ranks.empty() ? &now.rank_times : nullptr;
}

TileUnwritten tile_simulator_unwritten(const void* base, uint64_t element_bytes)
{
    const GlobalBuffer* buffer = session().buffers.find(reinterpret_cast<uint64_t>(base));
    if (buffer == nullptr || buffer->written == nullptr || session().options.checks == TILE_CHECKS_OFF) {
        return {0, 0, 0};
    }
    const WrittenBytes::Gaps gaps = buffer->written->gaps(element_bytes);
    return {gaps.count, gaps.first, gaps.end};
}

const char* tile_simulator_timing_names(void)
{
#define TILE_TIMING_FIELD(name) #name " "
    return TILE_TIMING_FIELDS(TILE_TIMING_FIELD);
#undef TILE_TIMING_FIELD
}

void tile_simulator_clear(void)
{
    session().failed = false;
    session().timed = false;
    session().output.clear();
    session().warnings.clear();
}

int tile_simulator_running_core(TileRunningCore* core)
{
    const Core* running = current_core;
    if (running == nullptr) {
        return 0;
    }
    const Where at = running->site.file != nullptr ? running->site : running->last_use.at;
    *core = TileRunningCore{
        running->block.index_in_rank(), running->is_vector() ? 1 + running->sub : 0, running->last_use.api, at.file, at.line};
    return 1;
}
}
