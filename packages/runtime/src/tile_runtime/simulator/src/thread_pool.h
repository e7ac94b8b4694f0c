// Host threads that help a launch. The caller works too; helpers join while blocks are left.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace tile_simulator {

class Launch;

class ThreadPool {
public:
    static ThreadPool& instance();

    // Runs the launch on the calling thread (already counted as a worker) and up to `helpers` others.
    void run(Launch& launch, uint32_t helpers);

private:
    void serve();

    std::mutex mutex_;
    std::condition_variable offered_;
    std::condition_variable left_;
    Launch* launch_ = nullptr;
    uint32_t places_ = 0;   // helpers still wanted
    uint32_t helping_ = 0;  // helpers inside the launch
    uint32_t threads_ = 0;
};

}  // namespace tile_simulator
