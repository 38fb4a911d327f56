#pragma once

#include <array>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace tendril::test {

inline constexpr int kThreads = 4;

/// Calls `work(i)` on as many threads at once; their exceptions are failures of the test.
inline void at_once(const std::function<void(int)>& work) {
  std::array<std::exception_ptr, kThreads> errors;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        try {
          work(i);
        } catch (...) {
          errors[static_cast<std::size_t>(i)] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace tendril::test
