// The machine code of one loaded library.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

namespace tile_simulator {

struct CodeRange {
    uint64_t load_base = 0;
    uint64_t begin = 0;
    uint64_t end = 0;

    bool contains(uint64_t address) const { return address >= begin && address < end; }
};

inline CodeRange code_range_of(const void* address_inside)
{
    CodeRange range;
    Dl_info information{};
    if (dladdr(address_inside, &information) == 0) {
        return range;
    }
    struct Search {
        uint64_t base;
        CodeRange* range;
    } search{reinterpret_cast<uint64_t>(information.dli_fbase), &range};
    dl_iterate_phdr(
        [](dl_phdr_info* library, size_t, void* data) {
            Search& search = *static_cast<Search*>(data);
            for (int i = 0; i < library->dlpi_phnum; ++i) {
                const ElfW(Phdr)& header = library->dlpi_phdr[i];
                const uint64_t begin = library->dlpi_addr + header.p_vaddr;
                if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0 && library->dlpi_addr == search.base) {
                    *search.range = CodeRange{library->dlpi_addr, begin, begin + header.p_memsz};
                    return 1;
                }
            }
            return 0;
        },
        &search);
    return range;
}

}  // namespace tile_simulator
