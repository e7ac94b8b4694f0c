// assert and ascendc_assert: a condition the kernel states; if it does not hold, that is an error at its line.
#pragma once

#include <cassert>

#include "debug_print.h"

namespace tile_simulator {

[[noreturn]] void assertion_failed(
    Use use, const char* condition, const char* format, const PrintArgument* arguments, uint32_t count);

inline void check_assertion(bool holds, Use use, const char* condition)
{
    if (!holds) {
        assertion_failed(use, condition, "", nullptr, 0);
    }
}
template <class... Args>
inline void check_assertion(bool holds, Use use, const char* condition, const char* format, Args... args)
{
    if (!holds) {
        const PrintArgument packed[sizeof...(Args) + 1] = {print_argument(args)...};
        assertion_failed(use, condition, format, packed, sizeof...(Args));
    }
}

}  // namespace tile_simulator

// After the condition a format as for printf and its arguments may follow. The vendor's headers redefine assert too
// (asc_assert.h).
#undef assert
#define assert(...) ascendc_assert(__VA_ARGS__)
#define ASSERT(...) ascendc_assert(__VA_ARGS__)
#define ascendc_assert(condition, ...)                                                                     \
    ::tile_simulator::check_assertion(static_cast<bool>(condition),                                        \
        {"ascendc_assert", ::tile_simulator::Where::here(__FILE__, __LINE__)}, #condition, ##__VA_ARGS__)
