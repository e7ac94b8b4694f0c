// The eight vector operations of gelu, for gelu.cpp and matmul_gelu.cpp.
#pragma once

#include "kernel_operator.h"
using namespace AscendC;

// y = gelu(x); y also holds what is between.
__aicore__ inline void gelu_compute(const LocalTensor<float>& y, const LocalTensor<float>& x, int32_t n)
{
    Mul(y, x, x, n);
    PipeBarrier<PIPE_V>();
    Mul(y, y, x, n);
    PipeBarrier<PIPE_V>();
    Muls(y, y, 0.044715f, n);
    PipeBarrier<PIPE_V>();
    Add(y, x, y, n);
    PipeBarrier<PIPE_V>();
    Muls(y, y, -1.595769f, n);
    PipeBarrier<PIPE_V>();
    Exp(y, y, n);
    PipeBarrier<PIPE_V>();
    Adds(y, y, 1.0f, n);
    PipeBarrier<PIPE_V>();
    Div(y, x, y, n);
}
