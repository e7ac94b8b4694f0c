// What host code computes tilings with: here the structs alone, which a kernel may share a file with.
#pragma once
#include "register/tilingdata_base.h"
