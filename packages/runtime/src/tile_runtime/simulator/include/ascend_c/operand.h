// The plain structs in which API templates hand their operands to the library.
#pragma once

#include <cstdint>

#include "enums.h"
#include "keywords.h"
#include "numbers.h"
#include "source_column.h"

namespace tile_simulator {

enum class DataType : uint8_t { i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, i4, other };

template <class T>
struct type_code {
    static constexpr DataType value = DataType::other;
};
template <>
struct type_code<int8_t> {
    static constexpr DataType value = DataType::i8;
};
template <>
struct type_code<uint8_t> {
    static constexpr DataType value = DataType::u8;
};
template <>
struct type_code<int16_t> {
    static constexpr DataType value = DataType::i16;
};
template <>
struct type_code<uint16_t> {
    static constexpr DataType value = DataType::u16;
};
template <>
struct type_code<int32_t> {
    static constexpr DataType value = DataType::i32;
};
template <>
struct type_code<uint32_t> {
    static constexpr DataType value = DataType::u32;
};
template <>
struct type_code<int64_t> {
    static constexpr DataType value = DataType::i64;
};
template <>
struct type_code<uint64_t> {
    static constexpr DataType value = DataType::u64;
};
template <>
struct type_code<half> {
    static constexpr DataType value = DataType::f16;
};
template <>
struct type_code<bfloat16_t> {
    static constexpr DataType value = DataType::bf16;
};
template <>
struct type_code<float> {
    static constexpr DataType value = DataType::f32;
};

template <>
struct type_code<AscendC::int4b_t> {
    static constexpr DataType value = DataType::i4;
};

template <class T, class... Allowed>
constexpr bool is_one_of = (std::is_same_v<T, Allowed> || ...);

// Place in the kernel source from which an API is used. Defaulted as the last parameter of every API.
struct Where {
    const char* file;
    uint32_t line;
    uint32_t column = 0;  // 0: not known
    static constexpr Where here(
        const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE(), uint32_t column = TILE_COLUMN)
    {
        return {file, line, column};
    }
    bool operator==(const Where& other) const
    {
        return file == other.file && line == other.line && column == other.column;
    }
};

// While it lives, everything the running core does counts as done at the given place: a device header marks
// its multi-instruction pieces with it, so that reports name the line of the kernel that uses the piece.
class SiteScope {
public:
    explicit SiteScope(Where site);
    ~SiteScope();
    SiteScope(const SiteScope&) = delete;
    SiteScope& operator=(const SiteScope&) = delete;

private:
    Where outer_;
};

// One use of an API: its name as the user wrote it, and where.
struct Use {
    const char* api;
    Where at;
};

// The allocation a local tensor was cut from: its bytes in the memory, and where the kernel made it.
struct Buffer {
    uint32_t begin = 0;
    uint32_t end = 0;  // 0: not known
    Where made{};
};

struct LocalOperand {
    uint32_t address;  // byte offset in its memory
    uint8_t position;  // TPosition
    DataType type;
    Buffer buffer;
};

struct GlobalOperand {
    uint64_t address;
    DataType type;
    uint64_t origin = 0;  // what SetGlobalBuffer was given: names the buffer an address outside of all was meant for
    bool past_l2 = false;  // reads are not to stay in L2
};

// What an API calls `mask`: the number of lanes, from the first on, or a bit for each lane.
struct Mask {
    template <class N, class = std::enable_if_t<std::is_convertible_v<N, uint64_t>>>
    Mask(N number) : lanes(static_cast<uint64_t>(number))
    {
    }
    Mask(const uint64_t* words) : bits(words) {}

    uint64_t lanes = 0;
    const uint64_t* bits = nullptr;
};

// Which lanes a vector instruction computes: the four ways an API says it.
struct VectorForm {
    enum Kind : uint8_t {
        count,   // the first `count` elements
        lanes,   // the first mask[0] lanes of every repeat
        bits,    // the lanes whose bit is set, of every repeat
        preset,  // as the mask register stands (isSetMask = false)
    };
    Kind kind;
    int64_t repeats;  // number of repeats, or the element count
    uint64_t mask[2];

    static VectorForm of_count(int64_t n) { return {count, n, {0, 0}}; }
    // Without setting the mask, the count has no effect: one repeat as the mask register (in counter mode) says.
    static VectorForm of_count(bool set, int64_t n) { return set ? of_count(n) : VectorForm{preset, 1, {0, 0}}; }
    static VectorForm of_mask(bool set, Mask given, int64_t repeats)
    {
        if (set && given.bits != nullptr) {
            return {bits, repeats, {given.bits[0], given.bits[1]}};
        }
        return {set ? lanes : preset, repeats, {given.lanes, 0}};
    }
};

// A scalar operand, kept both ways: floating value and raw bits.
struct Scalar {
    double value;
    uint64_t bits;
};

template <class T>
inline Scalar scalar_of(T value)
{
    if constexpr (std::is_integral_v<T>) {
        return {static_cast<double>(value), static_cast<uint64_t>(value)};
    } else if constexpr (sizeof(T) == 4) {
        return {static_cast<double>(value), __builtin_bit_cast(uint32_t, value)};
    } else {
        return {static_cast<double>(static_cast<float>(value)), value.bits};
    }
}

inline Scalar scalar_of(AscendC::int4b_t value)
{
    return {static_cast<double>(static_cast<int32_t>(value)), value.storage};
}

int32_t core_type();
bool enter_kernel(KernelMetaType type);

}  // namespace tile_simulator
