// The last line of defence of the process: a signal that a kernel raises, or its endless loop without a call, ends the
// core it happens on and is reported as the error of the launch. What the kernel held at that moment is lost.
#pragma once

#include "launch.h"

namespace tile_simulator {

// Sets the handlers of the process, once.
void install_crash_guard();

// While it lives, the calling host thread may run cores of a launch.
class CrashGuard {
public:
    explicit CrashGuard(const Launch& launch);
    ~CrashGuard();
    CrashGuard(const CrashGuard&) = delete;
    CrashGuard& operator=(const CrashGuard&) = delete;

private:
    bool timed_ = false;
};

}  // namespace tile_simulator
