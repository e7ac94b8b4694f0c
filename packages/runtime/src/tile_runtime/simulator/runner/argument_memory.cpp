#include "argument_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace tile_runner {
namespace {

// Wide enough that an index off by a few thousand rows does not land in the next buffer.
constexpr uint64_t guard_bytes = 16u << 20;
// Addresses appear in reports, which must not differ from run to run: an address like a device's, free in a new process.
constexpr uint64_t preferred_base = 0x12c000000000;
constexpr uint8_t untouched = 0xa5;

}  // namespace

ArgumentMemory::ArgumentMemory(int request_file, const RequestArgument* arguments, uint32_t count) : areas_(count)
{
    const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    reserved_ = guard_bytes;
    for (uint32_t i = 0; i < count; ++i) {
        const RequestArgument& argument = arguments[i];
        Area& area = areas_[i];
        if (argument.kind != 1 || argument.shares != i) {
            continue;
        }
        area.own = true;
        area.bytes = argument.bytes;
        area.page_bytes = (argument.lead + argument.bytes + page - 1) / page * page;
        area.pages = reinterpret_cast<uint8_t*>(reserved_);  // an offset until the base is known
        reserved_ += area.page_bytes + guard_bytes;
    }
    void* base = mmap(reinterpret_cast<void*>(preferred_base), reserved_, PROT_NONE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (base == MAP_FAILED) {
        base = mmap(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    if (base == MAP_FAILED) {
        throw std::runtime_error(std::string("no address space for the arguments: ") + std::strerror(errno));
    }
    base_ = static_cast<uint8_t*>(base);
    for (uint32_t i = 0; i < count; ++i) {
        Area& area = areas_[i];
        if (!area.own) {
            continue;
        }
        area.pages = base_ + reinterpret_cast<uint64_t>(area.pages);
        area.data = area.pages + arguments[i].lead;
        if (area.page_bytes == 0) {
            continue;
        }
        void* mapped = mmap(area.pages, area.page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, request_file,
            static_cast<off_t>(arguments[i].offset));
        if (mapped == MAP_FAILED) {
            throw std::runtime_error(std::string("an argument can not be mapped: ") + std::strerror(errno));
        }
        std::memset(area.pages, untouched, arguments[i].lead);
        uint8_t* end = area.data + area.bytes;
        std::memset(end, untouched, static_cast<size_t>(area.pages + area.page_bytes - end));
    }
    for (uint32_t i = 0; i < count; ++i) {
        if (arguments[i].kind == 1 && arguments[i].shares != i && arguments[i].shares < count) {
            areas_[i] = areas_[arguments[i].shares];
            areas_[i].own = false;
        }
    }
}

Nearest ArgumentMemory::nearest(uint64_t address) const
{
    Nearest found;
    uint64_t distance = guard_bytes;  // what is further away has nothing to do with a buffer
    for (size_t i = 0; i < areas_.size(); ++i) {
        const Area& area = areas_[i];
        if (!area.own) {
            continue;
        }
        const uint64_t begin = reinterpret_cast<uint64_t>(area.data);
        const uint64_t end = begin + area.bytes;
        const uint64_t gap = address >= end ? address - end : (address < begin ? begin - address : 0);
        if (gap < distance) {
            distance = gap;
            found.argument = static_cast<int32_t>(i);
            found.offset = static_cast<int64_t>(address - begin);
        }
    }
    return found;
}

Nearest ArgumentMemory::find_overwritten() const
{
    for (const Area& area : areas_) {
        if (!area.own) {
            continue;
        }
        const uint8_t* end = area.pages + area.page_bytes;
        for (const uint8_t* at = area.pages; at != end; ++at) {
            if (at == area.data) {
                at += area.bytes;
                if (at == end) {
                    break;
                }
            }
            if (*at != untouched) {
                Nearest found;
                found.argument = static_cast<int32_t>(&area - areas_.data());
                found.offset = at - area.data;
                return found;
            }
        }
    }
    return {};
}

}  // namespace tile_runner
