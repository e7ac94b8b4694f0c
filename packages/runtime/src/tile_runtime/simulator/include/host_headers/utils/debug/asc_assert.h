// Part of kernel_operator.h here. A source that includes nothing else calls printf without a namespace.
#pragma once
#include <cstdio>

#include "kernel_operator.h"
