#include "thread_pool.h"

#include <pthread.h>

#include <new>
#include <thread>

#include "launch.h"

namespace tile_simulator {

ThreadPool& ThreadPool::instance()
{
    // Never destroyed: helper threads wait on it until the process ends. After a fork the child starts a new one,
    // since threads do not survive a fork.
    static ThreadPool* pool = [] {
        pthread_atfork(nullptr, nullptr, [] { new (&instance()) ThreadPool; });
        return new ThreadPool;
    }();
    return *pool;
}

void ThreadPool::run(Launch& launch, uint32_t helpers)
{
    bool offered = false;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (launch_ == nullptr) {  // otherwise another host thread has the helpers: run alone
            launch_ = &launch;
            places_ = helpers;
            offered = true;
            while (threads_ < helpers) {
                std::thread([this] { serve(); }).detach();
                ++threads_;
            }
        }
    }
    if (offered) {
        offered_.notify_all();
    }
    launch.work();
    if (offered) {
        std::unique_lock<std::mutex> lock(mutex_);
        launch_ = nullptr;
        left_.wait(lock, [this] { return helping_ == 0; });
    }
}

void ThreadPool::serve()
{
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
        offered_.wait(lock, [this] { return launch_ != nullptr && places_ > 0; });
        Launch& launch = *launch_;
        --places_;
        ++helping_;
        launch.add_worker();
        lock.unlock();
        launch.work();
        lock.lock();
        --helping_;
        left_.notify_all();
    }
}

}  // namespace tile_simulator
