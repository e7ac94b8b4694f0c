// Handles of shared libraries, and the functions of libtile_simulator.so.
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

// The simulator's C interface, found in the library at run time: the launcher itself links to nothing.
struct Simulator {
    explicit Simulator(const std::string& path)
        : library(path, RTLD_NOW | RTLD_GLOBAL),
          default_options(library.find<decltype(tile_simulator_default_options)>("tile_simulator_default_options")),
          set_buffers(library.find<decltype(tile_simulator_set_buffers)>("tile_simulator_set_buffers")),
          set_options(library.find<decltype(tile_simulator_set_options)>("tile_simulator_set_options")),
          error(library.find<decltype(tile_simulator_error)>("tile_simulator_error")),
          warnings(library.find<decltype(tile_simulator_warnings)>("tile_simulator_warnings")),
          output(library.find<decltype(tile_simulator_output)>("tile_simulator_output")),
          timeline(library.find<decltype(tile_simulator_timeline)>("tile_simulator_timeline")),
          unwritten(library.find<decltype(tile_simulator_unwritten)>("tile_simulator_unwritten")),
          clear(library.find<decltype(tile_simulator_clear)>("tile_simulator_clear"))
    {
    }

    Library library;
    decltype(tile_simulator_default_options)* default_options;
    decltype(tile_simulator_set_buffers)* set_buffers;
    decltype(tile_simulator_set_options)* set_options;
    decltype(tile_simulator_error)* error;
    decltype(tile_simulator_warnings)* warnings;
    decltype(tile_simulator_output)* output;
    decltype(tile_simulator_timeline)* timeline;
    decltype(tile_simulator_unwritten)* unwritten;
    decltype(tile_simulator_clear)* clear;
};

}  // namespace tile_launcher
