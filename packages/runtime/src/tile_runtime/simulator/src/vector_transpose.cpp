// Transpose and TransDataTo5HD.
#include "ascend_c/vector_transpose.h"

#include <cstring>

#include "operand_overlap.h"
#include "touched_bytes.h"
#include "vector_engine.h"

namespace tile_simulator {
namespace {

constexpr uint64_t block = 32;
constexpr uint32_t rows = 16;

bool same_buffer(const LocalOperand& a, const LocalOperand& b)
{
    return a.buffer.begin == b.buffer.begin && a.buffer.end == b.buffer.end;
}

// The bytes [from, from + length) of every block of a list, in every repeat, and the tensor they belong to. Rows of
// different buffers are checked against the whole of UB only.
std::vector<Region> list_regions(const LocalOperand* list, uint64_t from, uint64_t length, uint64_t first,
    uint64_t repeats, uint64_t stride, LocalOperand& tensor)
{
    std::vector<Run> runs;
    tensor = list[0];
    for (uint32_t i = 0; i < rows; ++i) {
        runs.push_back({list[i].address + first + from, length});
        if (!same_buffer(tensor, list[i])) {
            tensor.buffer = Buffer{};
        }
    }
    return regions_of(runs, repeats, stride);
}

// One repeat: 16 source blocks to the transposed destination blocks. Sources are read before anything is written, so
// that a block may be transposed in place.
void transpose_blocks(uint8_t* const (&to)[rows], uint8_t* const (&from)[rows], uint32_t size,
    const AscendC::TransDataTo5HDParams& p)
{
    uint8_t source[rows][block];
    for (uint32_t i = 0; i < rows; ++i) {
        std::memcpy(source[i], from[i], block);
    }
    const uint32_t columns = size == 1 ? 16 : static_cast<uint32_t>(block) / size;
    const uint32_t skip = size == 1 && p.srcHighHalf ? 16 : 0;
    const uint32_t place = size == 1 && p.dstHighHalf ? 16 : 0;
    const uint32_t per_block = static_cast<uint32_t>(block) / size;
    for (uint32_t column = 0; column < columns; ++column) {
        for (uint32_t row = 0; row < rows; ++row) {
            // A column of 16 elements of 32 bits fills two blocks.
            const uint32_t element = column * (size == 4 ? 2 * per_block : per_block) + place + row;
            uint8_t* target = to[element / per_block] + element % per_block * size;
            std::memcpy(target, source[row] + (skip + column) * size, size);
        }
    }
}

LocalOperand operand_at(Core& core, uint64_t host_address, DataType type, const char* list, uint32_t index, Use use)
{
    const LocalMemory& memory = core.memory(Memory::ub);
    const uint64_t offset = host_address - reinterpret_cast<uint64_t>(memory.data());
    if (offset >= memory.bytes()) {
        raise("out-of-bounds", use,
            text_of("%s: %s[%u] is no address of UB: take it from LocalTensor::GetPhyAddr", use.api, list, index));
    }
    return {static_cast<uint32_t>(offset), static_cast<uint8_t>(AscendC::TPosition::VECCALC), type, {}};
}

}  // namespace

void vector_transpose(LocalOperand dst, LocalOperand src, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    require_memory(dst, Memory::ub, "dst", use);
    require_memory(src, Memory::ub, "src", use);
    constexpr uint64_t bytes = rows * block;
    Instruction instruction(core, Pipe::v, use);
    instruction.work = 2;
    const int to = instruction.local("dst", true, dst, Memory::ub, Region::bytes(dst.address, bytes), 32);
    const int from = instruction.local("src", false, src, Memory::ub, Region::bytes(src.address, bytes), 32);
    instruction.issue();
    uint16_t source[rows][rows];
    uint16_t target[rows][rows];
    std::memcpy(source, instruction.data(from), bytes);
    for (uint32_t i = 0; i < rows; ++i) {
        for (uint32_t j = 0; j < rows; ++j) {
            target[j][i] = source[i][j];
        }
    }
    std::memcpy(instruction.data(to), target, bytes);
}

void vector_transpose_lists(const LocalOperand* dst, const LocalOperand* src, DataType type,
    const AscendC::TransDataTo5HDParams& p, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    require_range(core, "repeatTimes", p.repeatTimes, 0, 255, use);
    require_range(core, "dstRepStride", p.dstRepStride, 0, 65535, use);
    require_range(core, "srcRepStride", p.srcRepStride, 0, 65535, use);
    for (uint32_t i = 0; i < rows; ++i) {
        const std::string at = "[" + std::to_string(i) + "]";
        require_memory(dst[i], Memory::ub, ("dstList" + at).c_str(), use);
        require_memory(src[i], Memory::ub, ("srcList" + at).c_str(), use);
        require_aligned(core, ("dstList" + at).c_str(), dst[i], 32, use);
        require_aligned(core, ("srcList" + at).c_str(), src[i], 32, use);
    }
    if (p.repeatTimes == 0) {
        return;
    }
    const uint32_t size = size_of(type);
    const uint64_t repeats = p.repeatTimes;
    const uint64_t dst_stride = p.dstRepStride * block;
    const uint64_t src_stride = p.srcRepStride * block;
    // A single repeat starts one stride after the lists (the vendor's page TransDataTo5HD, repeatTimes).
    const uint64_t dst_first = repeats == 1 ? dst_stride : 0;
    const uint64_t src_first = repeats == 1 ? src_stride : 0;
    const uint64_t length = size == 1 ? block / 2 : block;
    const uint64_t high = block / 2;
    Instruction instruction(core, Pipe::v, use);
    instruction.work = repeats * (size == 1 ? 1 : 2);
    LocalOperand whole;
    std::vector<Region> written =
        list_regions(dst, size == 1 && p.dstHighHalf ? high : 0, length, dst_first, repeats, dst_stride, whole);
    if (written.size() >= Instruction::capacity) {
        written = {covering(written)};
    }
    for (const Region& region : written) {
        instruction.local("dstList", true, whole, Memory::ub, region, 0);
    }
    const std::vector<Region> read =
        list_regions(src, size == 1 && p.srcHighHalf ? high : 0, length, src_first, repeats, src_stride, whole);
    add_reads(instruction, "srcList", whole, read);
    instruction.issue();
    for (uint64_t repeat = 0; repeat < repeats; ++repeat) {
        uint8_t* to[rows];
        uint8_t* from[rows];
        for (uint32_t i = 0; i < rows; ++i) {
            to[i] = ub_data(core, dst[i].address + dst_first + repeat * dst_stride);
            from[i] = ub_data(core, src[i].address + src_first + repeat * src_stride);
        }
        transpose_blocks(to, from, size, p);
    }
}

void vector_transpose_addresses(
    const uint64_t* dst, const uint64_t* src, DataType type, const AscendC::TransDataTo5HDParams& p, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    LocalOperand to[rows];
    LocalOperand from[rows];
    for (uint32_t i = 0; i < rows; ++i) {
        to[i] = operand_at(core, dst[i], type, "dstList", i, use);
        from[i] = operand_at(core, src[i], type, "srcList", i, use);
    }
    vector_transpose_lists(to, from, type, p, use);
}

void vector_transpose_address_tensors(
    LocalOperand dst, LocalOperand src, DataType type, const AscendC::TransDataTo5HDParams& p, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    require_memory(dst, Memory::ub, "dst", use);
    require_memory(src, Memory::ub, "src", use);
    // The lists are read into the address registers by the scalar unit, which also wrote them.
    Instruction instruction(core, Pipe::s, use);
    uint64_t to[rows];
    uint64_t from[rows];
    const int target = instruction.local("dst", false, dst, Memory::ub, Region::bytes(dst.address, sizeof(to)), 32);
    const int source = instruction.local("src", false, src, Memory::ub, Region::bytes(src.address, sizeof(from)), 32);
    instruction.issue();
    std::memcpy(to, instruction.data(target), sizeof(to));
    std::memcpy(from, instruction.data(source), sizeof(from));
    vector_transpose_addresses(to, from, type, p, use);
}

namespace {

// NCHW to NHWC or back, for every image.
void transpose_images(const uint8_t* from, uint8_t* to, const AscendC::TransposeParamsExt& shape, uint64_t size)
{
    const bool to_nhwc = shape.transposeType == AscendC::TransposeType::TRANSPOSE_NCHW2NHWC;
    const uint64_t pixels = uint64_t(shape.hSize) * shape.wSize;
    const uint64_t channels = shape.cSize;
    for (uint64_t image = 0; image < shape.nSize; ++image) {
        for (uint64_t channel = 0; channel < channels; ++channel) {
            for (uint64_t pixel = 0; pixel < pixels; ++pixel) {
                const uint64_t planar = (image * channels + channel) * pixels + pixel;
                const uint64_t interleaved = (image * pixels + pixel) * channels + channel;
                const uint64_t source = to_nhwc ? planar : interleaved;
                const uint64_t target = to_nhwc ? interleaved : planar;
                std::memcpy(to + target * size, from + source * size, size);
            }
        }
    }
}

// Bytes the temporary tensor must have (the vendor's page Transpose, table of sharedTmpBuffer).
uint64_t temporary_bytes_of(const AscendC::TransposeParamsExt& shape, uint64_t size)
{
    const uint64_t fractal = (size == 1 ? 32 : 16) * block;
    const bool to_nhwc = shape.transposeType == AscendC::TransposeType::TRANSPOSE_NCHW2NHWC;
    return (to_nhwc ? shape.cSize + 2u : 2u * shape.cSize + 1u) * fractal;
}

}  // namespace

void vector_transpose_images(LocalOperand dst, LocalOperand src, LocalOperand temporary, uint32_t temporary_bytes,
    const AscendC::TransposeParamsExt& shape, Use use)
{
    using AscendC::TransposeType;
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv) || shape.transposeType == TransposeType::TRANSPOSE_TYPE_NONE) {
        return;
    }
    if (shape.transposeType == TransposeType::TRANSPOSE_ND2ND_B16) {
        require_range(core, "hSize", shape.hSize, 16, 16, use);
        require_range(core, "wSize", shape.wSize, 16, 16, use);
        if (dst.type != DataType::u16) {
            raise_type(use, "dst", dst.type, "uint16 with TRANSPOSE_ND2ND_B16");
        }
        return vector_transpose(dst, src, use);
    }
    if (shape.transposeType != TransposeType::TRANSPOSE_NCHW2NHWC &&
        shape.transposeType != TransposeType::TRANSPOSE_NHWC2NCHW) {
        raise("bad-argument", use,
            text_of("%s: transposeType %d is not supported on 910B", use.api, static_cast<int>(shape.transposeType)));
    }
    const uint64_t size = size_of(dst.type);
    const uint64_t pixels = uint64_t(shape.hSize) * shape.wSize;
    require_range(core, "cSize", shape.cSize, 0, 4095, use);
    require_range(core, "hSize * wSize", static_cast<int64_t>(pixels), 0, 4095, use);
    if (core.device_checks && pixels * size % block != 0) {
        raise("bad-argument", use,
            text_of("%s: hSize * wSize is %llu elements of %llu bytes, but must fill whole blocks of 32 bytes", use.api,
                static_cast<unsigned long long>(pixels), static_cast<unsigned long long>(size)));
    }
    const uint64_t bytes = shape.nSize * pixels * shape.cSize * size;
    if (bytes == 0) {
        return;
    }
    const uint64_t needed = temporary_bytes_of(shape, size);
    if (core.device_checks && shape.cSize > 1 && temporary_bytes < needed) {
        raise("bad-argument", use,
            text_of("%s: sharedTmpBuffer has %u bytes, but must have %llu", use.api, temporary_bytes,
                static_cast<unsigned long long>(needed)));
    }
    check_apart(core, "dst", {{dst.address, bytes}}, "src", {{src.address, bytes}}, use);
    // The device header makes this of many TransDataTo5HD and copies through the temporary tensor; here it is one
    // instruction that takes as long as moving all bytes three times.
    Instruction instruction(core, Pipe::v, use);
    instruction.work = 3 * ((bytes + 255) / 256);
    const int to = instruction.local("dst", true, dst, Memory::ub, Region::bytes(dst.address, bytes), 32);
    const int from = instruction.local("src", false, src, Memory::ub, Region::bytes(src.address, bytes), 32);
    if (shape.cSize > 1) {
        instruction.local("sharedTmpBuffer", true, temporary, Memory::ub, Region::bytes(temporary.address, needed), 32);
    }
    instruction.issue();
    transpose_images(instruction.data(from), instruction.data(to), shape, size);
}

}  // namespace tile_simulator
