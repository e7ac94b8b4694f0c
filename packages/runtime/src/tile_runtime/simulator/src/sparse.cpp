// LoadDataWithSparse and MmadWithSparse (the vendor's pages on both, and its example for the layout of the index).
//
// A fractal of B is 16 columns of 32 stored values; its index is 16 columns of 8 bytes, two bits a value from the low end.
// Of four values of A the first of a pair takes number `bits`, the second number `bits` + 1.
#include "ascend_c/sparse.h"

#include <algorithm>
#include <cstring>

#include "matrix_operands.h"
#include "unit_flags.h"

namespace tile_simulator {
namespace {

constexpr size_t k0 = 32;           // bytes of a line of a fractal
constexpr size_t index_bytes = 128;  // of a fractal
constexpr size_t index_buffer = 65536 / fractal_bytes * index_bytes;  // a quarter of L0B

int32_t saturated(int64_t value)
{
    return static_cast<int32_t>(std::max<int64_t>(INT32_MIN, std::min<int64_t>(INT32_MAX, value)));
}

struct Product {
    size_t m, n, k;
    const int8_t* a;
    const int8_t* b;
    const uint8_t* index;

    // Row i of A at k, from fractals [m/16][k/32][16][32].
    int64_t a_value(size_t i, size_t at) const
    {
        const size_t k_blocks = (k + k0 - 1) / k0;
        return a[((i / 16 * k_blocks + at / k0) * 16 + i % 16) * k0 + at % k0];
    }
    int64_t sum(size_t i, size_t j) const
    {
        const size_t n_blocks = (n + 15) / 16;
        int64_t total = 0;
        for (size_t stored = 0; stored < k / 2; ++stored) {
            const size_t line = (stored / k0 * n_blocks + j / 16) * 16 + j % 16;
            const uint32_t bits = index[line * 8 + stored % k0 / 4] >> (stored % 4 * 2) & 3;
            total += b[line * k0 + stored % k0] * a_value(i, stored / 2 * 4 + bits + stored % 2);
        }
        return total;
    }
};

}  // namespace

void load_sparse(LocalOperand dst, LocalOperand src, LocalOperand index, const AscendC::LoadData2DParams& p, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aic)) {
        return;
    }
    require_memory(dst, Memory::l0b, "dst", use);
    require_memory(src, Memory::l1, "src", use);
    require_memory(index, Memory::l1, "idx", use);
    require_range(core, "repeatTimes", p.repeatTimes, 0, 255, use);
    require_range(core, "startIndex", p.startIndex, 0, 65535, use);
    if (p.repeatTimes == 0) {
        return;
    }
    Instruction instruction(core, Pipe::mte1, use);
    const int to =
        instruction.local("dst", true, dst, Memory::l0b, Region::bytes(dst.address, p.repeatTimes * fractal_bytes), 512);
    const int from = instruction.local("src", false, src, Memory::l1,
        Region::bytes(src.address + p.startIndex * fractal_bytes, p.repeatTimes * fractal_bytes), 32);
    const int bits = instruction.local("idx", false, index, Memory::l1,
        Region::bytes(index.address + p.startIndex * index_bytes, p.repeatTimes * index_bytes), 32);
    instruction.issue();
    std::memcpy(instruction.data(to), instruction.data(from), p.repeatTimes * fractal_bytes);
    core.cube.sparse_index.resize(index_buffer);
    std::memcpy(core.cube.sparse_index.data() + dst.address / fractal_bytes * index_bytes, instruction.data(bits),
        p.repeatTimes * index_bytes);
}

void mmad_sparse(LocalOperand c, LocalOperand a, LocalOperand b, const AscendC::MmadParams& p, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aic)) {
        return;
    }
    require_matrices(core, c, a, b, p, use);
    if (core.device_checks && p.k % 4 != 0) {
        raise("bad-argument", use, text_of("%s: k is %u, but must be a multiple of 4", use.api, p.k));
    }
    if (p.cmatrixSource) {
        raise("bad-argument", use, text_of("%s: cmatrixSource = true is not documented for sparse matrices", use.api));
    }
    if (p.m == 0 || p.n == 0 || p.k == 0) {
        return;
    }
    if (core.cube.sparse_index.empty()) {
        raise("bad-argument", use,
            text_of("%s: no index was loaded: filter must come from LoadDataWithSparse", use.api));
    }
    MatrixShape dense{};
    dense.type = DataType::i8;
    dense.m = p.m, dense.n = p.n, dense.k = p.k, dense.k0 = k0;
    dense.k_used = round_up(dense.k, k0);
    dense.k_blocks = dense.k_used / k0;
    dense.m_padded = round_up(dense.m, 16);
    dense.n_blocks = (dense.n + 15) / 16;
    MatrixShape stored = dense;
    stored.k = p.k / 2;

    Instruction instruction(core, Pipe::m, use);
    instruction.work = dense.m_padded / 16 * dense.n_blocks * (round_up(p.k, 2 * k0) / (2 * k0));
    instruction.unit_flag = p.unitFlag;
    add_matrix(instruction, "fm", a, Memory::l0a, dense);
    add_matrix(instruction, "filter", b, Memory::l0b, stored);
    const Region target = Region::strided(c.address, dense.m * 64, dense.n_blocks, dense.m_padded * 64);
    const int out = instruction.local("dst", true, c, Memory::l0c, target, 1024);
    if (!p.cmatrixInitVal) {
        instruction.local("dst", false, c, Memory::l0c, target, 0);
    }
    unit_flags_write(core, target, p.unitFlag, use);
    instruction.issue();

    const Product product = {dense.m, dense.n, dense.k,
        reinterpret_cast<const int8_t*>(core.memory(Memory::l0a).data() + a.address),
        reinterpret_cast<const int8_t*>(core.memory(Memory::l0b).data() + b.address),
        core.cube.sparse_index.data() + b.address / fractal_bytes * index_bytes};
    int32_t* const result = reinterpret_cast<int32_t*>(instruction.data(out));
    for (size_t j = 0; j < dense.n; ++j) {
        for (size_t i = 0; i < dense.m; ++i) {
            int32_t& value = result[(j / 16 * dense.m_padded + i) * 16 + j % 16];
            value = saturated((p.cmatrixInitVal ? 0 : int64_t(value)) + product.sum(i, j));
        }
    }
}

}  // namespace tile_simulator
