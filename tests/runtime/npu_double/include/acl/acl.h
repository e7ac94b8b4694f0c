// A double of CANN's header: the types of the calls that are doubled. With CANN's own header in its place the double
// compiles as well, which is tested.
#pragma once

using aclrtStream = void*;
enum aclrtLastErrLevel { ACL_RT_THREAD_LEVEL = 0 };
enum aclmdlRICaptureMode { ACL_MODEL_RI_CAPTURE_MODE_GLOBAL = 0 };
