// Strides of vector instructions, in 32 B blocks (BrcbRepeatParams, CopyRepeatParams included).
//
// Field names and constructor orders are the vendor's. The fields are wider than on the device, where a stride
// that does not fit is silently cut: here it reaches the range check.
#pragma once

#include "operand.h"

namespace AscendC {

struct UnaryRepeatParams {
    UnaryRepeatParams() = default;
    UnaryRepeatParams(uint32_t dst_block, uint32_t src_block, uint32_t dst_repeat, uint32_t src_repeat)
        : dstBlkStride(dst_block), srcBlkStride(src_block), dstRepStride(dst_repeat), srcRepStride(src_repeat)
    {
    }

    uint32_t blockNumber = DEFAULT_BLK_NUM;
    uint32_t dstBlkStride = DEFAULT_BLK_STRIDE;
    uint32_t srcBlkStride = DEFAULT_BLK_STRIDE;
    uint32_t dstRepStride = DEFAULT_REPEAT_STRIDE;
    uint32_t srcRepStride = DEFAULT_REPEAT_STRIDE;
    bool repeatStrideMode = false;
    bool strideSizeMode = false;
    bool halfBlock = false;
};

struct BinaryRepeatParams {
    BinaryRepeatParams() = default;
    BinaryRepeatParams(uint32_t dst_block, uint32_t src0_block, uint32_t src1_block, uint32_t dst_repeat,
        uint32_t src0_repeat, uint32_t src1_repeat)
        : dstBlkStride(dst_block),
          src0BlkStride(src0_block),
          src1BlkStride(src1_block),
          dstRepStride(dst_repeat),
          src0RepStride(src0_repeat),
          src1RepStride(src1_repeat)
    {
    }

    uint32_t blockNumber = DEFAULT_BLK_NUM;
    uint32_t dstBlkStride = DEFAULT_BLK_STRIDE;
    uint32_t src0BlkStride = DEFAULT_BLK_STRIDE;
    uint32_t src1BlkStride = DEFAULT_BLK_STRIDE;
    uint32_t dstRepStride = DEFAULT_REPEAT_STRIDE;
    uint32_t src0RepStride = DEFAULT_REPEAT_STRIDE;
    uint32_t src1RepStride = DEFAULT_REPEAT_STRIDE;
    bool repeatStrideMode = false;
    bool strideSizeMode = false;
};

struct CopyRepeatParams {
    CopyRepeatParams() = default;
    CopyRepeatParams(uint32_t dst_block, uint32_t src_block, uint32_t dst_repeat, uint32_t src_repeat)
        : dstStride(dst_block), srcStride(src_block), dstRepeatSize(dst_repeat), srcRepeatSize(src_repeat)
    {
    }

    uint32_t dstStride = DEFAULT_BLK_STRIDE;
    uint32_t srcStride = DEFAULT_BLK_STRIDE;
    uint32_t dstRepeatSize = DEFAULT_REPEAT_STRIDE;
    uint32_t srcRepeatSize = DEFAULT_REPEAT_STRIDE;
};

struct BrcbRepeatParams {
    BrcbRepeatParams() = default;
    BrcbRepeatParams(uint32_t dst_block, uint32_t dst_repeat) : dstRepStride(dst_repeat), dstBlkStride(dst_block) {}

    uint32_t dstRepStride = DEFAULT_REPEAT_STRIDE;
    uint32_t dstBlkStride = DEFAULT_BLK_STRIDE;
};

}  // namespace AscendC
