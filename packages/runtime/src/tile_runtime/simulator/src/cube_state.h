// State of a core that a TPipe and the APIs of the cube side set, and that later calls go by.
#pragma once

#include <bitset>
#include <cstdint>
#include <vector>

namespace tile_simulator {

// The L0C has one flag bit per 512 B, which Mmad and Fixpipe pass to each other when both use unitFlag.
constexpr uint32_t unit_flag_bytes = 512;
constexpr uint32_t unit_flags = 131072 / unit_flag_bytes;

struct CubeState {
    void* pipe = nullptr;  // the AscendC::TPipe that GetTPipePtr gives

    bool hf32 = false;               // SetHF32Mode
    bool hf32_to_zero = false;       // SetHF32TransMode: round to zero instead of to nearest even
    std::bitset<unit_flags> full_units;  // L0C units an Mmad with unitFlag 3 wrote and no Fixpipe with 3 read yet

    std::vector<uint8_t> sparse_index;  // LoadDataWithSparse: 128 B for every fractal of L0B, empty before the first

    uint64_t load_3d_padding = 0;         // SetLoadDataPaddingValue
    uint32_t right_matrix[2] = {0, 0};    // SetFmatrix: height and width
    uint8_t right_pads[4] = {0, 0, 0, 0};
    uint16_t repeat_stride = 0;  // SetLoadDataRepeat
    uint8_t repeat_times = 1;
    uint8_t repeat_mode = 0;
    uint32_t boundary = 0;  // SetLoadDataBoundary

    uint32_t nd_count = 1;  // SetFixpipeNz2ndFlag
    uint32_t src_nd_stride = 0;
    uint32_t dst_nd_stride = 0;
    uint64_t pre_quant = 0;         // SetFixpipePreQuantFlag
    uint32_t quant_address = 0;     // SetFixPipeConfig: bytes into FB
    bool has_quant_table = false;

    uint64_t copy_padding = 0;  // SetPadValue
    bool copy_padding_set = false;
};

}  // namespace tile_simulator
