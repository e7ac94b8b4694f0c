// TILE_COLUMN: as the default of a parameter, the column in its line from which the function is called; 0 where the
// compiler does not tell.
#pragma once

#include <cstdint>

#ifdef __has_builtin
#if __has_builtin(__builtin_COLUMN)
#define TILE_COLUMN __builtin_COLUMN()
#elif __cplusplus > 201703L
#include <source_location>
#define TILE_COLUMN std::source_location::current().column()
#elif __has_builtin(__builtin_source_location)
// What the builtin of GCC fills: before C++20 the standard library does not declare it.
namespace std {
struct source_location {
    struct __impl {
        const char* _M_file_name;
        const char* _M_function_name;
        unsigned _M_line;
        unsigned _M_column;
    };
};
}  // namespace std

namespace tile_simulator {

constexpr uint32_t column_of(const void* place)
{
    return static_cast<const std::source_location::__impl*>(place)->_M_column;
}

}  // namespace tile_simulator
#define TILE_COLUMN ::tile_simulator::column_of(__builtin_source_location())
#endif
#endif

#ifndef TILE_COLUMN
#define TILE_COLUMN 0
#endif
