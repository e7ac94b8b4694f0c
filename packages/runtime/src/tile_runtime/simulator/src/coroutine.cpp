#include "coroutine.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define TILE_SIMULATOR_ASAN 1
#endif

#if defined(__x86_64__)
// Saves the callee-saved registers of the System V ABI and the two floating-point control words, swaps stacks.
extern "C" void tile_simulator_switch(void** save, void* load);
extern "C" void tile_simulator_start(void);
asm(R"(
    .text
    .globl tile_simulator_switch
    .hidden tile_simulator_switch
    .type tile_simulator_switch, @function
tile_simulator_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    subq $8, %rsp
    stmxcsr (%rsp)
    fnstcw 4(%rsp)
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    ldmxcsr (%rsp)
    fldcw 4(%rsp)
    addq $8, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size tile_simulator_switch, .-tile_simulator_switch
    .globl tile_simulator_start
    .hidden tile_simulator_start
    .type tile_simulator_start, @function
tile_simulator_start:
    .cfi_startproc
    .cfi_undefined rip
    movq %r12, %rdi
    callq *%rbx
    ud2
    .cfi_endproc
    .size tile_simulator_start, .-tile_simulator_start
)");
#elif defined(__aarch64__)
// Saves x19..x30 and d8..d15 (AAPCS64), swaps stacks.
extern "C" void tile_simulator_switch(void** save, void* load);
extern "C" void tile_simulator_start(void);
asm(R"(
    .text
    .globl tile_simulator_switch
    .hidden tile_simulator_switch
    .type tile_simulator_switch, %function
tile_simulator_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .size tile_simulator_switch, .-tile_simulator_switch
    .globl tile_simulator_start
    .hidden tile_simulator_start
    .type tile_simulator_start, %function
tile_simulator_start:
    .cfi_startproc
    .cfi_undefined x30
    mov x0, x20
    blr x19
    brk #0
    .cfi_endproc
    .size tile_simulator_start, .-tile_simulator_start
)");
#endif

namespace tile_simulator {
namespace {

// Kernels keep tensors, not data, on their stack. Pages are only touched when used.
constexpr size_t stack_size = 1u << 20;

void switch_contexts(Context& from, Context& to)
{
#ifdef TILE_SIMULATOR_UCONTEXT
    swapcontext(&from, &to);
#else
    tile_simulator_switch(&from, to);
#endif
}

}  // namespace

Coroutine::~Coroutine()
{
    if (stack_ != nullptr) {
        munmap(stack_, stack_bytes_);
    }
}

void Coroutine::make_stack()
{
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    stack_bytes_ = stack_size + page;
    void* mapping = mmap(nullptr, stack_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) {
        throw std::bad_alloc();
    }
    stack_ = mapping;
    mprotect(stack_, page, PROT_NONE);  // guard page: an overflow faults instead of corrupting memory
}

void Coroutine::run_body()
{
#ifdef TILE_SIMULATOR_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &scheduler_stack_, &scheduler_stack_bytes_);
#endif
    body_(argument_);
    finished_ = true;
}

void Coroutine::start(void (*body)(void*), void* argument)
{
    if (stack_ == nullptr) {
        make_stack();
    }
    body_ = body;
    argument_ = argument;
    finished_ = false;
#ifdef TILE_SIMULATOR_UCONTEXT
    getcontext(&own_);
    own_.uc_stack.ss_sp = stack_;
    own_.uc_stack.ss_size = stack_bytes_;
    own_.uc_link = nullptr;
    const uintptr_t self = reinterpret_cast<uintptr_t>(this);
    makecontext(&own_, reinterpret_cast<void (*)()>(+[](unsigned high, unsigned low) {
        enter(reinterpret_cast<Coroutine*>((uintptr_t(high) << 16 << 16) | uintptr_t(low)));
    }),
        2, unsigned(self >> 16 >> 16), unsigned(self & 0xffffffffu));
#else
    // A frame as tile_simulator_switch leaves it, returning into tile_simulator_start.
    uintptr_t* top = reinterpret_cast<uintptr_t*>(static_cast<char*>(stack_) + stack_bytes_ - 64);
#if defined(__x86_64__)
    uintptr_t* frame = top - 8;
    uint32_t control[2] = {0x1f80u, 0x037fu};  // default MXCSR and x87 control word
    std::memcpy(&frame[0], control, sizeof(control));
    frame[1] = 0;                                               // r15
    frame[2] = 0;                                               // r14
    frame[3] = 0;                                               // r13
    frame[4] = reinterpret_cast<uintptr_t>(this);               // r12
    frame[5] = reinterpret_cast<uintptr_t>(&Coroutine::enter);  // rbx
    frame[6] = 0;                                               // rbp
    frame[7] = reinterpret_cast<uintptr_t>(&tile_simulator_start);
#else
    uintptr_t* frame = top - 20;
    std::memset(frame, 0, 20 * sizeof(uintptr_t));
    frame[0] = reinterpret_cast<uintptr_t>(&Coroutine::enter);       // x19
    frame[1] = reinterpret_cast<uintptr_t>(this);                    // x20
    frame[11] = reinterpret_cast<uintptr_t>(&tile_simulator_start);  // x30
#endif
    own_ = frame;
#endif
}

void Coroutine::enter(Coroutine* self)
{
    self->run_body();
#ifdef TILE_SIMULATOR_ASAN
    __sanitizer_start_switch_fiber(nullptr, self->scheduler_stack_, self->scheduler_stack_bytes_);
#endif
    switch_contexts(self->own_, self->scheduler_);
}

void Coroutine::resume()
{
#ifdef TILE_SIMULATOR_ASAN
    __sanitizer_start_switch_fiber(&scheduler_fake_stack_, stack_, stack_bytes_);
#endif
    switch_contexts(scheduler_, own_);
#ifdef TILE_SIMULATOR_ASAN
    __sanitizer_finish_switch_fiber(scheduler_fake_stack_, nullptr, nullptr);
#endif
}

void Coroutine::suspend()
{
#ifdef TILE_SIMULATOR_ASAN
    __sanitizer_start_switch_fiber(&own_fake_stack_, scheduler_stack_, scheduler_stack_bytes_);
#endif
    switch_contexts(own_, scheduler_);
#ifdef TILE_SIMULATOR_ASAN
    __sanitizer_finish_switch_fiber(own_fake_stack_, &scheduler_stack_, &scheduler_stack_bytes_);
#endif
}

void Coroutine::abandon()
{
    finished_ = true;
    switch_contexts(own_, scheduler_);
    __builtin_unreachable();
}

void* Coroutine::free_stack() const
{
#if defined(TILE_SIMULATOR_UCONTEXT) || defined(TILE_SIMULATOR_ASAN)
    return nullptr;
#else
    constexpr uintptr_t apart = 1024;  // from the registers that the scheduler has saved
    return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(scheduler_) - apart) & ~uintptr_t(15));
#endif
}

bool Coroutine::past_end(const void* address) const
{
    // A large frame reaches beyond the guard page before it is touched.
    const char* const end = static_cast<const char*>(stack_) + sysconf(_SC_PAGESIZE);
    return address < end && static_cast<const char*>(address) + stack_size > end;
}

}  // namespace tile_simulator
