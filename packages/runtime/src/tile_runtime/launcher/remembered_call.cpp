#include "remembered_call.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace tile_launcher {
namespace {

// Names of what is asked of tensors, made once for the process.
struct Names {
    PyObject* dtype = PyUnicode_InternFromString("dtype");
    PyObject* device = PyUnicode_InternFromString("device");
    PyObject* requires_grad = PyUnicode_InternFromString("requires_grad");
    PyObject* base = PyUnicode_InternFromString("_base");
    PyObject* is_neg = PyUnicode_InternFromString("is_neg");
    PyObject* of_empty = PyTuple_Pack(2, dtype, device);
};

const Names& names()
{
    static const Names all;
    return all;
}

// Drops the error of Python that is set; all but an interrupt.
void drop_error()
{
    if (PyErr_ExceptionMatches(PyExc_Exception) == 0) {
        throw py::error_already_set();
    }
    PyErr_Clear();
}

// What Python gives; null if it raises: whoever looks closer meets the error again.
py::object tried(PyObject* result)
{
    if (result == nullptr) {
        drop_error();
    }
    return py::reinterpret_steal<py::object>(result);
}

py::object attribute(PyObject* object, PyObject* name)
{
    return tried(PyObject_GetAttr(object, name));
}

bool is_false(const py::object& object)
{
    return object.ptr() == Py_False;
}

bool is_of(PyObject* object, const py::handle& type)
{
    return reinterpret_cast<PyObject*>(Py_TYPE(object)) == type.ptr();
}

bool same(const DLDataType& left, const DLDataType& right)
{
    return left.code == right.code && left.bits == right.bits && left.lanes == right.lanes;
}

int64_t elements(const DLTensor& view)
{
    int64_t count = 1;
    for (int32_t d = 0; d < view.ndim; ++d) {
        count *= view.shape[d];
    }
    return count;
}

// Codes of whole numbers, of which torch has types of fewer than 8 bits that look like those of 8 bits.
constexpr uint8_t signed_integer = 0;
constexpr uint8_t unsigned_integer = 1;
// Types of numbers that may be the negated view of others.
constexpr uint8_t floating = 2;
constexpr uint8_t brain_floating = 4;

bool may_be_narrower(const DLDataType& type)
{
    return type.bits == 8 && (type.code == signed_integer || type.code == unsigned_integer);
}

bool may_be_negated(const DLDataType& type)
{
    return type.code == floating || type.code == brain_floating;
}

// Contiguous, or with no elements at all: strides count only where there are several elements.
bool lies_like(const DLTensor& view, const TensorSlot& slot)
{
    if (view.ndim != static_cast<int32_t>(slot.shape.size())) {
        return false;
    }
    bool dense = true;
    bool empty = false;
    for (size_t d = 0; d < slot.shape.size(); ++d) {
        if (view.shape[d] != slot.shape[d]) {
            return false;
        }
        dense = dense && (slot.shape[d] == 1 || view.strides[d] == slot.strides[d]);
        empty = empty || slot.shape[d] == 0;
    }
    return dense || empty;
}

// How often a variable of the environment that is a switch was set or deleted.
std::atomic<uint64_t> environment_changes{0};

// Python calls it with (name, value) before it sets a variable of the environment, with (name,) before it deletes one.
int count_environment_change(const char* event, PyObject* arguments, void*)
{
    constexpr char prefix[] = "TILE_";
    if (std::strcmp(event, "os.putenv") != 0 && std::strcmp(event, "os.unsetenv") != 0) {
        return 0;
    }
    PyObject* name = PyTuple_GetItem(arguments, 0);
    if (name == nullptr || !PyBytes_Check(name) || std::strncmp(PyBytes_AS_STRING(name), prefix, sizeof prefix - 1) == 0) {
        ++environment_changes;
    }
    return 0;
}

// What a context variable holds; null if nothing.
py::object value_of(const py::handle& variable)
{
    PyObject* value = nullptr;
    if (PyContextVar_Get(variable.ptr(), nullptr, &value) < 0) {
        throw py::error_already_set();
    }
    return py::reinterpret_steal<py::object>(value);
}

}  // namespace

