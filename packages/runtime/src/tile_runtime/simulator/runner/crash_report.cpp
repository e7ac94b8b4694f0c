#include "crash_report.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <cstdlib>

namespace tile_runner {
namespace {

Watched watched;
std::atomic<bool> reported{false};

constexpr int most_threads = 256;
std::atomic<int> thread_count{0};
pid_t thread_ids[most_threads];

constexpr size_t signal_stack_bytes = 64u << 10;

void add_frame(uint64_t address)
{
    Record& record = *watched.record;
    if (record.frame_count < most_frames) {
        record.frames[record.frame_count++] = address - watched.kernel.load_base;
    }
}

_Unwind_Reason_Code visit_frame(_Unwind_Context* context, void* data)
{
    bool& kernel_seen = *static_cast<bool*>(data);
    int before_instruction = 0;
    uint64_t address = _Unwind_GetIPInfo(context, &before_instruction);
    if (address == 0) {
        return _URC_END_OF_STACK;
    }
    // A return address stands behind the call it belongs to.
    address -= before_instruction == 0 ? 1 : 0;
    if (watched.kernel.contains(address)) {
        add_frame(address);
        kernel_seen = true;
    } else if (watched.simulator.contains(address) && !kernel_seen) {
        watched.record->in_simulator = 1;
    }
    return watched.record->frame_count < most_frames ? _URC_NO_REASON : _URC_END_OF_STACK;
}

uint64_t program_counter(const ucontext_t& context)
{
#if defined(__x86_64__)
    return static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
    return context.uc_mcontext.pc;
#else
    (void)context;
    return 0;
#endif
}

uint64_t stack_pointer(const ucontext_t& context)
{
#if defined(__x86_64__)
    return static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
    return context.uc_mcontext.sp;
#else
    (void)context;
    return 0;
#endif
}

void record_core()
{
    TileRunningCore core{};
    if (watched.running_core(&core) != 0) {
        watched.record->has_core = 1;
        watched.record->block = core.block;
        watched.record->core = core.core;
    }
}

// Cut off where the record has no room.
void copy_text(char* to, size_t room, const char* from)
{
    for (size_t i = 0; i + 1 < room && from[i] != 0; ++i) {
        to[i] = from[i];
    }
}

// Reads pointers a kernel may have overwritten, so it comes last.
void record_last_use()
{
    TileRunningCore core{};
    if (watched.running_core(&core) != 0 && core.api != nullptr) {
        Record& record = *watched.record;
        copy_text(record.last_api, sizeof(record.last_api), core.api);
        copy_text(record.last_file, sizeof(record.last_file), core.file != nullptr ? core.file : "");
        record.last_line = core.line;
    }
}

void record_frames()
{
    bool kernel_seen = false;
    _Unwind_Backtrace(visit_frame, &kernel_seen);
}

// The time is up: whichever thread runs a core tells where it is.
bool forward_to_running_thread()
{
    TileRunningCore core{};
    if (watched.running_core(&core) != 0) {
        return false;
    }
    const pid_t own = static_cast<pid_t>(syscall(SYS_gettid));
    const int count = thread_count.load() < most_threads ? thread_count.load() : most_threads;
    for (int i = 0; i < count; ++i) {
        if (thread_ids[i] != own) {
            syscall(SYS_tgkill, getpid(), thread_ids[i], SIGALRM);
        }
    }
    return true;
}

void on_signal(int signal, siginfo_t* information, void* context)
{
    if (signal == SIGALRM && forward_to_running_thread()) {
        return;  // the parent ends the process if no thread answers
    }
    if (reported.exchange(true)) {
        for (;;) {
            pause();  // another thread is writing, and ends the process
        }
    }
    Record& record = *watched.record;
    const ucontext_t& machine = *static_cast<const ucontext_t*>(context);
    record.signal = signal;
    if (signal == SIGSEGV || signal == SIGBUS) {
        const uint64_t address = reinterpret_cast<uint64_t>(information->si_addr);
        record.fault_address = address;
        const Nearest nearest = watched.memory->nearest(address);
        record.nearest_buffer = nearest.argument;
        record.nearest_offset = nearest.offset;
        const uint64_t stack = stack_pointer(machine);
        // A frame larger than a page reaches past the guard page before it is touched.
        record.on_stack = address + (1u << 20) > stack && address < stack + (64u << 10) ? 1 : 0;
    }
    record_core();
    const uint64_t counter = program_counter(machine);
    record.in_simulator = watched.simulator.contains(counter) ? 1 : 0;
    // Unwinding reads the stack the kernel may have destroyed: what is known is in the record already.
    if (record.on_stack != 0 && watched.kernel.contains(counter)) {
        add_frame(counter);
    } else {
        record_frames();
    }
    record_last_use();
    _exit(1);
}

}  // namespace

void watch(const Watched& what)
{
    watched = what;
    // The first unwinding loads a library and allocates: not in a handler.
    _Unwind_Backtrace([](_Unwind_Context*, void*) { return _URC_NO_REASON; }, nullptr);
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigfillset(&action.sa_mask);
    for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS, SIGXFSZ, SIGALRM}) {
        sigaction(signal, &action, nullptr);
    }
}

void prepare_thread()
{
    static thread_local bool ready = false;
    if (ready) {
        return;
    }
    ready = true;
    const int place = thread_count.fetch_add(1);
    if (place < most_threads) {
        thread_ids[place] = static_cast<pid_t>(syscall(SYS_gettid));
    }
    void* memory =
        mmap(nullptr, signal_stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return;
    }
    stack_t stack{};
    stack.ss_sp = memory;
    stack.ss_size = signal_stack_bytes;
    sigaltstack(&stack, nullptr);
}

void report_exit(int code)
{
    if (watched.record == nullptr || watched.record->state != state_running || reported.exchange(true)) {
        return;
    }
    watched.record->exit_code = code;
    record_core();
    record_frames();
    record_last_use();
    _exit(2);
}

}  // namespace tile_runner
