#include "python/src/recording_sink.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tendril/recording/rollout_blocks.hpp"
#include "tendril/recording/rollout_format.hpp"

namespace tendril::python {
namespace {

nb::object view(std::span<const std::byte> bytes) {
  auto* const data = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
  return nb::steal(
      PyMemoryView_FromMemory(data, static_cast<Py_ssize_t>(bytes.size()), PyBUF_READ));
}

const char* dtype_of(format::Column::Type type) {
  switch (type) {
    case format::Column::Type::Int64:
      return "<i8";
    case format::Column::Type::Int32:
      return "<i4";
    case format::Column::Type::Float64:
      break;
  }
  return "<f8";
}

nb::tuple tuple_of(const std::vector<std::size_t>& numbers) {
  nb::list list;
  for (const std::size_t number : numbers) list.append(number);
  return nb::tuple(list);
}

/// Returns what `create` writes once.
nb::dict description(const RolloutLayout& layout, const RolloutAttributes& attributes,
                     std::span<const std::byte> model) {
  nb::dict texts, numbers;
  for (const auto& [name, value] : attributes) {
    nb::dict& into = std::holds_alternative<std::string>(value) ? texts : numbers;
    std::visit([&](const auto& v) { into[name.c_str()] = nb::cast(v); }, value);
  }
  numbers["format_version"] = format::kVersion;
  numbers["integration_interval"] = layout.integration_interval;
  nb::list columns;
  for (const format::Column& column : format::columns(layout)) {
    columns.append(nb::make_tuple(column.path, dtype_of(column.type), tuple_of(column.shape),
                                  column.chunk_rows));
  }
  nb::dict all;
  all["group"] = format::kGroup;
  all["format"] = format::kName;
  all["texts"] = texts;
  all["numbers"] = numbers;
  all["columns"] = columns;
  all["model"] = view(model);
  all["outcome"] = format::kRunning;
  all["outcome_size"] = format::kOutcomeSize;
  all["part_suffix"] = format::kPartSuffix;
  return all;
}

/// The compiled functions of the open file.
class PythonColumns final : public ColumnFile {
 public:
  PythonColumns(const nb::object& file, const RolloutLayout& layout)
      : flush_(file.attr("flush")),
        write_rows_(file.attr("rows").attr("write")),
        flush_rows_(file.attr("rows").attr("flush")),
        all_(nb::module_::import_("h5py.h5s").attr("ALL")),
        row_count_(file.attr("row_count")),
        count_(nb::cast<nb::ndarray<std::int64_t, nb::device::cpu>>(row_count_).data()) {
    const auto columns = format::columns(layout);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const nb::object dataset = file.attr("datasets")[i];
      datasets_.push_back(
          {columns[i].shape, dataset.attr("set_extent"), dataset.attr("write_direct_chunk")});
    }
  }

  void set_rows(std::size_t column, std::uint64_t rows) override {
    whole([&] { datasets_[column].set_extent(position(column, rows, false)); });
  }

  void write_chunk(std::size_t column, std::uint64_t first_row,
                   const BytePlaneEncoder::Chunk& chunk) override {
    whole([&] {
      datasets_[column].write(position(column, first_row, true), view(chunk.bytes),
                              chunk.filter_mask);
    });
  }

  void commit(std::int64_t rows) override {
    whole([&] { flush_(); });
    *count_ = rows;
    whole([&] { write_rows_(all_, all_, row_count_); });
    whole([&] { flush_rows_(); });
  }

  /// Raises, after a block, what a signal handler has raised meanwhile.
  void raise_postponed() {
    if (postponed_) std::rethrow_exception(std::exchange(postponed_, nullptr));
  }

 private:
  struct Dataset {
    std::vector<std::size_t> shape;
    nb::object set_extent, write;
  };

  /// Calls h5py with the lock. What is no Exception, such as the KeyboardInterrupt of Ctrl-C in
  /// what h5py does in Python, is postponed, and the call repeated: blocks are never written by
  /// half.
  template <class Call>
  void whole(const Call& call) {
    const nb::gil_scoped_acquire locked;
    for (;;) {
      try {
        return static_cast<void>(call());
      } catch (nb::python_error& error) {
        if (error.matches(PyExc_Exception)) throw;
        postponed_ = std::current_exception();
      }
    }
  }

  /// The size of a dataset with these rows, or the place of a row in it.
  [[nodiscard]] nb::tuple position(std::size_t column, std::uint64_t row, bool is_start) const {
    std::vector<std::size_t> numbers{row};
    for (const std::size_t extent : datasets_[column].shape)
      numbers.push_back(is_start ? 0 : extent);
    return tuple_of(numbers);
  }

  std::vector<Dataset> datasets_;
  nb::object flush_, write_rows_, flush_rows_, all_, row_count_;
  std::int64_t* count_;  // of the array row_count_
  std::exception_ptr postponed_;
};

class PythonSink final : public RowSink {
 public:
  PythonSink(nb::object file, const RolloutLayout& layout)
      : file_(std::move(file)),
        columns_(file_, layout),
        block_(nb::cast<std::string>(nb::str(file_.attr("name"))), layout),
        writer_(layout, columns_) {}

  ~PythonSink() override {
    const nb::gil_scoped_acquire locked;
    try {
      close("aborted");
    } catch (...) {
      // Whoever desired to know called `close`.
    }
    nb::object last = std::move(file_);
  }

  void append(const RolloutRow& row) override {
    block_.append(row);
    if (block_.full()) write();
  }

  void close(const std::string& outcome) override {
    if (closed_) return;
    if (!block_.empty()) write();
    attempt("closing", [&] {
      const nb::gil_scoped_acquire locked;
      file_.attr("close")(outcome);
    });
    closed_ = true;
  }

 private:
  void write() {
    attempt("writing", [&] { writer_.write(block_); });
    block_.clear();
    columns_.raise_postponed();
  }

  /// Throws RecordingError for a failure of h5py. Then the file is abandoned: closing it would put
  /// out what no longer belongs together, and so it remains like that of a killed process.
  template <class Call>
  void attempt(const char* what, const Call& call) {
    try {
      call();
    } catch (nb::python_error& error) {
      const nb::gil_scoped_acquire locked;
      closed_ = true;
      file_.attr("abandon")();
      file_.inc_ref();
      if (!error.matches(PyExc_Exception)) throw;
      const nb::object failure = file_.attr("failure")(what, error.value());
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(failure.ptr())), failure.ptr());
      throw nb::python_error();
    }
  }

  nb::object file_;
  PythonColumns columns_;
  RowBlock block_;
  BlockWriter writer_;
  bool closed_ = false;
};

}  // namespace

simulation::OpenRecording python_recording(nb::object create) {
  return
      [create = std::move(create)](const RolloutLayout& layout, const RolloutAttributes& attributes,
                                   std::span<const std::byte> model) {
        const nb::gil_scoped_acquire locked;
        return std::make_unique<PythonSink>(create(description(layout, attributes, model)), layout);
      };
}

}  // namespace tendril::python