void watch_environment()
{
    if (PySys_AddAuditHook(count_environment_change, nullptr) < 0) {
        throw py::error_already_set();
    }
}

Epoch::Epoch(const py::list& variables) : environment_(environment_changes.load())
{
    for (const py::handle variable : variables) {
        variables_.push_back({py::reinterpret_borrow<py::object>(variable), value_of(variable)});
    }
}

bool Epoch::holds() const
{
    return environment_ == environment_changes.load(std::memory_order_relaxed) &&
        std::all_of(variables_.begin(), variables_.end(),
            [](const Variable& v) { return value_of(v.variable).is(v.value); });
}

Torch::Torch(py::tuple types, py::object empty, py::object grad_enabled, py::object wrapped, py::tuple modes,
    py::object wrote)
    : types(std::move(types)), empty(std::move(empty)), grad_enabled(std::move(grad_enabled)),
      wrapped(std::move(wrapped)), modes(std::move(modes)), wrote(std::move(wrote))
{
    const py::object offered = py::getattr(this->types[0], "__dlpack_c_exchange_api__", py::none());
    if (!PyCapsule_IsValid(offered.ptr(), DLPackExchange::capsule)) {
        return;
    }
    const void* first = PyCapsule_GetPointer(offered.ptr(), DLPackExchange::capsule);
    for (auto* table = static_cast<const DLPackExchange*>(first); table != nullptr; table = table->older) {
        if (table->major == DLPackExchange::known_major) {
            view_ = table->tensor_from_object;
            return;
        }
    }
}

bool Torch::view(PyObject* tensor, DLTensor& out) const
{
    if (view_(tensor, &out) != 0) {
        drop_error();
        return false;
    }
    out.data = static_cast<char*>(out.data) + out.byte_offset;
    return out.data != nullptr || elements(out) == 0;
}

bool Torch::records() const
{
    for (const py::handle mode : modes) {
        const py::object answer = tried(PyObject_CallNoArgs(mode.ptr()));
        if (!answer || PyObject_IsTrue(answer.ptr()) != 0) {
            return true;
        }
    }
    return false;
}

RememberedCall::RememberedCall(std::shared_ptr<Kernel> kernel, std::shared_ptr<Torch> torch,
    Epoch epoch, const py::tuple& like, const std::vector<py::tuple>& tensors,
    const std::vector<py::tuple>& scalars, const std::vector<py::tuple>& allocated, std::vector<size_t> returned,
    const std::vector<size_t>& written, py::object device, std::vector<uint64_t> sizes, std::vector<int64_t> constants, py::object stream,
    py::object finish)
    : kernel_(std::move(kernel)), options_(kernel_->options()), torch_(std::move(torch)), epoch_(std::move(epoch)),
      arguments_(like.size()), returned_(std::move(returned)), writes_(!written.empty()), device_(std::move(device)), sizes_(std::move(sizes)),
      constants_(std::move(constants)), stream_(std::move(stream)), finish_(std::move(finish))
{
    const auto number = [](const py::tuple& record, size_t i) { return py::cast<size_t>(record[i]); };
    for (const py::tuple& t : tensors) {
        TensorSlot slot{number(t, 0), number(t, 1), t[2], {}, {}, {}, {}, false};
        slot.written = std::find(written.begin(), written.end(), slot.argument) != written.end();
        DLTensor view{};
        if (!torch_->view(py::object(like[slot.argument]).ptr(), view)) {
            throw std::invalid_argument("a call can not be remembered that has a tensor without memory");
        }
        slot.type = view.dtype;
        slot.device = view.device;
        slot.shape.assign(view.shape, view.shape + view.ndim);
        slot.strides.resize(slot.shape.size());
        int64_t stride = 1;
        for (size_t d = slot.shape.size(); d-- > 0;) {
            slot.strides[d] = stride;
            stride *= slot.shape[d];
        }
        tensors_.push_back(std::move(slot));
    }
    for (const py::tuple& s : scalars) {
        scalars_.push_back({number(s, 0), number(s, 1), py::cast<int64_t>(s[2]), py::cast<int64_t>(s[3])});
    }
    for (const py::tuple& a : allocated) {
        allocated_.push_back({number(a, 0), a[1], a[2], a[3], py::cast<uint64_t>(a[4]), py::cast<bool>(a[5])});
    }
    if (sizes_.size() != kernel_->count() || constants_.size() > sizes_.size() ||
        tensors_.size() + scalars_.size() + allocated_.size() + constants_.size() != sizes_.size()) {
        throw std::invalid_argument("the slots of a call must fill the arguments of its kernel");
    }
}

