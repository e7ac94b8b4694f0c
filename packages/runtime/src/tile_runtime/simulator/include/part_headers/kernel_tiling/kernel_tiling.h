// The structs of an operator's tiling, which its build generates into this header: here the kernel's own sources have them.
#pragma once
#include "kernel_operator.h"
