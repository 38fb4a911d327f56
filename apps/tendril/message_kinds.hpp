#pragma once

#include <array>
#include <span>
#include <string_view>

#include "tendril/notice.hpp"

namespace tendril {

/// A kind of error, and words by which a printed error is recognized: errors carry no codes.
struct ErrorKind {
  MessageKind message;
  std::array<std::string_view, 4> words{};
};

/// In the order in which printed lines are compared with them.
[[nodiscard]] std::span<const ErrorKind> error_kinds() noexcept;
[[nodiscard]] std::span<const MessageKind> exit_kinds() noexcept;

/// The beginning of docs/reference/messages.md, and the text below one of its headings.
[[nodiscard]] std::string_view message_page_head() noexcept;
[[nodiscard]] std::string_view message_page_text(std::string_view heading) noexcept;

}  // namespace tendril
