#include "fixpipe_modes.h"

#include "instruction.h"

namespace tile_simulator {
namespace {

using AscendC::CO2Layout;
using AscendC::FixpipeParamsV220;

const char* name_of_quant(QuantMode_t mode)
{
    switch (mode) {
        case NoQuant:
            return "NoQuant";
        case F322F16:
            return "F322F16";
        case F322BF16:
            return "F322BF16";
        case DEQF16:
            return "DEQF16";
        case VDEQF16:
            return "VDEQF16";
        case REQ8:
            return "REQ8";
        case VREQ8:
            return "VREQ8";
        case QF322B8_PRE:
            return "QF322B8_PRE";
        default:
            return "VQF322B8_PRE";
    }
}

// The same mode with a scale per column.
QuantMode_t vector_mode(QuantMode_t mode)
{
    return mode == DEQF16 ? VDEQF16 : mode == REQ8 ? VREQ8 : mode == QF322B8_PRE ? VQF322B8_PRE : mode;
}

// The one scalar mode for a pair of types, or NoQuant with `legal` false.
QuantMode_t mode_for(DataType dst, DataType src, bool& legal)
{
    legal = true;
    const bool byte = dst == DataType::i8 || dst == DataType::u8;
    if (src == DataType::f32) {
        if (dst == DataType::f32) {
            return NoQuant;
        }
        if (dst == DataType::f16) {
            return F322F16;
        }
        if (dst == DataType::bf16) {
            return F322BF16;
        }
        if (byte) {
            return QF322B8_PRE;
        }
    } else if (src == DataType::i32) {
        if (dst == DataType::i32) {
            return NoQuant;
        }
        if (dst == DataType::f16) {
            return DEQF16;
        }
        if (byte) {
            return REQ8;
        }
    }
    legal = false;
    return NoQuant;
}

}  // namespace

bool is_vector_mode(QuantMode_t mode)
{
    return mode == VDEQF16 || mode == VREQ8 || mode == VQF322B8_PRE;
}

bool is_scaled_mode(QuantMode_t mode)
{
    return mode == DEQF16 || mode == REQ8 || mode == QF322B8_PRE;
}

void check_fixpipe(const Core& core, DataType dst, LocalOperand src, const FixpipeParamsV220& p, CO2Layout layout, bool to_l1,
    bool has_scales, Use use)
{
    require_memory(src, Memory::l0c, "src", use);
    bool legal = false;
    const QuantMode_t mode = mode_for(dst, src.type, legal);
    if (!legal || (to_l1 && size_of(dst) == 4)) {
        raise("bad-argument", use,
            text_of("%s: %s to %s%s does not exist on 910B", use.api, name_of(src.type), name_of(dst),
                to_l1 ? " in L1" : ""));
    }
    if (is_vector_mode(p.quantPre) && !has_scales) {
        raise("bad-argument", use,
            text_of("%s: quantPre %s needs a tensor of scales: the form of Fixpipe with one, or SetFixPipeConfig before "
                    "DataCopy",
                use.api, name_of_quant(p.quantPre)));
    }
    if (p.quantPre != mode && p.quantPre != vector_mode(mode)) {
        raise("bad-argument", use,
            text_of("%s: quantPre is %s, but must be %s for %s to %s", use.api, name_of_quant(p.quantPre),
                name_of_quant(mode), name_of(src.type), name_of(dst)));
    }
    const bool row_major = layout == CO2Layout::ROW_MAJOR;
    require_range(core, "nSize", p.nSize, 0, 4095, use);
    require_range(core, "mSize", p.mSize, 0, row_major ? 8192 : 65535, use);
    require_range(core, "srcStride", p.srcStride, 0, 65535, use);
    require_range(core, "dstStride", p.dstStride, 1, 0xffffffffll, use);
    if (row_major) {  // in NZ layout there is one matrix, whatever the field says
        require_range(core, "ndNum", p.ndNum, 1, 65535, use);
    }
    if (row_major && p.ndNum > 1) {
        require_range(core, "srcNdStride", p.srcNdStride, 1, 512, use);
        require_range(core, "dstNdStride", p.dstNdStride, 1, 65535, use);
    }
    if (!core.device_checks) {
        return;
    }
    const uint32_t n_unit = row_major ? 1 : p.isChannelSplit ? 8 : 16;
    if (p.nSize % n_unit != 0) {
        raise("bad-argument", use,
            text_of("%s: nSize is %u, but must be a multiple of %u in NZ layout", use.api, p.nSize, n_unit));
    }
    if (p.srcStride % 16 != 0 || p.srcStride < p.mSize) {
        raise("bad-argument", use,
            text_of("%s: srcStride is %u, but must be a multiple of 16 and at least mSize (%u)", use.api, p.srcStride,
                p.mSize));
    }
    if (p.isChannelSplit && (row_major || dst != DataType::f32)) {
        raise("bad-argument", use, text_of("%s: isChannelSplit is for float in NZ layout only", use.api));
    }
    if (row_major && p.dstStride < p.nSize && p.mSize > 1) {
        raise("bad-argument", use,
            text_of("%s: dstStride is %u elements, so the rows of %u elements would overlap", use.api, p.dstStride,
                p.nSize));
    }
}

}  // namespace tile_simulator
