// The assertion by its newer name, which CANN 8.1 has not: there it is `assert`, a macro too.
#ifndef TILE_ASSERTION_H
#define TILE_ASSERTION_H

#include "kernel_operator.h"

#ifndef ascendc_assert
#define ascendc_assert(...) assert(__VA_ARGS__)
#endif

#endif
