// The copies that the device headers build from DataCopyPad: slices of a tensor of several dimensions, and NZ in UB to
// rows in GM. One instruction each piece of the headers' loops, so that what is reported matches the device.
#include <vector>

#include "ascend_c/data_copy.h"
#include "instruction.h"

namespace tile_simulator {
namespace {

using AscendC::DataCopyExtParams;
using AscendC::SliceInfo;

constexpr uint32_t most_dimensions = 8;

// Where the slices of one side start, in elements, and how the first dimension is cut.
struct Slices {
    std::vector<uint64_t> offsets;
    uint32_t bursts;  // pieces of the first dimension
    uint32_t burst;   // elements of one
    uint32_t gap;     // elements between two
};

uint32_t positions(const SliceInfo& slice, uint32_t burst)
{
    return (slice.endIndex - slice.startIndex + 1 + slice.stride) / (burst + slice.stride);
}

Slices slices_of(const Core& core, const SliceInfo* slices, uint32_t dimensions, uint64_t size, Use use)
{
    require_range(core, "dimValue", dimensions, 1, most_dimensions, use);
    for (uint32_t d = 0; d < dimensions; ++d) {
        const SliceInfo& s = slices[d];
        if (s.endIndex < s.startIndex || (d > 0 && s.burstLen != 1) ||
            (dimensions > 1 && s.endIndex >= s.shapeValue)) {
            raise("bad-argument", use,
                text_of("%s: slice %u is {%u, %u, %u, %u, %u}: it must end behind its start and inside its shape, and "
                        "burstLen must be 1 beyond the first dimension",
                    use.api, d, s.startIndex, s.endIndex, s.stride, s.burstLen, s.shapeValue));
        }
    }
    Slices result;
    result.burst = static_cast<uint32_t>(slices[0].burstLen * 32 / size);
    result.gap = slices[0].stride;
    if (result.burst == 0) {
        raise("bad-argument", use, text_of("%s: burstLen is 0", use.api));
    }
    result.bursts = positions(slices[0], result.burst);
    result.offsets = {slices[0].startIndex};
    uint64_t pitch = 1;
    for (uint32_t d = 1; d < dimensions; ++d) {
        pitch *= slices[d - 1].shapeValue;
        const std::vector<uint64_t> inner = result.offsets;
        result.offsets.clear();
        for (uint32_t i = 0; i < positions(slices[d], 1); ++i) {
            for (const uint64_t offset : inner) {
                result.offsets.push_back(offset + (slices[d].startIndex + i * (1 + uint64_t(slices[d].stride))) * pitch);
            }
        }
    }
    return result;
}

// Calls move(UB offset in bytes, GM offset in bytes, parameters) for every row of slices.
template <class Move>
void for_slices(const Core& core, const SliceInfo* ub_slices, const SliceInfo* gm_slices, uint32_t dimensions,
    uint64_t size, bool to_ub, Use use, Move move)
{
    const Slices ub = slices_of(core, ub_slices, dimensions, size, use);
    const Slices gm = slices_of(core, gm_slices, dimensions, size, use);
    if (ub.burst != gm.burst || ub.bursts != gm.bursts || ub.offsets.size() != gm.offsets.size()) {
        raise("bad-argument", use,
            text_of("%s: the two sides differ: %zu rows of %u pieces of %u elements, and %zu of %u of %u", use.api,
                ub.offsets.size(), ub.bursts, ub.burst, gm.offsets.size(), gm.bursts, gm.burst));
    }
    if (core.device_checks && ub.gap * size % 32 != 0) {
        raise("bad-argument", use,
            text_of("%s: the stride in UB is %u elements, but must be whole 32 B blocks", use.api, ub.gap));
    }
    const uint32_t ub_gap = static_cast<uint32_t>(ub.gap * size / 32);
    const uint32_t gm_gap = static_cast<uint32_t>(gm.gap * size);
    const DataCopyExtParams params(ub.bursts, static_cast<uint32_t>(ub.burst * size), to_ub ? gm_gap : ub_gap,
        to_ub ? ub_gap : gm_gap, 0);
    for (size_t i = 0; i < ub.offsets.size(); ++i) {
        move(ub.offsets[i] * size, gm.offsets[i] * size, params);
    }
}

LocalOperand moved(LocalOperand tensor, uint64_t bytes)
{
    tensor.address += static_cast<uint32_t>(bytes);
    return tensor;
}

GlobalOperand moved(GlobalOperand tensor, uint64_t bytes)
{
    tensor.address += bytes;
    return tensor;
}

}  // namespace

void copy_slices_in(LocalOperand dst, GlobalOperand src, const SliceInfo* dst_slices, const SliceInfo* src_slices,
    uint32_t dimensions, Use use)
{
    const Core& core = core_of(use);
    require_memory(dst, Memory::ub, "dst", use);
    for_slices(core, dst_slices, src_slices, dimensions, size_of(dst.type), true, use,
        [&](uint64_t ub, uint64_t gm, const DataCopyExtParams& params) {
            copy_in_padded(moved(dst, ub), moved(src, gm), params, {false, 0, 0, 0}, use);
        });
}

void copy_slices_out(GlobalOperand dst, LocalOperand src, const SliceInfo* dst_slices, const SliceInfo* src_slices,
    uint32_t dimensions, Use use)
{
    const Core& core = core_of(use);
    require_memory(src, Memory::ub, "src", use);
    for_slices(core, src_slices, dst_slices, dimensions, size_of(src.type), false, use,
        [&](uint64_t ub, uint64_t gm, const DataCopyExtParams& params) {
            copy_out_padded(moved(dst, gm), moved(src, ub), params, use);
        });
}

void copy_nz_to_nd(GlobalOperand dst, LocalOperand src, const AscendC::Nz2NdParamsFull& p, Use use)
{
    const Core& core = core_of(use);
    constexpr uint32_t width = 16;  // elements of a column block, whatever their size
    const uint64_t size = size_of(src.type);
    if (size != 2 && size != 4) {
        raise_type(use, "src", src.type, "a 16- or 32-bit type");
    }
    require_memory(src, Memory::ub, "src", use);
    require_range(core, "ndNum", p.ndNum, 0, 4095, use);
    if (p.ndNum == 0 || !runs_here(core, CoreKind::aiv)) {
        return;
    }
    require_range(core, "nValue", p.nValue, 1, 8192, use);
    require_range(core, "dValue", p.dValue, 1, 8192, use);
    require_range(core, "srcNdMatrixStride", p.srcNdMatrixStride, 1, 512, use);
    require_range(core, "srcNStride", p.srcNStride, 0, 4096, use);
    require_range(core, "dstDStride", p.dstDStride, 1, 65535, use);
    require_range(core, "dstNdMatrixStride", p.dstNdMatrixStride, 1, 65535, use);
    if (core.device_checks && p.dValue % width != 0) {
        raise("bad-argument", use, text_of("%s: dValue is %u, but must be a multiple of 16", use.api, p.dValue));
    }
    if (p.dstDStride < width) {
        raise("bad-argument", use, text_of("%s: dstDStride is %u, so rows overlap", use.api, p.dstDStride));
    }
    constexpr uint32_t most_rows = 4095;  // of one DataCopyPad
    const uint32_t row_bytes = static_cast<uint32_t>(width * size);
    const uint32_t gap = static_cast<uint32_t>((p.dstDStride - width) * size);
    for (uint32_t matrix = 0; matrix < p.ndNum; ++matrix) {
        for (uint32_t column = 0; column < p.dValue / width; ++column) {
            for (uint32_t row = 0; row < p.nValue; row += most_rows) {
                const uint32_t rows = p.nValue - row < most_rows ? p.nValue - row : most_rows;
                const uint64_t from = matrix * p.srcNdMatrixStride * 256ull + column * uint64_t(p.srcNStride) * width +
                    uint64_t(row) * width;
                const uint64_t to = uint64_t(matrix) * p.dstNdMatrixStride + column * width + uint64_t(row) * p.dstDStride;
                copy_out_padded(moved(dst, to * size), moved(src, from * size), {rows, row_bytes, 0, gap, 0}, use);
            }
        }
    }
}

}  // namespace tile_simulator
