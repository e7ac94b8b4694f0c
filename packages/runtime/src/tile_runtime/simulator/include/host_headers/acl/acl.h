// Names of the host's runtime that headers of a kernel source may mention. Nothing here does anything: the caller of a
// simulation stands for the host.
#pragma once

#include <cstddef>
#include <cstdint>

using aclFloat16 = uint16_t;
using aclError = int;
using aclrtStream = void*;
using aclrtContext = void*;
using aclrtEvent = void*;
using aclrtNotify = void*;

enum aclDataType : int {
    ACL_DT_UNDEFINED = -1,
    ACL_FLOAT = 0,
    ACL_FLOAT16 = 1,
    ACL_INT8 = 2,
    ACL_INT32 = 3,
    ACL_UINT8 = 4,
    ACL_INT16 = 6,
    ACL_UINT16 = 7,
    ACL_UINT32 = 8,
    ACL_INT64 = 9,
    ACL_UINT64 = 10,
    ACL_DOUBLE = 11,
    ACL_BOOL = 12,
    ACL_BF16 = 27,
};
enum aclrtMemcpyKind : int {
    ACL_MEMCPY_HOST_TO_HOST,
    ACL_MEMCPY_HOST_TO_DEVICE,
    ACL_MEMCPY_DEVICE_TO_HOST,
    ACL_MEMCPY_DEVICE_TO_DEVICE,
};
enum aclrtMemMallocPolicy : int { ACL_MEM_MALLOC_HUGE_FIRST, ACL_MEM_MALLOC_HUGE_ONLY, ACL_MEM_MALLOC_NORMAL_ONLY };

constexpr aclError ACL_SUCCESS = 0;
constexpr aclError ACL_ERROR_NONE = 0;

inline float aclFloat16ToFloat(aclFloat16)
{
    return 0;
}
inline aclFloat16 aclFloatToFloat16(float)
{
    return 0;
}

#define TILE_HOST_CALL(name) \
    template <class... A>    \
    inline aclError name(A...) \
    {                        \
        return ACL_SUCCESS;  \
    }
TILE_HOST_CALL(aclInit)
TILE_HOST_CALL(aclFinalize)
TILE_HOST_CALL(aclrtSetDevice)
TILE_HOST_CALL(aclrtResetDevice)
TILE_HOST_CALL(aclrtCreateStream)
TILE_HOST_CALL(aclrtDestroyStream)
TILE_HOST_CALL(aclrtSynchronizeStream)
TILE_HOST_CALL(aclrtMalloc)
TILE_HOST_CALL(aclrtMallocHost)
TILE_HOST_CALL(aclrtFree)
TILE_HOST_CALL(aclrtFreeHost)
TILE_HOST_CALL(aclrtMemcpy)
TILE_HOST_CALL(aclrtMemcpyAsync)
TILE_HOST_CALL(aclrtMemset)
TILE_HOST_CALL(aclrtMemsetAsync)
TILE_HOST_CALL(aclrtCreateContext)
TILE_HOST_CALL(aclrtDestroyContext)
#undef TILE_HOST_CALL
