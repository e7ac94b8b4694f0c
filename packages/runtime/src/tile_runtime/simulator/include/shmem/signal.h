// Signals to a word of another rank, and waits for a value of an own one (vendor: shmem,
// include/device/gm2gm/shmem_device_p2p_sync.h).
#pragma once

#include "ranks.h"

enum aclshmem_signal_op_type_t { ACLSHMEM_SIGNAL_SET, ACLSHMEM_SIGNAL_ADD };
enum aclshmem_cmp_op_type_t {
    ACLSHMEM_CMP_EQ = 0,
    ACLSHMEM_CMP_NE,
    ACLSHMEM_CMP_GT,
    ACLSHMEM_CMP_GE,
    ACLSHMEM_CMP_LT,
    ACLSHMEM_CMP_LE
};

namespace tile_simulator {

void rank_signal(uint64_t word, int32_t value, int operation, int pe, Use use);
// Returns the value; of a float, its bits.
int64_t rank_wait(uint64_t word, DataType type, int how, int64_t value, Use use);
bool rank_test(uint64_t word, DataType type, int how, int64_t value, Use use);

template <class T>
int64_t bits_of(T value)
{
    if constexpr (std::is_floating_point_v<T>) {
        return static_cast<int64_t>(scalar_of(value).bits);
    } else {
        return static_cast<int64_t>(value);
    }
}

template <class T>
void wait_until(__gm__ T* word, int how, T value, Use use)
{
    rank_wait(reinterpret_cast<uint64_t>(word), type_code<T>::value, how, bits_of(value), use);
}

}  // namespace tile_simulator

inline void aclshmemx_signal_op(
    __gm__ int32_t* sig_addr, int32_t signal, int sig_op, int pe, AscendC::Where at = AscendC::Where::here())
{
    tile_simulator::rank_signal(reinterpret_cast<uint64_t>(sig_addr), signal, sig_op, pe, {"aclshmemx_signal_op", at});
}
inline int32_t aclshmem_signal_wait_until(
    __gm__ int32_t* sig_addr, int cmp, int32_t cmp_val, AscendC::Where at = AscendC::Where::here())
{
    return static_cast<int32_t>(tile_simulator::rank_wait(reinterpret_cast<uint64_t>(sig_addr),
        tile_simulator::DataType::i32, cmp, cmp_val, {"aclshmem_signal_wait_until", at}));
}

#define TILE_WAITS(NAME, TYPE)                                                                                      \
    inline void aclshmem_##NAME##_wait_until(                                                                       \
        __gm__ TYPE* ivar, int cmp, TYPE cmp_value, AscendC::Where at = AscendC::Where::here())                     \
    {                                                                                                               \
        tile_simulator::wait_until(ivar, cmp, cmp_value, {"aclshmem_" #NAME "_wait_until", at});                    \
    }                                                                                                               \
    inline void aclshmem_##NAME##_wait(__gm__ TYPE* ivar, TYPE cmp_value, AscendC::Where at = AscendC::Where::here()) \
    {                                                                                                               \
        tile_simulator::wait_until(ivar, ACLSHMEM_CMP_NE, cmp_value, {"aclshmem_" #NAME "_wait", at});              \
    }                                                                                                               \
    inline void aclshmem_##NAME##_wait_until_all(__gm__ TYPE* ivars, size_t nelems, __gm__ const int* status,       \
        int cmp, TYPE cmp_value, AscendC::Where at = AscendC::Where::here())                                        \
    {                                                                                                               \
        for (size_t i = 0; i < nelems; ++i) {                                                                       \
            if (status == nullptr || status[i] == 0) {                                                              \
                tile_simulator::wait_until(ivars + i, cmp, cmp_value, {"aclshmem_" #NAME "_wait_until_all", at});   \
            }                                                                                                       \
        }                                                                                                           \
    }                                                                                                               \
    inline int aclshmem_##NAME##_test(                                                                              \
        __gm__ TYPE* ivars, int cmp, TYPE cmp_value, AscendC::Where at = AscendC::Where::here())                    \
    {                                                                                                               \
        return tile_simulator::rank_test(reinterpret_cast<uint64_t>(ivars), tile_simulator::type_code<TYPE>::value, \
                   cmp, tile_simulator::bits_of(cmp_value), {"aclshmem_" #NAME "_test", at})                        \
                   ? 1                                                                                              \
                   : 0;                                                                                             \
    }
TILE_WAITS(float, float)
TILE_WAITS(int8, int8_t)
TILE_WAITS(int16, int16_t)
TILE_WAITS(int32, int32_t)
TILE_WAITS(int64, int64_t)
TILE_WAITS(uint8, uint8_t)
TILE_WAITS(uint16, uint16_t)
TILE_WAITS(uint32, uint32_t)
TILE_WAITS(uint64, uint64_t)
#undef TILE_WAITS

#define shmemx_signal_op aclshmemx_signal_op
#define shmem_signal_wait_until aclshmem_signal_wait_until
