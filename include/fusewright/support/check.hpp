#pragma once

#include <sstream>
#include <string>

namespace fusewright {

/// Prints file, line, condition and message to stderr and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& message);

namespace detail {
struct CheckStream {
  const char* file;
  int line;
  const char* condition;
  std::ostringstream message;

  template <class T>
  CheckStream& operator<<(const T& value) {
    message << value;
    return *this;
  }
  [[noreturn]] ~CheckStream() { check_failed(file, line, condition, message.str()); }
};
}  // namespace detail

}  // namespace fusewright

/// Guards our own invariants, never a user's input. Always on: `FW_CHECK(a < b) << "a is " << a;`
#define FW_CHECK(condition) \
  if (condition) [[likely]] \
    ;                       \
  else                      \
    ::fusewright::detail::CheckStream { __FILE__, __LINE__, #condition, {} }
