// How torch tells of a tensor without a step through Python: the table of functions that a type of tensors offers as
// `__dlpack_c_exchange_api__` (DLPack 1.2 and later, torch 2.10 and later). Its layout is a stable C interface.
#pragma once

#include <cstdint>

namespace tile_launcher {

struct DLDevice {
    int32_t type;
    int32_t index;
};

struct DLDataType {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
};

struct DLTensor {
    void* data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t* shape;
    int64_t* strides;
    uint64_t byte_offset;
};

struct DLPackExchange {
    static constexpr const char* capsule = "dlpack_exchange_api";
    static constexpr uint32_t known_major = 1;

    uint32_t major;
    uint32_t minor;
    const DLPackExchange* older;
    void* allocate;
    void* managed_tensor_from_object;
    void* object_from_managed_tensor;
    // What is there, as long as the object lives and is not changed; other than 0 with an error of Python set.
    int (*tensor_from_object)(void* object, DLTensor* out);
    void* current_work_stream;
};

}  // namespace tile_launcher
