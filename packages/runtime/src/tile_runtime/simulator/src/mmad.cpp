// Mmad (docs/hardware/units.md#products). Operands are unpacked from their fractals into float panels: exact for every
// input type. f32 accumulates in fp32 along k; int8 and int4 are exact, since 512 products of two int8 stay below 2^24.
#include "ascend_c/mmad.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "instruction.h"
#include "matrix_kernel.h"
#include "matrix_operands.h"
#include "unit_flags.h"

namespace tile_simulator {
namespace {

constexpr size_t exact_int8_k = 512;

struct Panels {
    std::vector<float> a;
    std::vector<float> b;
};

Panels& panels_for(const MatrixShape& s)
{
    static thread_local Panels panels;
    const size_t a = round_up(s.m_padded, 16) * s.k_used;
    const size_t b = s.n_blocks * block_width * s.k_used;
    if (panels.a.size() < a) {
        panels.a.resize(a);
    }
    if (panels.b.size() < b) {
        panels.b.resize(b);
    }
    return panels;
}

int32_t saturated_sum(int32_t a, int64_t b)
{
    const int64_t sum = a + b;
    return static_cast<int32_t>(std::max<int64_t>(INT32_MIN, std::min<int64_t>(INT32_MAX, sum)));
}

// One register tile of c through a buffer: only valid rows and columns are written; used at edges and for integers.
template <class T>
void edge_tile(const MatrixShape& s, const Panels& panels, T* c, size_t row, size_t block, bool start_from_c)
{
    alignas(64) float tile[tile_rows * block_width];
    const size_t rows = std::min(tile_rows, s.m - row);
    const size_t columns = std::min(block_width, s.n - block * block_width);
    T* out = c + (block * s.m_padded + row) * block_width;
    const float* a = panels.a.data() + row * s.k_used;
    const float* b = panels.b.data() + block * s.k_used * block_width;
    if constexpr (std::is_same_v<T, float>) {
        for (size_t i = 0; i < tile_rows * block_width; ++i) {
            tile[i] = start_from_c && i < rows * block_width ? out[i] : 0.0f;
        }
        multiply_tile(a, b, 0, s.k, tile, 0, 1, true);
        for (size_t r = 0; r < rows; ++r) {
            std::memcpy(out + r * block_width, tile + r * block_width, columns * sizeof(float));
        }
    } else {
        for (size_t k = 0; k < s.k; k += exact_int8_k) {
            multiply_tile(
                a + k * tile_rows, b + k * block_width, 0, std::min(exact_int8_k, s.k - k), tile, 0, 1, false);
            for (size_t r = 0; r < rows; ++r) {
                for (size_t j = 0; j < columns; ++j) {
                    T& sum = out[r * block_width + j];
                    const int32_t start = start_from_c || k > 0 ? sum : 0;
                    sum = saturated_sum(start, static_cast<int64_t>(tile[r * block_width + j]));
                }
            }
        }
    }
}

void multiply(const MatrixShape& s, const Panels& panels, float* c, bool start_from_c)
{
    const size_t full_blocks = s.n / block_width;
    const size_t full_rows = s.m / tile_rows * tile_rows;
    const size_t c_step = s.m_padded * block_width;
    const size_t b_step = s.k_used * block_width;
    size_t block = 0;
    while (block < s.n_blocks) {
        const size_t blocks = block + tile_blocks <= full_blocks ? tile_blocks : 1;
        const bool whole = block + blocks <= full_blocks;
        for (size_t row = 0; row < s.m; row += tile_rows) {
            if (whole && row < full_rows) {
                multiply_tile(panels.a.data() + row * s.k_used, panels.b.data() + block * b_step, b_step, s.k,
                    c + block * c_step + row * block_width, c_step, blocks, start_from_c);
            } else {
                for (size_t i = 0; i < blocks; ++i) {
                    edge_tile(s, panels, c, row, block + i, start_from_c);
                }
            }
        }
        block += blocks;
    }
}

void multiply(const MatrixShape& s, const Panels& panels, int32_t* c, bool start_from_c)
{
    for (size_t block = 0; block < s.n_blocks; ++block) {
        for (size_t row = 0; row < s.m; row += tile_rows) {
            edge_tile(s, panels, c, row, block, start_from_c);
        }
    }
}

// With saturation, infinities end at the largest float and NaN at 0 (the vendor's page of Mmad, CTRL[48]).
void saturate_results(const MatrixShape& s, float* c)
{
    for (size_t block = 0; block < s.n_blocks; ++block) {
        const size_t columns = std::min(block_width, s.n - block * block_width);
        for (size_t row = 0; row < s.m; ++row) {
            float* const values = c + (block * s.m_padded + row) * block_width;
            std::transform(values, values + columns, values, saturate_float);
        }
    }
}

void check_types(LocalOperand c, LocalOperand a, LocalOperand b, Use use)
{
    const bool floating =
        c.type == DataType::f32 && (a.type == DataType::f16 || a.type == DataType::bf16 || a.type == DataType::f32);
    const bool integer = c.type == DataType::i32 && (a.type == DataType::i8 || a.type == DataType::i4);
    if (a.type != b.type || !(floating || integer)) {
        raise("bad-argument", use,
            text_of("%s: %s times %s into %s does not exist on 910B; legal are half, bfloat16 or float into float, and "
                    "int8 or int4 into int32",
                use.api, name_of(a.type), name_of(b.type), name_of(c.type)));
    }
}

// Elements of k per cycle for 16 x 16 results (docs/hardware/units.md#products).
size_t k_per_cycle(DataType type, bool hf32)
{
    switch (type) {
        case DataType::i4:
            return 64;
        case DataType::i8:
            return 32;
        case DataType::f32:
            return hf32 ? 8 : 4;
        default:
            return 16;
    }
}

// Fills the rows of c with the bias.
void spread_bias(const MatrixShape& s, const uint8_t* bias, uint8_t* c)
{
    for (size_t block = 0; block < s.n_blocks; ++block) {
        const size_t columns = std::min(block_width, s.n - block * block_width);
        for (size_t row = 0; row < s.m; ++row) {
            std::memcpy(
                c + ((block * s.m_padded + row) * block_width) * 4, bias + block * block_width * 4, columns * 4);
        }
    }
}

void run(
    LocalOperand c, LocalOperand a, LocalOperand b, const LocalOperand* bias, const AscendC::MmadParams& p, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aic)) {
        return;
    }
    check_types(c, a, b, use);
    require_matrices(core, c, a, b, p, use);
    if (p.enSsparse || p.enWinogradA || p.enWinogradB || p.fmOffset != 0) {
        raise("bad-argument", use,
            text_of("%s: enSsparse, enWinogradA, enWinogradB and fmOffset do not exist on 910B", use.api));
    }
    const bool from_zero = p.cmatrixInitVal && !p.isBias;
    if (bias != nullptr && core.device_checks && from_zero) {
        raise("bad-argument", use,
            text_of("%s: cmatrixInitVal is true, so the result starts from zero and the bias is not read; set it to "
                    "false in the form with a bias tensor",
                use.api));
    }
    // Without a tensor, cmatrixSource = true means the start of BT.
    const LocalOperand start_of_table = {0, static_cast<uint8_t>(AscendC::TPosition::C2), c.type, {}};
    if (bias == nullptr && p.cmatrixSource && !from_zero) {
        bias = &start_of_table;
    }
    if (p.m == 0 || p.n == 0 || p.k == 0) {
        return;
    }
    MatrixShape s{};
    s.m = p.m, s.n = p.n, s.k = p.k;
    s.type = a.type;
    s.k0 = block_elements(a.type);
    s.hf32 = a.type == DataType::f32 && core.cube.hf32;
    s.hf32_to_zero = core.cube.hf32_to_zero;
    s.k_used = round_up(s.k, s.k0);
    // kDirectionAlign pads K of f32 operands to 16 (the vendor's page on K alignment).
    s.k_blocks = (a.type == DataType::f32 && p.kDirectionAlign ? round_up(s.k, 16) : s.k_used) / s.k0;
    s.m_padded = round_up(s.m, 16);
    s.n_blocks = (s.n + 15) / 16;
    s.vector_a = s.m == 1;

