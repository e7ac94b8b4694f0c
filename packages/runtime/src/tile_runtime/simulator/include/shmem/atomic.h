// Atomic updates of another rank's memory (vendor: shmem, include/device/gm2gm/shmem_device_amo.h). On A2 and A3 they
// add and return nothing; the others are errors that name the call.
#pragma once

#include "transfer.h"

namespace tile_simulator {

[[noreturn]] void raise_no_fetch(Use use);

template <class T>
void add_remotely(__gm__ T* dst, T value, int pe, Use use)
{
    const SiteScope site(use.at);
    const RankBuffer buffer = rank_buffer(use);
    const AscendC::LocalTensor<T> word(AscendC::TPosition::VECIN, buffer.offset, 1);
    AscendC::GlobalTensor<T> target;
    target.SetGlobalBuffer(reinterpret_cast<T*>(remote_address(reinterpret_cast<uint64_t>(dst), pe, use)));
    local_store(word.operand(), 0, sizeof(T), &value, use);
    order_transfers(AscendC::HardEvent::S_MTE3, buffer.event, use.at);
    set_atomic(AtomicKind::add, type_code<T>::value, use);
    copy_out_padded(target.operand(), word.operand(), {1, sizeof(T), 0, 0, 0}, use);
    set_atomic(AtomicKind::none, DataType::other, use);
}

}  // namespace tile_simulator

#define TILE_ADDS(NAME, TYPE)                                                                                \
    inline void aclshmem_##NAME##_atomic_add(                                                                \
        __gm__ TYPE* dst, TYPE value, int32_t pe, AscendC::Where at = AscendC::Where::here())                \
    {                                                                                                        \
        tile_simulator::add_remotely(dst, value, pe, {"aclshmem_" #NAME "_atomic_add", at});                 \
    }
TILE_ADDS(int8, int8_t)
TILE_ADDS(int16, int16_t)
TILE_ADDS(int32, int32_t)
TILE_ADDS(half, half)
TILE_ADDS(bfloat16, bfloat16_t)
TILE_ADDS(float, float)
#undef TILE_ADDS

#define TILE_MISSING(RESULT, NAME, PARAMETERS)                                     \
    inline RESULT aclshmem_##NAME(PARAMETERS, AscendC::Where at = AscendC::Where::here()) \
    {                                                                              \
        tile_simulator::raise_no_fetch({"aclshmem_" #NAME, at});                   \
    }
#define TILE_TWO(TYPE) __gm__ TYPE*, int32_t
#define TILE_THREE(TYPE) __gm__ TYPE*, TYPE, int32_t
#define TILE_FOUR(TYPE) __gm__ TYPE*, TYPE, TYPE, int32_t
// The commas of a parameter list are not those of a macro's arguments.
#define TILE_LIST(...) __VA_ARGS__
#define TILE_FETCHES(NAME, TYPE)                                                  \
    TILE_MISSING(TYPE, NAME##_atomic_fetch, TILE_LIST(__gm__ const TYPE*, int32_t)) \
    TILE_MISSING(TYPE, NAME##_atomic_fetch_add, TILE_LIST(TILE_THREE(TYPE)))      \
    TILE_MISSING(TYPE, NAME##_atomic_fetch_inc, TILE_LIST(TILE_TWO(TYPE)))        \
    TILE_MISSING(TYPE, NAME##_atomic_swap, TILE_LIST(TILE_THREE(TYPE)))           \
    TILE_MISSING(TYPE, NAME##_atomic_compare_swap, TILE_LIST(TILE_FOUR(TYPE)))    \
    TILE_MISSING(void, NAME##_atomic_set, TILE_LIST(TILE_THREE(TYPE)))            \
    TILE_MISSING(void, NAME##_atomic_inc, TILE_LIST(TILE_TWO(TYPE)))
#define TILE_LOGIC(NAME, TYPE)                                                 \
    TILE_MISSING(void, NAME##_atomic_and, TILE_LIST(TILE_THREE(TYPE)))         \
    TILE_MISSING(void, NAME##_atomic_or, TILE_LIST(TILE_THREE(TYPE)))          \
    TILE_MISSING(void, NAME##_atomic_xor, TILE_LIST(TILE_THREE(TYPE)))         \
    TILE_MISSING(TYPE, NAME##_atomic_fetch_and, TILE_LIST(TILE_THREE(TYPE)))   \
    TILE_MISSING(TYPE, NAME##_atomic_fetch_or, TILE_LIST(TILE_THREE(TYPE)))    \
    TILE_MISSING(TYPE, NAME##_atomic_fetch_xor, TILE_LIST(TILE_THREE(TYPE)))
TILE_FETCHES(int32, int32_t)
TILE_FETCHES(uint32, uint32_t)
TILE_FETCHES(int64, int64_t)
TILE_FETCHES(uint64, uint64_t)
TILE_FETCHES(float, float)
TILE_LOGIC(int32, int32_t)
TILE_LOGIC(uint32, uint32_t)
TILE_LOGIC(int64, int64_t)
TILE_LOGIC(uint64, uint64_t)
TILE_MISSING(void, uint32_atomic_add, TILE_LIST(TILE_THREE(uint32_t)))
TILE_MISSING(void, int64_atomic_add, TILE_LIST(TILE_THREE(int64_t)))
TILE_MISSING(void, uint64_atomic_add, TILE_LIST(TILE_THREE(uint64_t)))
#undef TILE_LOGIC
#undef TILE_FETCHES
#undef TILE_LIST
#undef TILE_FOUR
#undef TILE_THREE
#undef TILE_TWO
#undef TILE_MISSING
