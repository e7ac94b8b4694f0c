// A call that went through once, to be done again with arguments that are like its own: tensors are looked at, outputs
// allocated and the kernel entered without Python code in between. Whatever is not like it is left to Python, which
// explains what is wrong.
#pragma once

#include "dlpack.h"
#include "kernel.h"

namespace tile_launcher {

// The switches of a call: variables TILE_... of the environment, and context variables. It holds until a variable of the
// environment changes, and while each context variable has the very object it had.
class Epoch {
public:
    explicit Epoch(const py::list& variables);

    bool holds() const;

private:
    struct Variable {
        py::object variable;
        py::object value;
    };
    uint64_t environment_;
    std::vector<Variable> variables_;
};

// Counts changes of TILE_ variables by Python from now on; called once, when the module is loaded.
void watch_environment();

// What of torch a call needs.
struct Torch {
    // `types`: the types of tensors that are no more than memory, the plainest first; `empty`: makes one of a shape and
    // strides; `wrapped`: asks whether a transform stands between a tensor and its memory, or None; `modes`: questions
    // whose answers are false unless torch records calls; `wrote`: tells autograd of a tensor that is written.
    Torch(py::tuple types, py::object empty, py::object grad_enabled, py::object wrapped, py::tuple modes,
        py::object wrote);

    // Whether it tells of tensors without Python.
    bool tells() const { return view_ != nullptr; }
    // False if there is nothing to tell; errors are dropped: whoever looks closer meets them again.
    bool view(PyObject* tensor, DLTensor& out) const;
    bool records() const;

    py::tuple types;
    py::object empty;
    py::object grad_enabled;
    py::object wrapped;
    py::tuple modes;
    py::object wrote;

private:
    decltype(DLPackExchange::tensor_from_object) view_ = nullptr;
};

// A tensor that a caller passes: argument number, position among the kernel's arguments, and what it must be.
struct TensorSlot {
    size_t argument;
    size_t position;
    py::object dtype;
    DLDataType type;
    DLDevice device;
    std::vector<int64_t> shape;
    std::vector<int64_t> strides;
    bool written;
};

// A number that a caller passes; integers from low to high.
struct ScalarSlot {
    size_t argument;
    size_t position;
    int64_t low;
    int64_t high;
};

// A tensor that the call allocates.
struct AllocatedSlot {
    size_t position;
    py::object shape;
    py::object strides;
    py::object dtype;
    uint64_t element_bytes;
    bool watched;  // every element has to be written before it is read
};

class RememberedCall {
public:
    // `like`: the arguments of the call to remember; `constants`: the last values; `returned`: which of the allocated
    // tensors are results; `written`: which arguments the kernel writes; `stream`: gives the stream of a device, or is None; `finish(values, keep, error, text)`: is
    // called after a run that has something to tell.
    RememberedCall(std::shared_ptr<Kernel> kernel, std::shared_ptr<Torch> torch, Epoch epoch,
        const py::tuple& like, const std::vector<py::tuple>& tensors, const std::vector<py::tuple>& scalars,
        const std::vector<py::tuple>& allocated, std::vector<size_t> returned,
        const std::vector<size_t>& written, py::object device, std::vector<uint64_t> sizes, std::vector<int64_t> constants, py::object stream, py::object finish);

    // The results: a tensor, or a list if there is not exactly one. None: the call is not like the remembered one, and
    // nothing was done.
    py::object operator()(const py::tuple& arguments) const;

private:
    bool put_tensor(const TensorSlot& slot, PyObject* tensor, Cells& cells, bool& wants_gradient) const;
    bool put_scalar(const ScalarSlot& slot, PyObject* number, Cells& cells) const;
    bool allocate(Cells& cells, py::list& keep) const;
    // So that autograd notices values it saved and that are not any more; false if it can not be told.
    bool tell_of_writes(const py::tuple& arguments) const;
    bool left_gaps(Cells& cells) const;
    py::tuple values(Cells& cells) const;

    std::shared_ptr<Kernel> kernel_;
    RunOptions options_;
    std::shared_ptr<Torch> torch_;
    Epoch epoch_;
    size_t arguments_;
    std::vector<TensorSlot> tensors_;
    std::vector<ScalarSlot> scalars_;
    std::vector<AllocatedSlot> allocated_;
    std::vector<size_t> returned_;
    bool writes_;
    py::object device_;
    std::vector<uint64_t> sizes_;
    std::vector<int64_t> constants_;
    py::object stream_;
    py::object finish_;
};

}  // namespace tile_launcher
