// LoadData 3D v2: the matrix that img2col makes of an NC1HWC0 feature map, cut out and laid out as fractals.
//
// Row (m) is an output position of the filter, column (k) is (c1, filter position, c0). With l1H = 1, l1W = m and a
// 1x1 filter it is a plain copy of an NZ matrix [k/C0][m][C0].
#include <algorithm>
#include <cstring>

#include "ascend_c/load_data.h"
#include "instruction.h"

namespace tile_simulator {
namespace {

constexpr uint64_t fractal_bytes = 512;

struct Geometry {
    Load3d p;
    uint32_t size;  // bytes per element
    uint32_t c0;    // elements of 32 B
    uint32_t out_w;
    uint32_t out_h;
    const uint8_t* l1;
    uint64_t start;     // of the feature map in L1
    uint64_t boundary;  // bytes of L1 after which it starts again at byte 0 (SetLoadDataBoundary); 0: none

    // A place of the feature map in L1.
    uint64_t wrapped(uint64_t offset) const
    {
        return boundary == 0 ? start + offset : (start + offset) % boundary;
    }

    // 32 B of the img2col matrix at row m, column block kb, or null where the filter lies in the padding.
    const uint8_t* block(uint32_t m, uint32_t kb) const
    {
        const uint32_t filter = p.filter_w * p.filter_h;
        const uint32_t c1 = kb / filter;
        const uint32_t fh = kb % filter / p.filter_w;
        const uint32_t fw = kb % p.filter_w;
        const int64_t h = int64_t(m / out_w) * p.stride_h + int64_t(fh) * p.dilation_h - p.pads[2];
        const int64_t w = int64_t(m % out_w) * p.stride_w + int64_t(fw) * p.dilation_w - p.pads[0];
        if (h < 0 || w < 0 || h >= p.height || w >= p.width) {
            return nullptr;
        }
        return l1 + wrapped(((uint64_t(c1) * p.height + uint64_t(h)) * p.width + uint64_t(w)) * 32);
    }