py::object RememberedCall::operator()(const py::tuple& arguments) const
{
    if (arguments.size() != arguments_ || !epoch_.holds() || torch_->records()) {
        return py::none();
    }
    Cells cells(kernel_->count());
    const auto given = [&](size_t n) { return PyTuple_GET_ITEM(arguments.ptr(), static_cast<Py_ssize_t>(n)); };
    bool wants_gradient = false;
    for (const TensorSlot& slot : tensors_) {
        if (!put_tensor(slot, given(slot.argument), cells, wants_gradient)) {
            return py::none();
        }
    }
    for (const ScalarSlot& slot : scalars_) {
        if (!put_scalar(slot, given(slot.argument), cells)) {
            return py::none();
        }
    }
    if (wants_gradient && !is_false(tried(PyObject_CallNoArgs(torch_->grad_enabled.ptr())))) {
        return py::none();
    }
    const size_t first_constant = kernel_->count() - constants_.size();
    for (size_t k = 0; k < constants_.size(); ++k) {
        cells[first_constant + k].i64 = constants_[k];
    }
    py::list keep;
    if (!allocate(cells, keep)) {
        return py::none();
    }
    void* stream = nullptr;
    if (!stream_.is_none()) {
        const py::object number = py::reinterpret_steal<py::object>(PyObject_CallNoArgs(stream_.ptr()));
        if (!number) {
            throw py::error_already_set();
        }
        if (number.is_none()) {
            return py::none();  // another device is the current one
        }
        stream = PyLong_AsVoidPtr(number.ptr());
    }
    if (writes_ && !tell_of_writes(arguments)) {
        return py::none();
    }
    const auto [error, text] = kernel_->enter(cells, stream, options_);
    if (error || !text.empty() || (kernel_->simulated() && (Kernel::warned() || left_gaps(cells)))) {
        finish_(values(cells), keep, error, text);
    }
    if (returned_.size() == 1) {
        return keep[returned_[0]];
    }
    py::list results;
    for (const size_t k : returned_) {
        results.append(keep[k]);
    }
    return results;
}

bool RememberedCall::put_tensor(const TensorSlot& slot, PyObject* tensor, Cells& cells, bool& wants_gradient) const
{
    bool known = false;
    for (const py::handle type : torch_->types) {
        known = known || is_of(tensor, type);
    }
    DLTensor view{};
    if (!known || !torch_->view(tensor, view) || !same(view.dtype, slot.type) ||
        view.device.type != slot.device.type || view.device.index != slot.device.index || !lies_like(view, slot)) {
        return false;
    }
    if (may_be_narrower(slot.type) && attribute(tensor, names().dtype).ptr() != slot.dtype.ptr()) {
        return false;
    }
    if (may_be_negated(slot.type) && !is_false(tried(PyObject_CallMethodNoArgs(tensor, names().is_neg)))) {
        return false;
    }
    if ((writes_ || !returned_.empty()) && !is_false(attribute(tensor, names().requires_grad))) {
        wants_gradient = true;
    }
    if (slot.written) {
        const py::object base = attribute(tensor, names().base);
        wants_gradient = wants_gradient || !base || (!base.is_none() && !is_false(attribute(base.ptr(), names().requires_grad)));
    }
    cells[slot.position].pointer = view.data;
    kernel_->add_buffer(cells, slot.position, sizes_[slot.position], false);
    return true;
}

