#include "matrix_operands.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "matrix_kernel.h"
#include "number_arrays.h"

namespace tile_simulator {
namespace {

// HF32 keeps 11 bits of the mantissa. To nearest, ties to even or towards zero.
void round_to_hf32(float* values, size_t count, bool ties_to_zero)
{
    constexpr uint32_t dropped = 23 - 11;
    constexpr uint32_t half_unit = 1u << (dropped - 1);
    for (size_t i = 0; i < count; ++i) {
        uint32_t bits = bits_of_float(values[i]);
        if ((bits & 0x7f800000u) == 0x7f800000u) {
            continue;
        }
        bits += half_unit - 1 + (ties_to_zero ? 0 : bits >> dropped & 1);
        values[i] = float_of_bits(bits >> dropped << dropped);
    }
}

// Elements of one fractal as floats, in storage order.
void widen(const MatrixShape& s, const uint8_t* source, float* target, size_t count)
{
    switch (s.type) {
        case DataType::f16:
            return half_to_float(reinterpret_cast<const uint16_t*>(source), target, count);
        case DataType::bf16:
            return bfloat16_to_float(reinterpret_cast<const uint16_t*>(source), target, count);
        case DataType::f32:
            std::memcpy(target, source, count * sizeof(float));
            if (s.hf32) {
                round_to_hf32(target, count, s.hf32_to_zero);
            }
            return;
        case DataType::i4:
            for (size_t i = 0; i < count; ++i) {
                const int32_t value = source[i / 2] >> (i % 2 * 4) & 0xf;
                target[i] = static_cast<float>(value >= 8 ? value - 16 : value);
            }
            return;
        default: {
            const int8_t* values = reinterpret_cast<const int8_t*>(source);
            for (size_t i = 0; i < count; ++i) {
                target[i] = static_cast<float>(values[i]);
            }
        }
    }
}

// How the fractals of A or B lie: blocks of 16 rows (of A) or columns (of B) apart, blocks along k apart.
struct Layout {
    size_t lines;  // m or n
    size_t line_step;
    size_t k_step;
};

Layout a_layout(const MatrixShape& s)
{
    return {s.m, s.k_blocks * fractal_bytes, fractal_bytes};
}

Layout b_layout(const MatrixShape& s)
{
    return {s.n, fractal_bytes, s.n_blocks * fractal_bytes};
}

}  // namespace

size_t block_elements(DataType type)
{
    return type == DataType::i4 ? 64 : 32 / size_of(type);
}

void pack_a(const MatrixShape& s, const uint8_t* source, float* panels)
{
    if (s.vector_a) {
        std::vector<float> values(s.k);
        widen(s, source, values.data(), s.k);
        std::memset(panels, 0, s.k_used * tile_rows * sizeof(float));
        for (size_t k = 0; k < s.k; ++k) {
            panels[k * tile_rows] = values[k];
        }
        return;
    }
    alignas(64) float fractal[16 * 64];
    for (size_t mb = 0; mb < s.m_padded / 16; ++mb) {
        for (size_t kb = 0; kb < s.k_used / s.k0; ++kb) {
            widen(s, source + (mb * s.k_blocks + kb) * fractal_bytes, fractal, 16 * s.k0);
            for (size_t part = 0; part < 16; part += tile_rows) {
                float* out = panels + ((mb * 16 + part) * s.k_used) + kb * s.k0 * tile_rows;
                const size_t valid = s.m - mb * 16 > part ? std::min(tile_rows, s.m - mb * 16 - part) : 0;
                for (size_t r = 0; r < tile_rows; ++r) {
                    const float* row = fractal + (part + r) * s.k0;
                    for (size_t k = 0; k < s.k0; ++k) {
                        out[k * tile_rows + r] = r < valid ? row[k] : 0.0f;
                    }
                }
            }
        }
    }
}

void pack_b(const MatrixShape& s, const uint8_t* source, float* panels)
{
    alignas(64) float fractal[16 * 64];
    for (size_t kb = 0; kb < s.k_used / s.k0; ++kb) {
        for (size_t nb = 0; nb < s.n_blocks; ++nb) {
            widen(s, source + (kb * s.n_blocks + nb) * fractal_bytes, fractal, 16 * s.k0);
            float* out = panels + (nb * s.k_used + kb * s.k0) * block_width;
            for (size_t k = 0; k < s.k0; ++k) {
                for (size_t n = 0; n < 16; ++n) {
                    out[k * block_width + n] = fractal[n * s.k0 + k];
                }
            }
        }
    }
}

void require_matrices(const Core& core, LocalOperand c, LocalOperand a, LocalOperand b, const AscendC::MmadParams& p,
    Use use)
{
    require_memory(c, Memory::l0c, "dst", use);
    require_memory(a, Memory::l0a, "fm", use);
    require_memory(b, Memory::l0b, "filter", use);
    require_range(core, "m", p.m, 0, 4095, use);
    require_range(core, "n", p.n, 0, 4095, use);
    require_range(core, "k", p.k, 0, 4095, use);
}

// Declares what is read of A or B: the unit skips the lines beyond m or n and the elements beyond k, which need not have
// been written. A line of a fractal is 32 B.
void add_matrix(Instruction& instruction, const char* name, LocalOperand tensor, Memory memory, const MatrixShape& s)
{
    const Layout l = memory == Memory::l0a ? a_layout(s) : b_layout(s);
    constexpr size_t line = 32;
    if (s.vector_a && memory == Memory::l0a) {
        instruction.local(
            name, false, tensor, memory, Region::bytes(tensor.address, (s.k * line + s.k0 - 1) / s.k0), 512);
        return;
    }
    const size_t whole_k = s.k / s.k0;
    const size_t k_tail = (s.k % s.k0 * line + s.k0 - 1) / s.k0;  // bytes of a line in the last block along k
    const size_t whole_blocks = l.lines / 16;
    const auto add = [&](size_t block, size_t blocks, size_t lines) {
        const uint64_t start = tensor.address + block * l.line_step;
        if (whole_k > 0) {
            instruction.local(
                name, false, tensor, memory, {start, lines * line, whole_k, l.k_step, blocks, l.line_step}, 512);
        }
        if (k_tail > 0) {
            instruction.local(name, false, tensor, memory,
                {start + whole_k * l.k_step, k_tail, lines, line, blocks, l.line_step}, 512);
        }
    };
    if (whole_blocks > 0) {
        add(0, whole_blocks, 16);
    }
    if (l.lines % 16 != 0) {
        add(whole_blocks, 1, l.lines % 16);
    }
}

}  // namespace tile_simulator
