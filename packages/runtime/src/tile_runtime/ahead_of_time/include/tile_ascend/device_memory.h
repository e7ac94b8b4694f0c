// Memory of a test's tensors, and the end of a stream's work: on the simulator, or on a device.
//
// The simulator is told of all memory that a kernel may use, so that a wrong address is a message and no crash. On a
// device, compile without TILE_ASCEND_SIMULATOR and link CANN's runtime.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "acl/acl.h"

#ifdef TILE_ASCEND_SIMULATOR
#include "tile_simulator.h"
#endif

namespace tile_ascend {

#ifdef TILE_ASCEND_SIMULATOR

// The memory of this thread's kernels.
class KnownMemory {
public:
    static KnownMemory& instance()
    {
        static thread_local KnownMemory known;
        return known;
    }
    void add(const void* base, size_t bytes, const char* name)
    {
        buffers_.push_back(TileBuffer{base, bytes, name});
        tell();
    }
    void remove(const void* base)
    {
        for (size_t i = 0; i < buffers_.size(); ++i) {
            if (buffers_[i].base == base) {
                buffers_.erase(buffers_.begin() + static_cast<std::ptrdiff_t>(i));
                break;
            }
        }
        tell();
    }
    // Only what this names is known to later launches.
    void tell() { tile_simulator_set_buffers(buffers_.data(), buffers_.size()); }

private:
    std::vector<TileBuffer> buffers_;
};

#endif

// Between host and device.
inline void copy_memory(void* to, const void* from, size_t bytes, aclrtMemcpyKind kind)
{
#ifdef TILE_ASCEND_SIMULATOR
    (void)kind;
    std::memcpy(to, from, bytes);
#else
    if (aclrtMemcpy(to, bytes, from, bytes, kind) != ACL_SUCCESS) {
        throw std::runtime_error("a copy between host and device failed");
    }
#endif
}

// Elements in the device's memory.
template <class T>
class DeviceMemory {
public:
    explicit DeviceMemory(size_t count, const char* name = "tensor") : count_(count)
    {
#ifdef TILE_ASCEND_SIMULATOR
        data_ = static_cast<T*>(::operator new(bytes() + 1, std::align_val_t(512)));
        std::memset(static_cast<void*>(data_), 0xFF, bytes());
        KnownMemory::instance().add(data_, bytes(), name);
#else
        (void)name;
        void* found = nullptr;
        if (aclrtMalloc(&found, bytes(), ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) {
            throw std::runtime_error("no memory on the device");
        }
        data_ = static_cast<T*>(found);
#endif
    }
    DeviceMemory(const std::vector<T>& values, const char* name = "tensor") : DeviceMemory(values.size(), name)
    {
        copy_from(values);
    }
    ~DeviceMemory()
    {
#ifdef TILE_ASCEND_SIMULATOR
        KnownMemory::instance().remove(data_);
        ::operator delete(data_, std::align_val_t(512));
#else
        aclrtFree(data_);
#endif
    }
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;

    // As the entry of a kernel takes it.
    uint8_t* handle() const { return reinterpret_cast<uint8_t*>(data_); }
    size_t count() const { return count_; }
    size_t bytes() const { return count_ * sizeof(T); }

    void copy_from(const std::vector<T>& values)
    {
        copy(data_, values.data(), ACL_MEMCPY_HOST_TO_DEVICE);
    }
    std::vector<T> to_host() const
    {
        std::vector<T> values(count_);
        copy(values.data(), data_, ACL_MEMCPY_DEVICE_TO_HOST);
        return values;
    }

private:
    void copy(void* to, const void* from, aclrtMemcpyKind kind) const { copy_memory(to, from, bytes(), kind); }
    T* data_ = nullptr;
    size_t count_;
};

// Waits for all kernels of a stream. Throws what the simulator has found wrong with them.
inline void synchronize(aclrtStream stream)
{
#ifdef TILE_ASCEND_SIMULATOR
    (void)stream;
    const TileError* error = tile_simulator_error();
    if (error != nullptr) {
        const std::string text = std::string(error->file) + ":" + std::to_string(error->line) + ": " + error->kind +
                                 ": " + error->text;
        tile_simulator_clear();
        throw std::runtime_error(text);
    }
#else
    if (aclrtSynchronizeStream(stream) != ACL_SUCCESS) {
        throw std::runtime_error("a kernel of the stream failed");
    }
#endif
}

}  // namespace tile_ascend
