#pragma once

#include <array>
#include <span>
#include <string_view>

#include "tendril/notice.hpp"

namespace tendril {

inline constexpr int kExitUsage = 2, kExitInputOutput = 4;

/// A kind of error, and words by which the texts of its errors are recognized. Without words: what
/// no other kind is, by the exit code.
struct ErrorKind {
  MessageKind message;
  std::array<std::string_view, 5> words{};
  int exit_code = kExitUsage;
};

/// In the order in which printed lines are compared with them.
[[nodiscard]] std::span<const ErrorKind> error_kinds() noexcept;
[[nodiscard]] std::span<const MessageKind> exit_kinds() noexcept;

/// The kind of an error by its text, else by the exit code of the program.
[[nodiscard]] const MessageKind& error_kind_of(std::string_view text, int exit_code) noexcept;

/// The beginning of docs/reference/messages.md, and the text below one of its headings.
[[nodiscard]] std::string_view message_page_head() noexcept;
[[nodiscard]] std::string_view message_page_text(std::string_view heading) noexcept;

}  // namespace tendril
