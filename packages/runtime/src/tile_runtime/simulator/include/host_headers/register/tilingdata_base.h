// Tiling structs as an operator's host code defines them: here plain structs, as the kernel sees them.
#pragma once

#include <cstdint>

#define BEGIN_TILING_DATA_DEF(name) struct name {
#define TILING_DATA_FIELD_DEF(type, field) type field;
#define TILING_DATA_FIELD_DEF_ARR(type, length, field) type field[length];
#define TILING_DATA_FIELD_DEF_STRUCT(type, field) type field;
#define END_TILING_DATA_DEF };
#define REGISTER_TILING_DATA_CLASS(operation, name)
