#include "python/src/arrays.hpp"

#include <cmath>
#include <cstdio>
#include <map>

#include "tendril/model_error.hpp"

namespace tendril::python {
namespace {

template <class Sizes>
std::string list_of(const Sizes& sizes) {
  std::string text;
  for (const std::size_t size : sizes)
    text.append(text.empty() ? "" : ", ").append(size == kAny ? "n" : std::to_string(size));
  return text;
}

std::string text_of(const Shape& shape) {
  return "(" + list_of(shape).append(shape.size() == 1 ? ",)" : ")");
}

[[noreturn]] void refuse(const char* name, const std::string& what, const std::string& allowed) {
  throw ModelError(std::string(name) + ": " + what + ", must be " + allowed);
}

/// Refuses masked numbers, which NumPy would take for what lies below the mask.
void refuse_masked(const char* name, nb::handle value, int levels = 8) {
  const nb::handle ndarray = numpy("ndarray");
  if (value.type().is(ndarray) || levels == 0) return;
  if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr())) {
    for (const nb::handle item : nb::borrow<nb::sequence>(value))
      if (!PyFloat_CheckExact(item.ptr()) && !PyLong_CheckExact(item.ptr()))
        refuse_masked(name, item, levels - 1);
    return;
  }
  if (!nb::isinstance(value, ndarray) || !nb::isinstance(value, numpy("ma").attr("MaskedArray")))
    return;
  const nb::object any = numpy("any")(value.attr("mask"));
  if (nb::cast<bool>(any.attr("item")())) refuse(name, "some are masked", "numbers without a mask");
}

/// `value` as NumPy makes a float64 array in C order of it.
nb::object converted(const char* name, nb::handle value) {
  nb::object array;
  try {
    array = numpy("asarray")(value);
  } catch (nb::python_error& error) {
    const std::string kind = nb::cast<std::string>(nb::str(value.type().attr("__name__")));
    refuse(name, "type = " + kind, "an array of numbers");
  }
  const nb::object type = array.attr("dtype");
  const auto kind = nb::cast<std::string>(type.attr("kind"));
  if (kind != "f" && kind != "i" && kind != "u")
    refuse(name, "dtype = " + nb::cast<std::string>(nb::str(type)), "real numbers");
  return numpy("ascontiguousarray")(array, nb::arg("dtype") = "d")
      .attr("reshape")(array.attr("shape"));
}

}  // namespace

nb::handle numpy(const char* name) {
  static std::map<std::string, PyObject*, std::less<>> known;  // the interpreter lock is held
  const auto found = known.find(std::string_view(name));
  if (found != known.end()) return found->second;
  PyObject* const function = nb::object(nb::module_::import_("numpy").attr(name)).release().ptr();
  known.emplace(name, function);
  return function;
}

Input::Input(const char* name, nb::handle value, Axes last) : name_(name) {
  refuse_masked(name, value);
  if (!nb::try_cast(value, array_, false)) {
    const nb::object array = converted(name, value);
    if (!nb::try_cast(array, array_, false)) refuse(name, "type", "an array of numbers");
  }
  const auto shape_at = [&](std::size_t axis) { return array_.shape(axis); };
  const std::size_t axes = array_.ndim();
  bool fits = axes >= last.size();
  const std::size_t first = fits ? axes - last.size() : 0;
  for (std::size_t i = 0; i < last.size() && fits; ++i)
    fits = last.begin()[i] == kAny || shape_at(first + i) == last.begin()[i];
  if (!fits) {
    Shape shape;
    for (std::size_t i = 0; i < axes; ++i) shape.push_back(shape_at(i));
    refuse(name, "shape = " + text_of(shape), "(..., " + list_of(last) + ")");
  }
  for (std::size_t i = 0; i < first; ++i) leading_.push_back(shape_at(i));
  for (const std::size_t size : leading_) count_ *= size;
  for (std::size_t i = first; i < axes; ++i) item_size_ *= shape_at(i);
}

void Input::require_finite() const {
  const std::span<const double> numbers = all();
  const auto wrong = std::find_if(numbers.begin(), numbers.end(),
                                  [](double number) { return !std::isfinite(number); });
  if (wrong == numbers.end()) return;
  throw ModelError(place_of(&*wrong) + " = " + (std::isnan(*wrong) ? "nan" : "inf") +
                   ", must be finite");
}

std::string Input::place_of(const double* number) const {
  auto index = static_cast<std::size_t>(number - array_.data());
  std::string place;
  for (std::size_t axis = array_.ndim(); axis-- > 0;) {
    place = std::to_string(index % array_.shape(axis)) + (place.empty() ? "" : ", ") + place;
    index /= array_.shape(axis);
  }
  return std::string(name_) + "[" + place + "]";
}

void Input::require_angles(std::size_t first, std::size_t step, double most) const {
  require_finite();
  const std::span<const double> numbers = all();
  for (std::size_t k = 0; k < numbers.size(); k += item_size_) {
    for (std::size_t i = first; i < item_size_; i += step) {
      if (std::abs(numbers[k + i]) <= most * (1.0 + 1e-9)) continue;
      char text[32];
      std::snprintf(text, sizeof text, "%.6g", numbers[k + i]);
      throw ModelError(place_of(&numbers[k + i]) + " = " + text + " rad, must be within " +
                       (most > 7.0 ? "two turns" : "a turn") + ": is it in degrees?");
    }
  }
}

void Input::require_leading(const Shape& leading) const {
  if (!leading_.empty() && leading_ != leading)
    refuse(name_, "leading axes = " + text_of(leading_), "() or " + text_of(leading));
}

Numbers::Numbers(const char* name, nb::handle value, const Shape& leading) {
  if (PyFloat_CheckExact(value.ptr())) {
    one_ = PyFloat_AsDouble(value.ptr());
    if (!std::isfinite(one_))
      refuse(name, std::string("value = ") + (std::isnan(one_) ? "nan" : "inf"), "finite");
    return;
  }
  const Input input(name, value, {});
  input.require_finite();
  input.require_leading(leading);
  if (input.leading().empty()) {
    one_ = input.all().front();
  } else {
    all_.assign(input.all().begin(), input.all().end());
  }
}

Output::Output(const Shape& leading, Axes last, const char* type) {
  const auto axes = static_cast<Py_ssize_t>(leading.size() + last.size());
  nb::object shape = nb::steal(PyTuple_New(axes));
  Py_ssize_t axis = 0;
  for (const std::size_t size : leading)
    PyTuple_SetItem(shape.ptr(), axis++, PyLong_FromSize_t(size));
  for (const std::size_t size : last) PyTuple_SetItem(shape.ptr(), axis++, PyLong_FromSize_t(size));
  object_ = numpy("empty")(shape, type);
  array_ = nb::cast<nb::ndarray<nb::device::cpu>>(object_);
}

std::optional<long long> integer_of(nb::handle value) {
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  const long long number = index.is_valid() ? PyLong_AsLongLong(index.ptr()) : -1;
  if (PyErr_Occurred() == nullptr) return number;
  PyErr_Clear();
  return std::nullopt;
}

bool flag_of(const char* name, nb::handle value) {
  if (PyBool_Check(value.ptr())) return value.ptr() == Py_True;
  if (nb::isinstance(value, numpy("bool_"))) return PyObject_IsTrue(value.ptr()) == 1;
  refuse(name, nb::cast<std::string>(nb::repr(value)), "True or False");
}

void require_threads(int threads) {
  if (threads < 0) throw ModelError("threads = " + std::to_string(threads) + ", must be >= 0");
}

}  // namespace tendril::python