bool RememberedCall::put_scalar(const ScalarSlot& slot, PyObject* number, Cells& cells) const
{
    Value& value = cells[slot.position];
    const Kind kind = kernel_->kind(slot.position);
    if (kind == Kind::boolean) {
        value.boolean = number == Py_True;
        return PyBool_Check(number);
    }
    if (kind == Kind::f32 || kind == Kind::f64) {
        if (!PyFloat_CheckExact(number) && !PyLong_CheckExact(number)) {
            return false;
        }
        const double real = PyFloat_AsDouble(number);
        if (real == -1.0 && PyErr_Occurred() != nullptr) {
            PyErr_Clear();
            return false;
        }
        if (kind == Kind::f64) {
            value.f64 = real;
        } else {
            value.f32 = static_cast<float>(real);
        }
        return true;
    }
    int overflow = 0;
    if (!PyLong_CheckExact(number)) {
        return false;
    }
    const int64_t integer = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow != 0 || integer < slot.low || integer > slot.high) {
        return false;
    }
    if (kind == Kind::i32) {
        value.i32 = static_cast<int32_t>(integer);
    } else {
        value.i64 = integer;
    }
    return true;
}

bool RememberedCall::allocate(Cells& cells, py::list& keep) const
{
    for (const AllocatedSlot& slot : allocated_) {
        PyObject* const given[] = {slot.shape.ptr(), slot.strides.ptr(), slot.dtype.ptr(), device_.ptr()};
        py::object tensor = tried(PyObject_Vectorcall(torch_->empty.ptr(), given, 2, names().of_empty));
        if (!tensor || !is_of(tensor.ptr(), torch_->types[0])) {
            return false;
        }
        if (!torch_->wrapped.is_none() && !is_false(tried(PyObject_CallOneArg(torch_->wrapped.ptr(), tensor.ptr())))) {
            return false;
        }
        DLTensor view{};
        if (!torch_->view(tensor.ptr(), view)) {
            return false;
        }
        cells[slot.position].pointer = view.data;
        kernel_->add_buffer(cells, slot.position, sizes_[slot.position], options_.checked() && slot.watched);
        keep.append(std::move(tensor));
    }
    return true;
}

bool RememberedCall::tell_of_writes(const py::tuple& arguments) const
{
    return std::all_of(tensors_.begin(), tensors_.end(), [&](const TensorSlot& slot) {
        PyObject* tensor = PyTuple_GET_ITEM(arguments.ptr(), static_cast<Py_ssize_t>(slot.argument));
        return !slot.written || tried(PyObject_CallOneArg(torch_->wrote.ptr(), tensor));
    });
}

bool RememberedCall::left_gaps(Cells& cells) const
{
    if (!options_.checked()) {
        return false;
    }
    for (const size_t k : returned_) {
        const AllocatedSlot& slot = allocated_[k];
        if (Kernel::unwritten(cells[slot.position].pointer, slot.element_bytes).count > 0) {
            return true;
        }
    }
    return false;
}

py::tuple RememberedCall::values(Cells& cells) const
{
    py::tuple all(kernel_->count());
    for (size_t i = 0; i < kernel_->count(); ++i) {
        const Value& value = cells[i];
        switch (kernel_->kind(i)) {
            case Kind::pointer:
                all[i] = py::int_(reinterpret_cast<uintptr_t>(value.pointer));
                break;
            case Kind::i32:
                all[i] = py::int_(value.i32);
                break;
            case Kind::i64:
                all[i] = py::int_(value.i64);
                break;
            case Kind::f32:
                all[i] = py::float_(value.f32);
                break;
            case Kind::f64:
                all[i] = py::float_(value.f64);
                break;
            case Kind::boolean:
                all[i] = py::bool_(value.boolean);
                break;
        }
    }
    return all;
}

}  // namespace tile_launcher
