// Put and get by the name of the element type, through the buffer of aclshmemx_set_mte_config, and of one element by the
// scalar unit (vendor: shmem, include/device/gm2gm/shmem_device_rma.h and shmem_device_so.h). Counts are of elements.
#pragma once

#include "transfer.h"

namespace tile_simulator {

// A store of an element that is written back at once.
template <class T>
void put_element(__gm__ T* dst, T value, int pe, Use use)
{
    const uint64_t address = remote_address(reinterpret_cast<uint64_t>(dst), pe, use);
    global_store({address, type_code<T>::value, address}, sizeof(T), &value, use);
    clean_data_cache(address, false, use);
}
template <class T>
T get_element(__gm__ T* src, int pe, Use use)
{
    const uint64_t address = remote_address(reinterpret_cast<uint64_t>(src), pe, use);
    clean_data_cache(address, false, use);
    T value;
    global_load({address, type_code<T>::value, address}, sizeof(T), &value, use);
    return value;
}

}  // namespace tile_simulator

#define TILE_TRANSFERS(NAME, TYPE)                                                                                   \
    inline void aclshmem_##NAME##_put_nbi(__gm__ TYPE* dst, __gm__ TYPE* src, uint32_t elem_size, int32_t pe,        \
        AscendC::Where at = AscendC::Where::here())                                                                  \
    {                                                                                                                \
        aclshmem_putmem_nbi(dst, src, elem_size * uint32_t(sizeof(TYPE)), pe, at);                                   \
    }                                                                                                                \
    inline void aclshmem_##NAME##_get_nbi(__gm__ TYPE* dst, __gm__ TYPE* src, uint32_t elem_size, int32_t pe,        \
        AscendC::Where at = AscendC::Where::here())                                                                  \
    {                                                                                                                \
        aclshmem_getmem_nbi(dst, src, elem_size * uint32_t(sizeof(TYPE)), pe, at);                                   \
    }                                                                                                                \
    inline void aclshmem_##NAME##_put_nbi(AscendC::GlobalTensor<TYPE> dst, AscendC::GlobalTensor<TYPE> src,          \
        uint32_t elem_size, int pe, AscendC::Where at = AscendC::Where::here())                                      \
    {                                                                                                                \
        aclshmem_putmem_nbi(                                                                                         \
            dst.GetPhyAddr(), src.GetPhyAddr(), elem_size * uint32_t(sizeof(TYPE)), pe, at);                         \
    }                                                                                                                \
    inline void aclshmem_##NAME##_get_nbi(AscendC::GlobalTensor<TYPE> dst, AscendC::GlobalTensor<TYPE> src,          \
        uint32_t elem_size, int pe, AscendC::Where at = AscendC::Where::here())                                      \
    {                                                                                                                \
        aclshmem_getmem_nbi(                                                                                         \
            dst.GetPhyAddr(), src.GetPhyAddr(), elem_size * uint32_t(sizeof(TYPE)), pe, at);                         \
    }                                                                                                                \
    inline void aclshmem_##NAME##_put_nbi(AscendC::GlobalTensor<TYPE> dst, AscendC::LocalTensor<TYPE> src,           \
        uint32_t elem_size, int32_t pe, AscendC::Where at = AscendC::Where::here())                                  \
    {                                                                                                                \
        aclshmemx_mte_put_nbi(dst, src, elem_size, pe, 0, at);                                                       \
    }                                                                                                                \
    inline void aclshmem_##NAME##_get_nbi(AscendC::LocalTensor<TYPE> dst, AscendC::GlobalTensor<TYPE> src,           \
        uint32_t elem_size, int pe, AscendC::Where at = AscendC::Where::here())                                      \
    {                                                                                                                \
        aclshmemx_mte_get_nbi(dst, src, elem_size, pe, 0, at);                                                       \
    }                                                                                                                \
    inline void aclshmem_##NAME##_put(__gm__ TYPE* dst, __gm__ TYPE* src, uint32_t elem_size, int32_t pe,            \
        AscendC::Where at = AscendC::Where::here())                                                                  \
    {                                                                                                                \
        aclshmem_putmem(dst, src, elem_size * uint32_t(sizeof(TYPE)), pe, at);                                       \
    }                                                                                                                \
    inline void aclshmem_##NAME##_get(__gm__ TYPE* dst, __gm__ TYPE* src, uint32_t elem_size, int32_t pe,            \
        AscendC::Where at = AscendC::Where::here())                                                                  \
    {                                                                                                                \
        aclshmem_getmem(dst, src, elem_size * uint32_t(sizeof(TYPE)), pe, at);                                       \
    }                                                                                                                \
    inline void aclshmem_##NAME##_put_signal(__gm__ TYPE* dst, __gm__ TYPE* src, size_t elem_size,                   \
        __gm__ int32_t* sig_addr, int32_t signal, int sig_op, int pe, AscendC::Where at = AscendC::Where::here())    \
    {                                                                                                                \
        aclshmem_putmem_signal(dst, src, elem_size * sizeof(TYPE), sig_addr, signal, sig_op, pe, at);                \
    }                                                                                                                \
    inline void aclshmem_##NAME##_p(                                                                                 \
        __gm__ TYPE* dst, const TYPE value, int pe, AscendC::Where at = AscendC::Where::here())                      \
    {                                                                                                                \
        tile_simulator::put_element(dst, value, pe, {"aclshmem_" #NAME "_p", at});                                   \
    }                                                                                                                \
    inline TYPE aclshmem_##NAME##_g(__gm__ TYPE* src, int32_t pe, AscendC::Where at = AscendC::Where::here())        \
    {                                                                                                                \
        return tile_simulator::get_element(src, pe, {"aclshmem_" #NAME "_g", at});                                   \
    }
TILE_TRANSFERS(half, half)
TILE_TRANSFERS(bfloat16, bfloat16_t)
TILE_TRANSFERS(float, float)
TILE_TRANSFERS(int8, int8_t)
TILE_TRANSFERS(int16, int16_t)
TILE_TRANSFERS(int32, int32_t)
TILE_TRANSFERS(int64, int64_t)
TILE_TRANSFERS(uint8, uint8_t)
TILE_TRANSFERS(uint16, uint16_t)
TILE_TRANSFERS(uint32, uint32_t)
TILE_TRANSFERS(uint64, uint64_t)
#undef TILE_TRANSFERS
