#include "crash_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "core.h"

namespace tile_simulator {
namespace {

constexpr int crash_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};
constexpr int clock_signal = SIGURG;  // ignored by those who do not wait for it
constexpr double tick_seconds = 0.05;
constexpr size_t signal_stack_bytes = 64u << 10;

struct sigaction previous[NSIG];
std::atomic<bool> installed{false};

struct Crash {
    int signal;
    const void* address;
};
// Read in a handler, which may not allocate it.
thread_local Crash crash __attribute__((tls_model("initial-exec"))) = {0, nullptr};

Fault fault_of_crash(const Core& core)
{
    Fault fault;
    const Where at = core.site.file != nullptr ? core.site : core.last_use.at;
    const char* const api = core.last_use.api;
    fault.file = at.file != nullptr ? at.file : "";
    fault.line = at.line;
    fault.api = api != nullptr ? api : "no call yet";
    switch (crash.signal) {
        case SIGFPE:
            fault.kind = "division-by-zero";
            fault.text = "the kernel divides an integer by zero, or the smallest one by -1 (SIGFPE)";
            break;
        case SIGSEGV:
        case SIGBUS:
            if (core.coroutine.past_end(crash.address)) {
                fault.kind = "stack-overflow";
                fault.text = "the kernel used up the stack of its core (1 MiB)";
            } else {
                fault.kind = "segmentation-fault";
                fault.text = text_of("the kernel touches address %p, which is no memory", crash.address);
            }
            break;
        case SIGABRT:
            fault.kind = "abort";
            fault.text = "the kernel called abort()";
            break;
        case clock_signal:
            fault.kind = "time-out";
            fault.text = text_of("the kernel is still running after %g s (switch `timeout`; 0 means no limit)",
                core.block.launch().options().timeout);
            break;
        default:
            fault.kind = "illegal-instruction";
            fault.text = text_of("the kernel reached code that can not run (signal %d)", crash.signal);
    }
    fault.text += api != nullptr ? "; this is the last call before" : "";
    return fault;
}

// Runs on the scheduler's stack in place of the kernel.
[[noreturn]] void leave_core()
{
    Core& core = *current_core;
    Block::abandon(core, fault_of_crash(core));
}

uint64_t program_counter(const ucontext_t& machine)
{
#if defined(__x86_64__)
    return uint64_t(machine.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
    return machine.uc_mcontext.pc;
#else
    (void)machine;
    return 0;
#endif
}

// The thread goes on with leave_core when the handler returns.
void go_on_in_leave_core(ucontext_t& machine, void* stack)
{
#if defined(__x86_64__)
    // As after a call: the address to return to would be on the stack.
    machine.uc_mcontext.gregs[REG_RSP] = greg_t(reinterpret_cast<uintptr_t>(stack) - 8);
    machine.uc_mcontext.gregs[REG_RIP] = greg_t(reinterpret_cast<uintptr_t>(&leave_core));
#elif defined(__aarch64__)
    machine.uc_mcontext.sp = reinterpret_cast<uintptr_t>(stack);
    machine.uc_mcontext.pc = reinterpret_cast<uintptr_t>(&leave_core);
#else
    (void)machine;
    (void)stack;
#endif
}

// Whoever had the signal before gets it.
void pass_on(int signal, siginfo_t* information, void* context)
{
    const struct sigaction& before = previous[signal];
    if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != nullptr) {
        before.sa_sigaction(signal, information, context);
    } else if (before.sa_handler == SIG_DFL && signal != clock_signal) {
        sigaction(signal, &before, nullptr);  // the instruction runs again, and the process ends
        if (information->si_code <= 0) {
            ::raise(signal);  // it was sent by a call
        }
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(signal);
    }
}

void on_signal(int signal, siginfo_t* information, void* context)
{
    Core* const core = current_core;
    ucontext_t& machine = *static_cast<ucontext_t*>(context);
    void* const stack = core != nullptr ? core->coroutine.free_stack() : nullptr;
    if (signal == clock_signal && information->si_code == SI_TIMER) {
        // Anywhere else the kernel comes to a call, which looks at the clock, or holds what others wait for.
        if (stack == nullptr || !core->block.launch().code().contains(program_counter(machine))) {
            return;
        }
    } else if (stack == nullptr || signal == clock_signal) {
        pass_on(signal, information, context);
        return;
    }
    crash = Crash{signal, signal == SIGSEGV || signal == SIGBUS ? information->si_addr : nullptr};
    go_on_in_leave_core(machine, stack);
}

// A kernel may have used up the stack it runs on.
void prepare_stack()
{
    static thread_local bool ready = false;
    if (ready) {
        return;
    }
    ready = true;
    stack_t now{};
    if (sigaltstack(nullptr, &now) == 0 && (now.ss_flags & SS_DISABLE) == 0) {
        return;
    }
    void* memory = mmap(nullptr, signal_stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) {
        stack_t stack{};
        stack.ss_sp = memory;
        stack.ss_size = signal_stack_bytes;
        sigaltstack(&stack, nullptr);
    }
}

// The clock of the calling thread; a fork leaves it behind.
struct ThreadClock {
    timer_t timer{};
    pid_t owner = 0;

    bool set(double seconds)
    {
        if (owner != getpid()) {
            struct sigevent event {};
            event.sigev_notify = SIGEV_THREAD_ID;
            event.sigev_signo = clock_signal;
            event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
            if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) {
                return false;
            }
            owner = getpid();
        }
        struct itimerspec when {};
        when.it_value.tv_sec = static_cast<time_t>(seconds);
        when.it_value.tv_nsec = static_cast<long>((seconds - double(when.it_value.tv_sec)) * 1e9);
        when.it_interval.tv_nsec = static_cast<long>(tick_seconds * 1e9);
        return timer_settime(timer, 0, &when, nullptr) == 0;
    }
    void stop()
    {
        const struct itimerspec never {};
        timer_settime(timer, 0, &never, nullptr);
    }
    ~ThreadClock()
    {
        if (owner == getpid()) {
            timer_delete(timer);
        }
    }
};
thread_local ThreadClock thread_clock;

}  // namespace

void install_crash_guard()
{
    if (installed.exchange(true)) {
        return;
    }
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigfillset(&action.sa_mask);
    for (const int signal : crash_signals) {
        sigaction(signal, &action, &previous[signal]);
    }
    sigaction(clock_signal, &action, &previous[clock_signal]);
}

CrashGuard::CrashGuard(const Launch& launch)
{
    if (installed.load(std::memory_order_relaxed)) {
        prepare_stack();
        const double seconds = launch.time_left();
        timed_ = seconds > 0 && thread_clock.set(seconds + tick_seconds);
    }
}

CrashGuard::~CrashGuard()
{
    if (timed_) {
        thread_clock.stop();
    }
}

}  // namespace tile_simulator
