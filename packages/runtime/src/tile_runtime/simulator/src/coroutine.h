// A co-routine with its own stack. Cores of a block switch between each other only where one waits.
#pragma once

#include <cstddef>

#if !(defined(__x86_64__) || defined(__aarch64__))
#include <ucontext.h>
#define TILE_SIMULATOR_UCONTEXT 1
#endif

namespace tile_simulator {

#ifdef TILE_SIMULATOR_UCONTEXT
using Context = ucontext_t;
#else
using Context = void*;  // a stack pointer, below which the registers are saved
#endif

class Coroutine {
public:
    Coroutine() = default;
    ~Coroutine();
    Coroutine(const Coroutine&) = delete;
    Coroutine& operator=(const Coroutine&) = delete;

    // Prepares `body(argument)`; it runs at the first resume.
    void start(void (*body)(void*), void* argument);
    // Runs until the body suspends or returns. Called by the scheduler.
    void resume();
    // Gives control back to the scheduler. Called inside the body.
    void suspend();
    bool finished() const { return finished_; }

    // Leaves the body for good, as it stands; the scheduler goes on. Called on a stack that is not the body's: at
    // `free_stack()`, below what the scheduler needs, or null where co-routines have no such place.
    [[noreturn]] void abandon();
    void* free_stack() const;
    // Whether an address lies where the body has used up its stack.
    bool past_end(const void* address) const;

private:
    static void enter(Coroutine* self);
    void make_stack();
    void run_body();

    void* stack_ = nullptr;
    size_t stack_bytes_ = 0;
    void (*body_)(void*) = nullptr;
    void* argument_ = nullptr;
    bool finished_ = true;
    Context own_ = {};
    Context scheduler_ = {};
    // Address sanitizer: fake stacks and the scheduler's stack, see sanitizer/common_interface_defs.h.
    [[maybe_unused]] void* own_fake_stack_ = nullptr;
    [[maybe_unused]] void* scheduler_fake_stack_ = nullptr;
    [[maybe_unused]] const void* scheduler_stack_ = nullptr;
    [[maybe_unused]] size_t scheduler_stack_bytes_ = 0;
};

}  // namespace tile_simulator
