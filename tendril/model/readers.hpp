#pragma once

// Private to tendril/model: from the fields of a file to descriptions.

#include <functional>
#include <span>
#include <string>

#include "tendril/model/controller_config.hpp"
#include "tendril/model/toml_fields.hpp"

namespace tendril {

/// A file that is read: its fields, and what reads the other files that it names.
struct FileContents {
  Fields top;
  std::string text;  ///< TOML, overrides included
  /// The text of a file by the name that is in the fields. Throws ModelError.
  std::function<std::string(const std::string& name)> read;
  /// What the text includes that is not of the file itself, for the robots that it names.
  std::span<const Override> overrides = {};
};

/// The [controller] table, an empty one when there is none.
[[nodiscard]] ControllerConfig read_controller(const FileContents& file);

}  // namespace tendril
