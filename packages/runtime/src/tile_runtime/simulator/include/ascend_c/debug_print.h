// printf, PRINTF and DumpTensor. The text of every core is kept apart and given out in block order after the launch.
#pragma once

#include "tensor.h"

namespace tile_simulator {

struct PrintArgument {
    enum Kind : uint8_t { integer, floating, pointer } kind;
    union {
        int64_t i;
        double f;
        const void* p;
    };
};

template <class T>
inline PrintArgument print_argument(T value)
{
    PrintArgument argument{};
    if constexpr (std::is_pointer_v<T>) {
        argument.kind = PrintArgument::pointer;
        argument.p = value;
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
        argument.kind = PrintArgument::integer;
        argument.i = static_cast<int64_t>(value);
    } else {
        argument.kind = PrintArgument::floating;
        argument.f = static_cast<double>(value);
    }
    return argument;
}

void print(const char* format, const PrintArgument* arguments, uint32_t count);
void dump_local(LocalOperand tensor, uint32_t description, uint32_t elements, Use use);
void dump_global(GlobalOperand tensor, uint32_t description, uint32_t elements, Use use);
// Of an address that GetPhyAddr gave, or that a kernel was given. `position` says in which memory it is.
void dump_address(
    const void* address, AscendC::TPosition position, DataType type, uint32_t description, uint32_t elements, Use use);

}  // namespace tile_simulator

namespace AscendC {

template <class... Args>
inline void printf(__gm__ const char* format, Args... args)
{
    const tile_simulator::PrintArgument packed[sizeof...(Args) + 1] = {tile_simulator::print_argument(args)...};
    tile_simulator::print(format, packed, sizeof...(Args));
}
template <class... Args>
inline void PRINTF(__gm__ const char* format, Args... args)
{
    AscendC::printf(format, args...);
}

template <class T>
inline void DumpTensor(const LocalTensor<T>& tensor, uint32_t desc, uint32_t dumpSize, Where at = Where::here())
{
    tile_simulator::dump_local(tensor.operand(), desc, dumpSize, {"DumpTensor", at});
}
template <class T>
inline void DumpTensor(const GlobalTensor<T>& tensor, uint32_t desc, uint32_t dumpSize, Where at = Where::here())
{
    tile_simulator::dump_global(tensor.operand(), desc, dumpSize, {"DumpTensor", at});
}

}  // namespace AscendC

// The functions of utils/debug/asc_dump.h, which take addresses. An asc_dump is of GM or of a memory of the core.
template <class T>
inline void asc_dump_gm(__gm__ T* input, uint32_t desc, uint32_t dump_size, AscendC::Where at = AscendC::Where::here())
{
    tile_simulator::dump_address(input, AscendC::TPosition::GM, tile_simulator::type_code<std::remove_cv_t<T>>::value,
        desc, dump_size, {"asc_dump_gm", at});
}
template <class T>
inline void asc_dump_ubuf(
    __ubuf__ T* input, uint32_t desc, uint32_t dump_size, AscendC::Where at = AscendC::Where::here())
{
    tile_simulator::dump_address(input, AscendC::TPosition::VECCALC,
        tile_simulator::type_code<std::remove_cv_t<T>>::value, desc, dump_size, {"asc_dump_ubuf", at});
}
template <class T>
inline void asc_dump_l1buf(
    __cbuf__ T* input, uint32_t desc, uint32_t dump_size, AscendC::Where at = AscendC::Where::here())
{
    tile_simulator::dump_address(input, AscendC::TPosition::A1, tile_simulator::type_code<std::remove_cv_t<T>>::value,
        desc, dump_size, {"asc_dump_l1buf", at});
}
template <class T>
inline void asc_dump_cbuf(__cc__ T* input, uint32_t desc, uint32_t dump_size, AscendC::Where at = AscendC::Where::here())
{
    tile_simulator::dump_address(input, AscendC::TPosition::CO1, tile_simulator::type_code<std::remove_cv_t<T>>::value,
        desc, dump_size, {"asc_dump_cbuf", at});
}
template <class T>
inline void asc_dump(T* input, uint32_t desc, uint32_t dump_size, AscendC::Where at = AscendC::Where::here())
{
    tile_simulator::dump_address(input, AscendC::TPosition::MAX, tile_simulator::type_code<std::remove_cv_t<T>>::value,
        desc, dump_size, {"asc_dump", at});
}
