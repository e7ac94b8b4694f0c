// What a host stub of a hand-written kernel needs: argument cells, and their conversion to the kernel's parameters.
//
// The stub is generated behind the user's source in the same translation unit. The C++ compiler knows the type of
// every parameter, whatever aliases and templates it was written with, so values are converted and checked here.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "ascend_c/operand.h"
#include "tile_simulator.h"

namespace tile_host {

enum class Kind : uint32_t { null = 0, buffer = 1, integer = 2, real = 3 };

struct Argument {
    Kind kind;
    tile_simulator::DataType type;  // of a buffer's elements
    uint64_t bytes;                 // of a buffer
    void* address;
    uint64_t integer;  // two's complement
    bool negative;
    double real;
};

struct Call {
    const Argument* arguments;
    uint32_t blocks;
    void (*enter)();  // called by every core before the kernel, on the host thread that runs it
    uint32_t wrong_argument;
    char problem[512];  // why the argument does not fit; empty if all do
};

[[gnu::format(printf, 3, 4)]] inline void reject(Call& call, size_t index, const char* format, ...)
{
    if (call.problem[0] == 0) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(call.problem, sizeof(call.problem), format, arguments);
        va_end(arguments);
        call.wrong_argument = static_cast<uint32_t>(index);
    }
}

inline const char* type_name(tile_simulator::DataType type)
{
    static const char* const names[] = {"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
        "float16", "bfloat16", "float32", "int4", "other", "float64"};
    return names[static_cast<int>(type)];
}

// An array type that callers have and devices lack.
constexpr auto float64 = static_cast<tile_simulator::DataType>(static_cast<int>(tile_simulator::DataType::other) + 1);

constexpr size_t bytes_of(tile_simulator::DataType type)
{
    constexpr size_t bytes[] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 1, 1, 8};
    return bytes[static_cast<int>(type)];
}

// Of a kernel that says itself which cores it needs, with KERNEL_TASK_TYPE_DEFAULT.
constexpr auto type_from_kernel = static_cast<KernelMetaType>(255);

constexpr bool is_real(tile_simulator::DataType type)
{
    using tile_simulator::DataType;
    return type == DataType::f16 || type == DataType::bf16 || type == DataType::f32 || type == float64;
}

// Handles (GM_ADDR, void*) take anything; a typed pointer takes its type, or integers of its size.
template <class Pointee>
void check_pointee(Call& call, size_t index)
{
    using tile_simulator::DataType;
    using Plain = std::remove_cv_t<Pointee>;
    const Argument& given = call.arguments[index];
    constexpr DataType expected = tile_simulator::type_code<Plain>::value;
    if constexpr (expected != DataType::other && expected != DataType::u8) {
        const bool integers = !is_real(expected) && !is_real(given.type);
        const bool fits = given.type == expected || given.type == DataType::other ||
                          (integers && bytes_of(given.type) == sizeof(Plain));
        if (!fits) {
            reject(call, index, "points to %s, but the array's type is %s", type_name(expected), type_name(given.type));
        }
    } else if constexpr (std::is_class_v<Plain>) {
        if (given.bytes < sizeof(Plain)) {
            reject(call, index, "points to a struct of %zu bytes, but %llu were given", sizeof(Plain),
                static_cast<unsigned long long>(given.bytes));
        }
    }
}

template <class P>
P integer_of(Call& call, size_t index)
{
    const Argument& given = call.arguments[index];
    if (given.kind != Kind::integer) {
        reject(call, index, "is an integer, but %s was given", given.kind == Kind::real ? "a float" : "memory");
        return P{};
    }
    const P value = static_cast<P>(given.integer);
    const bool same_sign = given.negative == (value < P{});
    if (!same_sign || static_cast<uint64_t>(value) != given.integer) {
        if (given.negative) {
            reject(call, index, "has %zu bytes and %s sign; %lld does not fit", sizeof(P),
                std::is_signed_v<P> ? "a" : "no", static_cast<long long>(given.integer));
        } else {
            reject(call, index, "has %zu bytes and %s sign; %llu does not fit", sizeof(P),
                std::is_signed_v<P> ? "a" : "no", static_cast<unsigned long long>(given.integer));
        }
    }
    return value;
}

