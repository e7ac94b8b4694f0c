// A and B of an Mmad: how their fractals lie in L0A and L0B, and their way into the float panels that are multiplied.
#pragma once

#include <cstddef>

#include "ascend_c/mmad.h"
#include "instruction.h"

namespace tile_simulator {

constexpr size_t fractal_bytes = 512;

struct MatrixShape {
    size_t m, n, k;
    size_t k0;        // elements of 32 B
    size_t k_blocks;  // fractals along k as laid out in L0A and L0B
    size_t k_used;    // k rounded up to k0: columns that are unpacked
    size_t m_padded, n_blocks;
    DataType type;
    bool vector_a;  // m = 1: A is a plain vector (GEMV)
    bool hf32, hf32_to_zero;
};

inline size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

// Elements of 32 B.
size_t block_elements(DataType type);

// A to panels [m / tile_rows][k][tile_rows]; rows beyond m are zero.
void pack_a(const MatrixShape& shape, const uint8_t* source, float* panels);
// B to panels [n / 16][k][16].
void pack_b(const MatrixShape& shape, const uint8_t* source, float* panels);

// What every product asks of its operands and sizes.
void require_matrices(const Core& core, LocalOperand c, LocalOperand a, LocalOperand b, const AscendC::MmadParams& p,
    Use use);

// Declares what an instruction reads of A (in L0A) or B (in L0B).
void add_matrix(Instruction& instruction, const char* name, LocalOperand tensor, Memory memory,
    const MatrixShape& shape);

}  // namespace tile_simulator
