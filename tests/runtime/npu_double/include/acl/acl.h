// A double of CANN's header: the calls that kernels' host part or the launcher makes, with CANN's types.
#pragma once

using aclrtStream = void*;
