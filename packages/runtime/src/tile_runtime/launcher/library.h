// Handles of shared libraries, the functions of libtile_simulator.so, and what the runtime library of a device says of
// errors.
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>

#include "tile_simulator.h"

namespace tile_launcher {

// An open shared library; closed with the object.
class Library {
public:
    Library(const std::string& path, int mode) : handle_(dlopen(path.c_str(), mode))
    {
        if (handle_ == nullptr) {
            throw std::runtime_error(std::string("cannot load ") + path + ": " + dlerror());
        }
    }
    ~Library()
    {
        if (handle_ != nullptr) {
            dlclose(handle_);
        }
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    template <class Function>
    Function* find(const std::string& name) const
    {
        void* symbol = dlsym(handle_, name.c_str());
        if (symbol == nullptr) {
            throw std::runtime_error("no function " + name + " in the library");
        }
        return reinterpret_cast<Function*>(symbol);
    }

private:
    void* handle_;
};

// Errors of the calling thread, as the runtime library of a device keeps them: a launch `<<<...>>>` returns none. The
// launcher does not load that library, which torch_npu has done: where there is none, nothing is known.
struct DeviceErrors {
    DeviceErrors()
    {
        if (void* library = dlopen("libascendcl.so", RTLD_NOW | RTLD_NOLOAD)) {
            take_ = reinterpret_cast<int (*)(int)>(dlsym(library, "aclrtGetLastError"));
            message_ = reinterpret_cast<const char* (*)()>(dlsym(library, "aclGetRecentErrMsg"));
        }
    }
    // The code of the latest error, which is forgotten; 0 if there is none.
    int take() const { return take_ == nullptr ? 0 : take_(thread_level); }
    std::string message() const
    {
        const char* text = message_ == nullptr ? nullptr : message_();
        return text == nullptr ? "" : text;
    }

private:
    static constexpr int thread_level = 0;
    int (*take_)(int) = nullptr;
    const char* (*message_)() = nullptr;
};

// The simulator's C interface, found in the library at run time: the launcher itself links to nothing.
struct Simulator {
    explicit Simulator(const std::string& path)
        : library(path, RTLD_NOW | RTLD_GLOBAL),
          default_options(library.find<decltype(tile_simulator_default_options)>("tile_simulator_default_options")),
          set_buffers(library.find<decltype(tile_simulator_set_buffers)>("tile_simulator_set_buffers")),
          set_options(library.find<decltype(tile_simulator_set_options)>("tile_simulator_set_options")),
          error(library.find<decltype(tile_simulator_error)>("tile_simulator_error")),
          others(library.find<decltype(tile_simulator_others)>("tile_simulator_others")),
          output(library.find<decltype(tile_simulator_output)>("tile_simulator_output")),
          timeline(library.find<decltype(tile_simulator_timeline)>("tile_simulator_timeline")),
          rank_times(library.find<decltype(tile_simulator_rank_times)>("tile_simulator_rank_times")),
          unwritten(library.find<decltype(tile_simulator_unwritten)>("tile_simulator_unwritten")),
          clear(library.find<decltype(tile_simulator_clear)>("tile_simulator_clear")),
          begin_ranks(library.find<decltype(tile_simulator_begin_ranks)>("tile_simulator_begin_ranks")),
          next_rank(library.find<decltype(tile_simulator_next_rank)>("tile_simulator_next_rank")),
          end_ranks(library.find<decltype(tile_simulator_end_ranks)>("tile_simulator_end_ranks")),
          new_words(library.find<decltype(tile_simulator_new_words)>("tile_simulator_new_words")),
          forget_words(library.find<decltype(tile_simulator_forget_words)>("tile_simulator_forget_words")),
          delete_words(library.find<decltype(tile_simulator_delete_words)>("tile_simulator_delete_words"))
    {
        library.find<decltype(tile_simulator_guard)>("tile_simulator_guard")();
    }

    Library library;
    decltype(tile_simulator_default_options)* default_options;
    decltype(tile_simulator_set_buffers)* set_buffers;
    decltype(tile_simulator_set_options)* set_options;
    decltype(tile_simulator_error)* error;
    decltype(tile_simulator_others)* others;
    decltype(tile_simulator_output)* output;
    decltype(tile_simulator_timeline)* timeline;
    decltype(tile_simulator_rank_times)* rank_times;
    decltype(tile_simulator_unwritten)* unwritten;
    decltype(tile_simulator_clear)* clear;
    decltype(tile_simulator_begin_ranks)* begin_ranks;
    decltype(tile_simulator_next_rank)* next_rank;
    decltype(tile_simulator_end_ranks)* end_ranks;
    decltype(tile_simulator_new_words)* new_words;
    decltype(tile_simulator_forget_words)* forget_words;
    decltype(tile_simulator_delete_words)* delete_words;
};

}  // namespace tile_launcher