template <class P>
P value_of(Call& call, size_t index)
{
    const Argument& given = call.arguments[index];
    if constexpr (std::is_pointer_v<P>) {
        if (given.kind == Kind::integer || given.kind == Kind::real) {
            reject(call, index, "is a pointer, but a number was given");
            return nullptr;
        }
        if (given.kind == Kind::buffer) {
            check_pointee<std::remove_pointer_t<P>>(call, index);
        }
        return reinterpret_cast<P>(given.address);
    } else if constexpr (std::is_same_v<P, bool>) {
        return given.kind == Kind::real ? given.real != 0 : integer_of<uint8_t>(call, index) != 0;
    } else if constexpr (std::is_enum_v<P>) {
        return static_cast<P>(integer_of<std::underlying_type_t<P>>(call, index));
    } else if constexpr (std::is_integral_v<P>) {
        return integer_of<P>(call, index);
    } else if constexpr (std::is_floating_point_v<P> || is_real(tile_simulator::type_code<P>::value)) {
        if (given.kind != Kind::integer && given.kind != Kind::real) {
            reject(call, index, "is a number, but memory was given");
        }
        const double value = given.kind == Kind::real ? given.real
                             : given.negative         ? static_cast<double>(static_cast<int64_t>(given.integer))
                                                      : static_cast<double>(given.integer);
        if constexpr (std::is_floating_point_v<P>) {
            return static_cast<P>(value);
        } else {
            return static_cast<P>(static_cast<float>(value));
        }
    } else {
        static_assert(std::is_trivially_copyable_v<P>, "a kernel's parameters must be plain data");
        P value{};
        if (given.kind != Kind::buffer) {
            reject(call, index, "is a struct passed by value; give its %zu bytes", sizeof(P));
        } else if (given.bytes != sizeof(P)) {
            reject(call, index, "is a struct of %zu bytes passed by value, but %llu were given", sizeof(P),
                static_cast<unsigned long long>(given.bytes));
        } else {
            std::memcpy(&value, given.address, sizeof(P));
        }
        return value;
    }
}

template <class Values, class Body, size_t... index>
void convert_and_launch(Call& call, const char* name, Body& body, std::index_sequence<index...>)
{
    body.values = Values{value_of<std::tuple_element_t<index, Values>>(call, index)...};
    if (call.problem[0] == 0) {
        const auto enter = [](void* closure) { (*static_cast<Body*>(closure))(); };
        tile_simulator_run(name, call.blocks, enter, &body);
    }
}

template <class Values, size_t... index>
auto first_values(std::index_sequence<index...>) -> std::tuple<std::tuple_element_t<index, Values>...>;

// Launches the kernel with the first `given` arguments; false if one does not fit, with `problem` set. `kernel` tells
// the types of the parameters, `invoke` calls the same kernel, so that the compiler adds default arguments.
template <size_t given, class Invoke, class... P>
bool launch(Call& call, const char* name, KernelMetaType type, void (*)(P...), Invoke invoke)
{
    static_assert(given <= sizeof...(P), "the stub knows more parameters than the kernel has");
    using All = std::tuple<std::remove_cv_t<P>...>;
    using Values = decltype(first_values<All>(std::make_index_sequence<given>{}));
    struct Body {
        Call& call;
        KernelMetaType type;
        Invoke invoke;
        Values values;

        void operator()()
        {
            call.enter();
            if (type == type_from_kernel || tile_simulator::enter_kernel(type)) {
                std::apply(invoke, values);
            }
        }
    } body{call, type, invoke, {}};
    convert_and_launch<Values>(call, name, body, std::make_index_sequence<given>{});
    return call.problem[0] == 0;
}

}  // namespace tile_host
