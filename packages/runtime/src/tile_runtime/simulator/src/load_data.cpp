// LoadData 2D and 3D, LoadDataWithTranspose and constant fill (docs/hardware/units.md#loads-to-l0).
#include "ascend_c/load_data.h"

#include <cstring>

#include "instruction.h"

namespace tile_simulator {
namespace {

constexpr uint64_t fractal_bytes = 512;

// Where a load goes; none when this core has no cube memories.
Memory cube_target(const Core& core, LocalOperand dst, Use use)
{
    const Memory memory = memory_of(dst.position);
    if (memory != Memory::l0a && memory != Memory::l0b) {
        raise("bad-argument", use,
            text_of("%s: dst is in %s, but must be in L0A or L0B", use.api,
                memory == Memory::none ? "no local memory" : name_of(memory)));
    }
    return core.has(memory) ? memory : Memory::none;
}

// target[j][i] = source[i][j] of a square of `n` elements; rows lie `pitch` elements apart.
template <class T>
void transpose(const T* source, size_t source_pitch, T* target, size_t target_pitch, size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows; ++i) {
        for (size_t j = 0; j < columns; ++j) {
            target[j * target_pitch + i] = source[i * source_pitch + j];
        }
    }
}

void check_2d(const Core& core, const AscendC::LoadData2DParams& p, Use use)
{
    require_range(core, "startIndex", p.startIndex, 0, 65535, use);
    require_range(core, "repeatTimes", p.repeatTimes, 0, 255, use);
    require_range(core, "srcStride", p.srcStride, 0, 65535, use);
    require_range(core, "dstGap", p.dstGap, 0, 65535, use);
    require_range(core, "addrMode", p.addrMode, 0, 1, use);
}

// Copies `repeats` fractals; the source steps by srcStride fractals forward, or backward with addrMode 1.
void copy_fractals(const uint8_t* source, uint8_t* target, const AscendC::LoadData2DParams& p)
{
    const int64_t step = int64_t(p.srcStride * fractal_bytes) * (p.addrMode == 0 ? 1 : -1);
    const uint64_t dst_step = (p.dstGap + 1) * fractal_bytes;
    for (uint32_t i = 0; i < p.repeatTimes; ++i) {
        const uint8_t* from = source + int64_t(i) * step;
        uint8_t* to = target + i * dst_step;
        if (p.ifTranspose) {
            uint16_t values[256];
            std::memcpy(values, from, fractal_bytes);
            transpose(values, 16, reinterpret_cast<uint16_t*>(to), 16, 16, 16);
        } else {
            std::memcpy(to, from, fractal_bytes);
        }
    }
}

// First byte and region of the source of a 2D load (addrMode 1 walks down from the start).
Region source_region(uint64_t start, const AscendC::LoadData2DParams& p)
{
    const uint64_t stride = p.srcStride * fractal_bytes;
    const uint64_t first = p.addrMode == 0 ? start : start - (p.repeatTimes - 1) * stride;
    return Region::strided(first, fractal_bytes, p.repeatTimes, stride);
}

}  // namespace

void load_2d(LocalOperand dst, LocalOperand src, const AscendC::LoadData2DParams& p, Use use)
{
    Core& core = core_of(use);
    const Memory memory = cube_target(core, dst, use);
    if (memory == Memory::none) {
        return;
    }
    check_2d(core, p, use);
    require_memory(src, Memory::l1, "src", use);
    if (p.ifTranspose && size_of(dst.type) != 2) {
        raise("bad-argument", use,
            text_of("%s: ifTranspose exists for 16-bit types only, dst is %s; use LoadDataWithTranspose", use.api,
                name_of(dst.type)));
    }
    if (p.repeatTimes == 0) {
        return;
    }
    const uint64_t start = src.address + p.startIndex * fractal_bytes;
    const uint64_t walk = (p.repeatTimes - 1) * p.srcStride * fractal_bytes;
    if (p.addrMode == 1 && start < walk) {
        raise("out-of-bounds", use, text_of("%s: src steps below the start of L1", use.api));
    }
    Instruction instruction(core, Pipe::mte1, use);
    const int to = instruction.local("dst", true, dst, memory,
        Region::strided(dst.address, fractal_bytes, p.repeatTimes, (p.dstGap + 1) * fractal_bytes), 512);
    const int from = instruction.local("src", false, src, Memory::l1, source_region(start, p), 32);
    instruction.issue();
    copy_fractals(core.memory(Memory::l1).data() + start, instruction.data(to), p);
    (void)from;
}

