// L1 to BT on MTE1, L1 to FB on FIX (the vendor's pages on both copies).
//
// BT: blockLen counts 64 B of the source, the gap behind a block 32 B there and 64 B in BT; half widens to float.
// FB: blockLen counts 128 B; both strides go from start to start, 32 B in L1 and 128 B in FB.
#include "copy_table.h"

#include <cstring>

#include "instruction.h"
#include "number_arrays.h"

namespace tile_simulator {
namespace {

constexpr uint64_t bias_unit = 64;
constexpr uint64_t fixpipe_unit = 128;

struct TableCopy {
    uint64_t run;    // bytes of a block in L1
    uint64_t count;  // blocks
    uint64_t src_step;
    uint64_t dst_step;
};

bool widens(LocalOperand dst, LocalOperand src)
{
    return dst.type == DataType::f32 && src.type == DataType::f16;
}

void check_types(LocalOperand dst, LocalOperand src, bool bias, Use use)
{
    const bool same = dst.type == src.type;
    const bool legal = bias
        ? (same && (dst.type == DataType::f32 || dst.type == DataType::i32)) || widens(dst, src)
        : same && dst.type == DataType::u64;
    if (!legal) {
        raise("bad-argument", use,
            text_of("%s: %s in L1 to %s in %s does not exist on 910B; legal is %s", use.api, name_of(src.type),
                name_of(dst.type), bias ? "BT" : "FB",
                bias ? "float or int32 to the same, and half to float" : "uint64 to uint64"));
    }
}

void copy(Core& core, LocalOperand dst, LocalOperand src, const TableCopy& c, Use use)
{
    const Memory table = memory_of(dst.position);
    require_memory(src, Memory::l1, "src", use);
    if (!core.has(table) || c.run == 0 || c.count == 0) {
        return;
    }
    const bool bias = table == Memory::bias;
    check_types(dst, src, bias, use);
    const bool wide = widens(dst, src);
    const uint64_t out_run = wide ? 2 * c.run : c.run;
    Instruction instruction(core, bias ? Pipe::mte1 : Pipe::fix, use);
    const int to = instruction.local("dst", true, dst, table, Region::strided(dst.address, out_run, c.count, c.dst_step),
        static_cast<uint32_t>(bias ? bias_unit : fixpipe_unit));
    const int from =
        instruction.local("src", false, src, Memory::l1, Region::strided(src.address, c.run, c.count, c.src_step), 32);
    instruction.issue();
    for (uint64_t i = 0; i < c.count; ++i) {
        uint8_t* const out = instruction.data(to) + i * c.dst_step;
        const uint8_t* const in = instruction.data(from) + i * c.src_step;
        if (wide) {
            half_to_float(reinterpret_cast<const uint16_t*>(in), reinterpret_cast<float*>(out), c.run / 2);
        } else {
            std::memcpy(out, in, c.run);
        }
    }
}

}  // namespace

bool is_table(LocalOperand tensor)
{
    const Memory memory = memory_of(tensor.position);
    return memory == Memory::bias || memory == Memory::fixpipe;
}

void copy_to_table(Core& core, LocalOperand dst, LocalOperand src, const AscendC::DataCopyParams& p, Use use)
{
    if (memory_of(dst.position) == Memory::bias) {
        const uint64_t run = p.blockLen * bias_unit;
        const uint64_t out_run = widens(dst, src) ? 2 * run : run;
        return copy(core, dst, src, {run, p.blockCount, run + p.srcStride * 32, out_run + p.dstStride * bias_unit}, use);
    }
    copy(core, dst, src, {p.blockLen * fixpipe_unit, p.blockCount, p.srcStride * 32ull, p.dstStride * fixpipe_unit},
        use);
}

void copy_to_table_count(Core& core, LocalOperand dst, LocalOperand src, uint64_t bytes, Use use)
{
    copy(core, dst, src, {bytes, 1, bytes, bytes}, use);
}

}  // namespace tile_simulator