    Instruction instruction(core, Pipe::m, use);
    instruction.macs = s.m * s.n * s.k;
    // Results of at least ten fractals keep the unit busy until the last ones are back
    // (docs/hardware/units.md#products).
    instruction.in_order = s.m_padded / 16 * s.n_blocks >= 10;
    instruction.work = s.m_padded / 16 * s.n_blocks * (round_up(s.k, k_per_cycle(a.type, s.hf32)) / k_per_cycle(a.type, s.hf32));
    instruction.unit_flag = p.unitFlag;
    add_matrix(instruction, "fm", a, Memory::l0a, s);
    add_matrix(instruction, "filter", b, Memory::l0b, s);
    const int out = instruction.local(
        "dst", true, c, Memory::l0c, Region::strided(c.address, s.m * 64, s.n_blocks, s.m_padded * 64), 1024);
    int in_bias = -1;
    if (bias != nullptr) {
        require_memory(*bias, Memory::bias, "bias", use);
        if (bias->type != c.type) {
            raise_type(use, "bias", bias->type, name_of(c.type));
        }
        in_bias = instruction.local("bias", false, *bias, Memory::bias, Region::bytes(bias->address, s.n * 4), 64);
    } else if (!from_zero) {
        instruction.local("dst", false, c, Memory::l0c, instruction.operands[out].region, 0);
    }
    unit_flags_write(core, instruction.operands[out].region, p.unitFlag, use);
    instruction.issue();

    Panels& panels = panels_for(s);
    pack_a(s, core.memory(Memory::l0a).data() + a.address, panels.a.data());
    pack_b(s, core.memory(Memory::l0b).data() + b.address, panels.b.data());
    if (bias != nullptr) {
        spread_bias(s, instruction.data(in_bias), instruction.data(out));
    }
    const bool start_from_c = bias != nullptr || !from_zero;
    if (c.type == DataType::f32) {
        multiply(s, panels, reinterpret_cast<float*>(instruction.data(out)), start_from_c);
        if (core.saturation.floats) {
            saturate_results(s, reinterpret_cast<float*>(instruction.data(out)));
        }
    } else {
        multiply(s, panels, reinterpret_cast<int32_t*>(instruction.data(out)), start_from_c);
    }
}

}  // namespace

void mmad(LocalOperand c, LocalOperand a, LocalOperand b, const AscendC::MmadParams& params, Use use)
{
    run(c, a, b, nullptr, params, use);
}

void mmad_with_bias(
    LocalOperand c, LocalOperand a, LocalOperand b, LocalOperand bias, const AscendC::MmadParams& params, Use use)
{
    run(c, a, b, &bias, params, use);
}

void set_hf32(bool enabled, Use use)
{
    Core& core = core_of(use);
    core.cube.hf32 = enabled;
    record_setting(core, Register::hf32, use);
}

void set_hf32_rounding(bool ties_to_zero, Use use)
{
    Core& core = core_of(use);
    core.cube.hf32_to_zero = ties_to_zero;
    record_setting(core, Register::hf32_rounding, use);
}

}  // namespace tile_simulator
