#include "python/src/settings.hpp"

#include <nanobind/stl/string.h>

#include <string>

#include "tendril/model_error.hpp"

namespace tendril::python {
namespace {

namespace nb = nanobind;

constexpr const char* kOrigin = "set";

[[noreturn]] void refuse(const std::string& key, nb::handle value) {
  throw ModelError(std::string(kOrigin) + ": " + key + ": " +
                   nb::cast<std::string>(nb::repr(value)) +
                   ": must be a number, a boolean, a text, or a list or table of these");
}

Value value_of(nb::handle object, const std::string& key) {
  if (nb::hasattr(object, "tolist")) {  // of NumPy
    const nb::object list = object.attr("tolist")();
    return value_of(list, key);
  }
  if (PyBool_Check(object.ptr())) return {nb::cast<bool>(object)};
  if (PyLong_Check(object.ptr())) {
    const long long number = PyLong_AsLongLong(object.ptr());
    if (PyErr_Occurred() == nullptr) return {static_cast<std::int64_t>(number)};
    PyErr_Clear();
    refuse(key, object);
  }
  if (PyFloat_Check(object.ptr())) return {nb::cast<double>(object)};
  if (nb::isinstance<nb::str>(object)) return {nb::cast<std::string>(object)};
  if (nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object)) {
    Value::List list;
    for (const nb::handle element : object) list.push_back(value_of(element, key));
    return {std::move(list)};
  }
  if (nb::isinstance<nb::dict>(object)) {
    Value::Table table;
    for (const auto [name, element] : nb::cast<nb::dict>(object))
      table[nb::cast<std::string>(nb::str(name))] = value_of(element, key);
    return {std::move(table)};
  }
  if (PyObject* const path = PyOS_FSPath(object.ptr()); path != nullptr) {
    const nb::object text = nb::steal(path);
    if (nb::isinstance<nb::str>(text)) return {nb::cast<std::string>(text)};
  }
  PyErr_Clear();
  refuse(key, object);
}

}  // namespace

std::vector<simulation::Setting> settings_of(nb::handle mapping) {
  nb::dict dict;
  try {
    dict.update(nb::borrow<nb::object>(mapping));
  } catch (const nb::python_error&) {
    throw ModelError(std::string(kOrigin) + ": " + nb::cast<std::string>(nb::repr(mapping)) +
                     ": must be a table, for example {\"option.timestep\": 0.002}");
  }
  std::vector<simulation::Setting> settings;
  for (const auto [name, object] : dict) {
    const auto key = nb::cast<std::string>(nb::str(name));
    settings.push_back({key, value_of(object, key), kOrigin});
  }
  return settings;
}

}  // namespace tendril::python