void load_2d_from_global(LocalOperand dst, GlobalOperand src, const AscendC::LoadData2DParams& p, Use use)
{
    Core& core = core_of(use);
    const Memory memory = memory_of(dst.position);
    if (memory != Memory::l1 && memory != Memory::l0a && memory != Memory::l0b) {
        raise("bad-argument", use, text_of("%s: dst must be in L1, L0A or L0B", use.api));
    }
    if (!core.has(memory)) {
        return;
    }
    check_2d(core, p, use);
    if (p.ifTranspose) {
        raise("bad-argument", use, text_of("%s: a load from GM cannot transpose", use.api));
    }
    if (p.repeatTimes == 0) {
        return;
    }
    const uint64_t start = src.address + p.startIndex * fractal_bytes;
    Instruction instruction(core, Pipe::mte2, use);
    const int to = instruction.local("dst", true, dst, memory,
        Region::strided(dst.address, fractal_bytes, p.repeatTimes, (p.dstGap + 1) * fractal_bytes),
        memory == Memory::l1 ? 32 : 512);
    const Region region = source_region(start, p);
    const int from = instruction.global("src", false, src, region);
    instruction.issue();
    copy_fractals(instruction.data(from) + (start - region.start), instruction.data(to), p);
}

namespace {

// One square of LoadDataWithTranspose: `fractals` consecutive source fractals form it.
template <class T, size_t side>
void transpose_square(const uint8_t* source, uint8_t* target, uint64_t fractal_step)
{
    constexpr size_t k0 = 32 / sizeof(T);
    T square[side * side];
    T turned[side * side];
    if constexpr (k0 >= side) {  // 8- and 16-bit: the fractals lie above each other
        std::memcpy(square, source, sizeof(square));
    } else {  // 32-bit: the two 16x8 fractals lie side by side
        const T* elements = reinterpret_cast<const T*>(source);
        for (size_t r = 0; r < side; ++r) {
            for (size_t c = 0; c < side; ++c) {
                square[r * side + c] = elements[(c / k0) * side * k0 + r * k0 + c % k0];
            }
        }
    }
    transpose(square, side, turned, side, side, side);
    if constexpr (k0 >= side) {
        for (size_t f = 0; f < side / 16; ++f) {
            std::memcpy(target + f * fractal_step, turned + f * 16 * side, fractal_bytes);
        }
    } else {
        for (size_t f = 0; f < side / k0; ++f) {
            T* out = reinterpret_cast<T*>(target + f * fractal_step);
            for (size_t r = 0; r < side; ++r) {
                std::memcpy(out + r * k0, turned + r * side + f * k0, k0 * sizeof(T));
            }
        }
    }
}

// The same of 64 x 64 elements of four bits, four fractals above each other.
void transpose_nibbles(const uint8_t* source, uint8_t* target, uint64_t fractal_step)
{
    constexpr size_t side = 64;
    uint8_t values[side * side];
    uint8_t turned[side * side];
    for (size_t i = 0; i < side * side; ++i) {
        values[i] = source[i / 2] >> (i % 2 * 4) & 0xf;
    }
    transpose(values, side, turned, side, side, side);
    for (size_t i = 0; i < side * side; i += 2) {
        const size_t byte = i / 2;
        target[byte / fractal_bytes * fractal_step + byte % fractal_bytes] =
            static_cast<uint8_t>(turned[i] | turned[i + 1] << 4);
    }
}

}  // namespace