    void element(uint32_t m, uint32_t k, uint8_t* out) const
    {
        const uint8_t* from = block(m, k / c0);
        std::memcpy(
            out, from == nullptr ? reinterpret_cast<const uint8_t*>(&p.pad_bits) : from + (k % c0) * size, size);
    }
};

uint32_t round_up(uint32_t value, uint32_t unit)
{
    return (value + unit - 1) / unit * unit;
}

void check(const Core& core, const Load3d& p, uint32_t c0, Use use)
{
    require_field("l1H", p.height, 1, 32767, use);
    require_field("l1W", p.width, 1, 32767, use);
    require_field("channelSize", p.channels, 1, 65535, use);
    require_field("kExtension", p.k_extension, 0, 65535, use);
    require_field("mExtension", p.m_extension, 0, 65535, use);
    require_field("kStartPt", p.k_start, 0, 65535, use);
    require_field("mStartPt", p.m_start, 0, 65535, use);
    require_field("strideW", p.stride_w, 1, 63, use);
    require_field("strideH", p.stride_h, 1, 63, use);
    require_field("filterW", p.filter_w, 1, 511, use);
    require_field("filterH", p.filter_h, 1, 511, use);
    require_field("dilationFilterW", p.dilation_w, 1, 255, use);
    require_field("dilationFilterH", p.dilation_h, 1, 255, use);
    if (!core.device_checks) {
        return;
    }
    if (p.m_start % 16 != 0) {
        raise("bad-argument", use, text_of("%s: mStartPt is %u, but must be a multiple of 16", use.api, p.m_start));
    }
    if (p.k_start % c0 != 0) {
        raise("bad-argument", use, text_of("%s: kStartPt is %u, but must be a multiple of %u", use.api, p.k_start, c0));
    }
}

// Geometry and padding value are registers: what a call gives stays for later ones.
void apply_registers(Core& core, Load3d& p)
{
    CubeState& state = core.cube;
    uint32_t* const matrix = p.right_matrix ? state.right_matrix : core.feature_matrix;
    uint8_t* const pads = p.right_matrix ? state.right_pads : core.feature_pads;
    if (p.set_matrix) {
        matrix[0] = p.height;
        matrix[1] = p.width;
        std::memcpy(pads, p.pads, 4);
    }
    p.height = matrix[0];
    p.width = matrix[1];
    std::memcpy(p.pads, pads, 4);
    if (p.set_padding) {
        state.load_3d_padding = p.pad_bits;
    }
    p.pad_bits = state.load_3d_padding;
}

// int4: pairs of columns are the bytes that move.
void halve_columns(Load3d& p, Use use)
{
    if ((p.channels | p.k_extension | p.k_start) % 2 != 0) {
        raise("bad-argument", use,
            text_of("%s: channelSize, kExtension and kStartPt of int4 must be even", use.api));
    }
    p.channels /= 2;
    p.k_extension /= 2;
    p.k_start /= 2;
    p.pad_bits = (p.pad_bits & 0xf) * 0x11;
}

// What the registers may say beyond the plain load is not simulated.
void check_registers(const Core& core, LocalOperand src, Use use)
{
    if (core.cube.repeat_times > 1) {
        raise("bad-argument", use,
            text_of("%s: SetLoadDataRepeat with repeatTime %u is not simulated; repeat the load", use.api,
                core.cube.repeat_times));
    }
    if (core.cube.boundary != 0 && src.address >= core.cube.boundary) {
        raise("bad-argument", use,
            text_of("%s: src starts at byte %u of L1, beyond the %u bytes of SetLoadDataBoundary", use.api, src.address,
                core.cube.boundary));
    }
}

}  // namespace

void set_right_feature_matrix(uint32_t height, uint32_t width, const uint8_t pads[4])
{
    CubeState& state = core_of({"SetFmatrix", {"", 0}}).cube;
    state.right_matrix[0] = height;
    state.right_matrix[1] = width;
    std::memcpy(state.right_pads, pads, 4);
}

void set_load_padding(uint64_t bits)
{
    core_of({"SetLoadDataPaddingValue", {"", 0}}).cube.load_3d_padding = bits;
}

void set_load_boundary(uint32_t bytes)
{
    const Use use = {"SetLoadDataBoundary", {"", 0}};
    Core& core = core_of(use);
    if (bytes != 0) {
        require_range(core, "boundaryValue", bytes, 1024, 524288, use);
    }
    core.cube.boundary = bytes;
}

void set_load_repeat(const AscendC::LoadDataRepeatParam& p)
{
    CubeState& state = core_of({"SetLoadDataRepeat", {"", 0}}).cube;
    state.repeat_stride = p.repeatStride;
    state.repeat_times = p.repeatTime;
    state.repeat_mode = p.repeatMode;
}

void raise_not_on_chip(Use use, const char* instead)
{
    raise("bad-argument", use, text_of("%s does not exist on 910B; use %s", use.api, instead));
}

// Declares what is read of the feature map: of every channel block that the columns touch, the pixel rows under the
// filter, or exactly the pixels where a pixel is a row of the matrix (1 x 1 filter). Nothing if all is padding.
static void add_source(Instruction& instruction, LocalOperand src, const Geometry& g, uint32_t rows, uint32_t columns,
    uint32_t m_count, uint32_t k_count)
{
    const Load3d& p = g.p;
    const uint32_t m_end = std::min(p.m_start + m_count, rows);
    const uint32_t k_end = std::min(p.k_start + k_count, columns);
    if (p.m_start >= m_end || p.k_start >= k_end) {
        return;
    }
    const uint32_t filter = p.filter_w * p.filter_h;
    const uint32_t first = p.k_start / g.c0 / filter;
    const uint32_t last = (k_end - 1) / g.c0 / filter;
    const uint64_t map = uint64_t(p.height) * p.width * 32;
    int64_t begin = 0;
    int64_t end = 0;
    if (filter == 1 && p.stride_w == 1 && p.stride_h == 1 && g.out_w == p.width && p.pads[2] == 0 && p.pads[0] == 0) {
        begin = p.m_start;
        end = m_end;
    } else {
        const int64_t top = int64_t(p.m_start / g.out_w) * p.stride_h - p.pads[2];
        const int64_t bottom =
            int64_t((m_end - 1) / g.out_w) * p.stride_h - p.pads[2] + (int64_t(p.filter_h) - 1) * p.dilation_h;
        begin = std::max<int64_t>(top, 0) * p.width;
        end = (std::min<int64_t>(bottom, int64_t(p.height) - 1) + 1) * p.width;
    }
    end = std::min<int64_t>(end, int64_t(p.height) * p.width);
    const uint64_t low = first * map + uint64_t(begin) * 32;
    const uint64_t high = last * map + uint64_t(end) * 32;
    if (begin < end && g.boundary != 0 && g.start + high > g.boundary) {
        // What was placed by SetLoadDataBoundary is one buffer around the end of it.
        LocalOperand around = src;
        around.buffer = Buffer{};
        const uint64_t from = std::min(g.start + low, g.boundary);
        instruction.local("src", false, around, Memory::l1, Region::bytes(from, g.boundary - from), 0);
        instruction.local("src", false, around, Memory::l1,
            Region::bytes(0, std::min(g.start + high - g.boundary, g.boundary)), 0);
    } else if (begin < end) {
        instruction.local("src", false, src, Memory::l1,
            Region::strided(src.address + first * map + uint64_t(begin) * 32, uint64_t(end - begin) * 32,
                last - first + 1, map),
            0);
    }
    if (instruction.core.device_checks && src.address % 32 != 0) {
        raise("misaligned", instruction.use,
            text_of("%s: src starts at byte %u of L1, which must be a multiple of 32", instruction.use.api, src.address));
    }
}

// A plain matrix: an image of one row of pixels under a 1x1 filter, read inside its bounds.
static bool is_plain(const Load3d& p, uint32_t m_blocks, uint32_t k_padded, uint32_t rows, uint32_t columns)
{
    const bool unpadded = p.pads[0] == 0 && p.pads[1] == 0 && p.pads[2] == 0 && p.pads[3] == 0;
    return unpadded && p.filter_w == 1 && p.filter_h == 1 && p.stride_w == 1 && p.stride_h == 1 &&
        p.m_start + m_blocks * 16 <= rows && p.k_start + k_padded <= columns;
}

// Fractals [m/16][k/c0][16][c0] of a plain matrix: 16 rows of a column block are 512 bytes in a row.
static void copy_plain(const uint8_t* source, uint8_t* target, const Load3d& p, uint32_t c0, uint32_t m_blocks,
    uint32_t k_blocks, uint64_t rows)
{
    for (uint32_t mb = 0; mb < m_blocks; ++mb) {
        for (uint32_t kb = 0; kb < k_blocks; ++kb) {
            const uint64_t block = (p.k_start / c0 + kb) * rows + p.m_start + mb * 16;
            std::memcpy(target, source + block * 32, fractal_bytes);
            target += fractal_bytes;
        }
    }
}

// The transposed fractals of a plain matrix, in squares of c0 x c0 elements.
template <class T>
static void transpose_plain(const uint8_t* source, uint8_t* target, const Load3d& p, uint32_t m_blocks,
    uint32_t k_padded, uint64_t rows, bool l0a)
{
    constexpr uint32_t c0 = 32 / sizeof(T);
    const uint32_t m_columns = m_blocks * 16 / c0;
    const uint32_t k_rows = (k_padded + 15) / 16;
    for (uint32_t kb = 0; kb < k_padded / c0; ++kb) {
        const uint32_t k_fractal = kb * c0 / 16;
        const T* column = reinterpret_cast<const T*>(source) + ((p.k_start / c0 + kb) * rows + p.m_start) * c0;
        for (uint32_t mb = 0; mb < m_columns; ++mb) {
            const uint64_t fractal = l0a ? uint64_t(k_fractal) * m_columns + mb : uint64_t(mb) * k_rows + k_fractal;
            T* out = reinterpret_cast<T*>(target + fractal * fractal_bytes) + kb * c0 % 16 * c0;
            const T* in = column + uint64_t(mb) * c0 * c0;
            for (uint32_t k = 0; k < c0; ++k) {
                for (uint32_t m = 0; m < c0; ++m) {
                    out[k * c0 + m] = in[m * c0 + k];
                }
            }
        }
    }
}

void load_3d(LocalOperand dst, LocalOperand src, const Load3d& params, Use use)
{
    Core& core = core_of(use);
    const Memory memory = memory_of(dst.position);
    if (memory != Memory::l0a && memory != Memory::l0b) {
        raise("bad-argument", use, text_of("%s: dst must be in L0A or L0B", use.api));
    }
    if (!core.has(memory)) {
        return;
    }
    require_memory(src, Memory::l1, "src", use);
    Geometry g = {params, size_of(dst.type), 32 / size_of(dst.type), 0, 0, nullptr, src.address, core.cube.boundary};
    apply_registers(core, g.p);
    if (dst.type == DataType::i4) {
        halve_columns(g.p, use);
    }
    check(core, g.p, g.c0, use);
    check_registers(core, src, use);
    // L1 to L0B always transposes (docs/hardware/units.md#loads-to-l0).
    const bool transposed = memory == Memory::l0b || g.p.transpose;
    if (g.size > 4 || (transposed && g.size == 1)) {
        raise_type(use, "dst", dst.type, transposed ? "a 16- or 32-bit type" : "an 8-, 16- or 32-bit type");
    }
    if (g.p.m_extension == 0 || g.p.k_extension == 0 || core.cube.repeat_times == 0) {
        return;
    }
    const int64_t span_h =
        int64_t(g.p.height) + g.p.pads[2] + g.p.pads[3] - (int64_t(g.p.filter_h) - 1) * g.p.dilation_h - 1;
    const int64_t span_w =
        int64_t(g.p.width) + g.p.pads[0] + g.p.pads[1] - (int64_t(g.p.filter_w) - 1) * g.p.dilation_w - 1;
    if (span_h < 0 || span_w < 0) {
        raise("bad-argument", use, text_of("%s: the filter is larger than the padded feature map", use.api));
    }
    g.out_h = static_cast<uint32_t>(span_h / g.p.stride_h) + 1;
    g.out_w = static_cast<uint32_t>(span_w / g.p.stride_w) + 1;
    const uint32_t rows = g.out_h * g.out_w;
    // Columns beyond those that a start and an extension can name do not matter.
    const uint32_t columns = static_cast<uint32_t>(
        std::min<uint64_t>(uint64_t(round_up(g.p.channels, g.c0)) * g.p.filter_w * g.p.filter_h, 1 << 24));
    const uint32_t m_limit = round_up(rows, 16);
    if (g.p.m_start + g.p.m_extension > m_limit || g.p.k_start + g.p.k_extension > round_up(columns, 16)) {
        raise("bad-argument", use,
            text_of("%s: rows %u+%u and columns %u+%u leave the %u x %u matrix of the feature map", use.api,
                g.p.m_start, g.p.m_extension, g.p.k_start, g.p.k_extension, rows, columns));
    }

    // 32-bit transposed loads work on 16x16 squares, so both extents become multiples of 16.
    const uint32_t m_blocks = (g.p.m_extension + 15) / 16;
    const uint32_t k_unit = g.size == 4 && transposed ? 16 : g.c0;
    const uint32_t k_padded = round_up(g.p.k_extension, k_unit);
    const uint64_t bytes = uint64_t(m_blocks) * 16 * k_padded * g.size;
    Instruction instruction(core, Pipe::mte1, use);
    instruction.is_3d = true;
    const int to = instruction.local("dst", true, dst, memory, Region::bytes(dst.address, bytes), 512);
    add_source(instruction, src, g, rows, columns, m_blocks * 16, k_padded);
    instruction.issue();
    g.l1 = core.memory(Memory::l1).data();
    uint8_t* target = instruction.data(to);

    const uint8_t* const source = g.l1 + src.address;
    const bool wraps = g.boundary != 0 && g.start + uint64_t(columns) * g.p.height * g.p.width * g.size > g.boundary;
    if (!wraps && is_plain(g.p, m_blocks, k_padded, rows, columns)) {
        if (!transposed) {
            copy_plain(source, target, g.p, g.c0, m_blocks, k_padded / g.c0, rows);
        } else if (g.size == 2) {
            transpose_plain<uint16_t>(source, target, g.p, m_blocks, k_padded, rows, memory == Memory::l0a);
        } else {
            transpose_plain<uint32_t>(source, target, g.p, m_blocks, k_padded, rows, memory == Memory::l0a);
        }
        return;
    }
    const auto inside = [&](uint32_t m, uint32_t k) { return m < rows && k < columns; };
    if (!transposed) {  // fractals [m/16][k/c0][16][c0]
        const uint32_t k_blocks = k_padded / g.c0;
        for (uint32_t mb = 0; mb < m_blocks; ++mb) {
            for (uint32_t kb = 0; kb < k_blocks; ++kb) {
                uint8_t* fractal = target + (uint64_t(mb) * k_blocks + kb) * fractal_bytes;
                for (uint32_t r = 0; r < 16; ++r) {
                    const uint32_t m = g.p.m_start + mb * 16 + r;
                    const uint8_t* block =
                        inside(m, g.p.k_start + kb * g.c0) ? g.block(m, g.p.k_start / g.c0 + kb) : nullptr;
                    if (block != nullptr) {
                        std::memcpy(fractal + r * 32, block, 32);
                    } else {
                        for (uint32_t at = 0; at < 32; at += g.size) {
                            std::memcpy(fractal + r * 32 + at, &g.p.pad_bits, g.size);
                        }
                    }
                }
            }
        }
        return;
    }
    // Transposed. L0A: A = matrix^T, fractals [k/16][m/c0][16 k][c0 m]. L0B: B = matrix with m as its reduction
    // dimension, fractals [m/c0][k/16][16 k][c0 m].
    const uint32_t m_columns = m_blocks * 16 / g.c0;
    const uint32_t k_rows = round_up(k_padded, 16) / 16;
    for (uint32_t k = 0; k < g.p.k_extension; ++k) {
        for (uint32_t m = 0; m < m_blocks * 16; ++m) {
            const uint64_t fractal =
                memory == Memory::l0a ? uint64_t(k / 16) * m_columns + m / g.c0 : uint64_t(m / g.c0) * k_rows + k / 16;
            uint8_t* out = target + fractal * fractal_bytes + (k % 16) * 32 + (m % g.c0) * g.size;
            if (inside(g.p.m_start + m, g.p.k_start + k)) {
                g.element(g.p.m_start + m, g.p.k_start + k, out);
            } else {
                std::memcpy(out, &g.p.pad_bits, g.size);
            }
        }
    }
}

}  // namespace tile_simulator
