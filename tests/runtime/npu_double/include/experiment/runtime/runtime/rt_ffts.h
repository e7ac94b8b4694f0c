// A double of CANN's header.
#pragma once

#include <cstdint>

extern "C" int32_t rtGetC2cCtrlAddr(uint64_t* address, uint32_t* length);
