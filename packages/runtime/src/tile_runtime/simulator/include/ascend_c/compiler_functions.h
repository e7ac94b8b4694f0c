// Functions of the device's compiler that kernels call beside the API, without a namespace.
#pragma once

#include <type_traits>

#include "positions.h"
#include "sync.h"
#include "system_variables.h"

#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

inline void pipe_barrier(pipe_t pipe, tile_simulator::Where at = tile_simulator::Where::here())
{
    tile_simulator::pipe_barrier(pipe, {"pipe_barrier", at});
}
inline void set_flag(
    pipe_t source, pipe_t target, int64_t id, tile_simulator::Where at = tile_simulator::Where::here())
{
    tile_simulator::set_flag(tile_simulator::event_between(source, target), id, {"set_flag", at});
}
inline void wait_flag(
    pipe_t source, pipe_t target, int64_t id, tile_simulator::Where at = tile_simulator::Where::here())
{
    tile_simulator::wait_flag(tile_simulator::event_between(source, target), id, {"wait_flag", at});
}

inline int64_t get_block_idx()
{
    return block_idx;
}
inline int64_t get_block_num()
{
    return block_num;
}
inline int64_t get_subblockid()
{
    return tile_simulator::sub_block_index();
}
inline int64_t get_subblockdim()
{
    return tile_simulator::sub_block_count();
}

// Of scalars; the type is the common one.
template <class A, class B, class = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>>
constexpr std::common_type_t<A, B> min(A a, B b)
{
    return b < a ? b : a;
}
template <class A, class B, class = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>>
constexpr std::common_type_t<A, B> max(A a, B b)
{
    return a < b ? b : a;
}