void load_transposed(LocalOperand dst, LocalOperand src, const AscendC::LoadData2dTransposeParams& p, Use use)
{
    Core& core = core_of(use);
    const Memory memory = cube_target(core, dst, use);
    if (memory == Memory::none) {
        return;
    }
    require_memory(src, Memory::l1, "src", use);
    require_range(core, "startIndex", p.startIndex, 0, 65535, use);
    require_range(core, "repeatTimes", p.repeatTimes, 0, 255, use);
    require_range(core, "srcStride", p.srcStride, 0, 65535, use);
    require_range(core, "dstGap", p.dstGap, 0, 65535, use);
    require_range(core, "dstFracGap", p.dstFracGap, 0, 65535, use);
    require_range(core, "addrMode", p.addrMode, 0, 1, use);
    const bool nibbles = dst.type == DataType::i4;
    const uint64_t size = size_of(dst.type);
    if (size > 4 || (nibbles && memory != Memory::l0b)) {
        raise_type(use, "dst", dst.type, "a 4-bit (L0B only), 8-, 16- or 32-bit type");
    }
    if (p.repeatTimes == 0) {
        return;
    }
    const uint64_t side = nibbles ? 64 : size == 1 ? 32 : 16;
    const uint64_t square_bytes = nibbles ? side * side / 2 : side * side * size;
    const uint64_t fractals = square_bytes / fractal_bytes;
    const uint64_t fractal_step = (p.dstFracGap + 1) * fractal_bytes;
    const uint64_t src_step = p.srcStride * square_bytes;
    const uint64_t dst_step = (p.dstGap + 1) * fractal_bytes;
    const uint64_t first = src.address + p.startIndex * square_bytes;
    // addrMode 1 walks down from the first square.
    const uint64_t walk = (p.repeatTimes - 1) * src_step;
    if (p.addrMode == 1 && first < walk) {
        raise("out-of-bounds", use, text_of("%s: src steps below the start of L1", use.api));
    }
    const uint64_t start = p.addrMode == 1 ? first - walk : first;
    Instruction instruction(core, Pipe::mte1, use);
    instruction.passes = fractals;
    const int to = instruction.local(
        "dst", true, dst, memory, {dst.address, fractal_bytes, fractals, fractal_step, p.repeatTimes, dst_step}, 512);
    const int from =
        instruction.local("src", false, src, Memory::l1, Region::strided(start, square_bytes, p.repeatTimes, src_step), 32);
    instruction.issue();
    for (uint32_t i = 0; i < p.repeatTimes; ++i) {
        const uint8_t* source = instruction.data(from) + (p.addrMode == 1 ? p.repeatTimes - 1 - i : i) * src_step;
        uint8_t* target = instruction.data(to) + i * dst_step;
        if (nibbles) {
            transpose_nibbles(source, target, fractal_step);
        } else if (size == 1) {
            transpose_square<uint8_t, 32>(source, target, fractal_step);
        } else if (size == 2) {
            transpose_square<uint16_t, 16>(source, target, fractal_step);
        } else {
            transpose_square<uint32_t, 16>(source, target, fractal_step);
        }
    }
}

void fill_constant(LocalOperand dst, uint64_t bits, uint32_t repeats, uint32_t blocks, uint32_t gap, Use use)
{
    Core& core = core_of(use);
    const Memory memory = memory_of(dst.position);
    if (memory != Memory::l1 && memory != Memory::l0a && memory != Memory::l0b) {
        raise("bad-argument", use, text_of("%s: dst must be in L1, L0A or L0B", use.api));
    }
    if (!core.has(memory)) {
        return;
    }
    require_range(core, "repeatTimes", repeats, 0, 32767, use);
    require_range(core, "blockNum", blocks, 0, 32767, use);
    require_range(core, "dstGap", gap, 0, 32767, use);
    if (repeats == 0 || blocks == 0) {
        return;
    }
    const uint64_t unit = memory == Memory::l1 ? 32 : fractal_bytes;
    const uint64_t run = blocks * unit;
    const uint64_t step = run + gap * unit;
    Instruction instruction(core, memory == Memory::l1 ? Pipe::mte2 : Pipe::mte1, use);
    const int to = instruction.local(
        "dst", true, dst, memory, Region::strided(dst.address, run, repeats, step), memory == Memory::l1 ? 32 : 512);
    instruction.issue();
    const uint64_t size = size_of(dst.type);
    for (uint32_t i = 0; i < repeats; ++i) {
        uint8_t* target = instruction.data(to) + i * step;
        for (uint64_t at = 0; at < run; at += size) {
            std::memcpy(target + at, &bits, size);
        }
    }
}

}  // namespace tile_simulator
