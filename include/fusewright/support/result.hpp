#pragma once

#include <expected>
#include <string>
#include <utility>
#include <vector>

#include "fusewright/support/diagnostic.hpp"

namespace fusewright {

/// What kind of failure, which decides the exit code: 2 for input, 3 for resources, 1 for a failed check.
enum class ErrorKind { kInput, kUnsupported, kResource, kCheckFailed };

/// At least one diagnostic of severity kError.
struct Error {
  ErrorKind kind = ErrorKind::kInput;
  std::vector<Diagnostic> diagnostics;
};

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

/// A failure with one message, and a place if there is one.
[[nodiscard]] std::unexpected<Error> fail(ErrorKind kind, std::string message, Span span = {});
[[nodiscard]] inline std::unexpected<Error> fail(std::string message, Span span = {}) {
  return fail(ErrorKind::kInput, std::move(message), std::move(span));
}
/// The same failure with a place and context in front ("node 'conv1': ...") where it had none.
[[nodiscard]] Error with_context(Error error, const std::string& context, Span span = {});
/// The same failure at this place where it had none.
[[nodiscard]] Error with_place(Error error, const Span& span);

std::string print_error(const Error& error);

}  // namespace fusewright

/// `FW_TRY(auto x, f());` binds the value or returns the error to the caller.
#define FW_TRY_CONCAT2(a, b) a##b
#define FW_TRY_CONCAT(a, b) FW_TRY_CONCAT2(a, b)
#define FW_TRY_IMPL(tmp, declaration, ...)                        \
  auto tmp = (__VA_ARGS__);                                       \
  if (!tmp) [[unlikely]]                                          \
    return std::unexpected<::fusewright::Error>(std::move(tmp).error()); \
  declaration = *std::move(tmp)
#define FW_TRY(declaration, ...) FW_TRY_IMPL(FW_TRY_CONCAT(fw_try_, __LINE__), declaration, __VA_ARGS__)
/// `FW_TRY_STATUS(f());` for Status.
#define FW_TRY_STATUS(...)                                  \
  if (auto fw_status = (__VA_ARGS__); !fw_status) [[unlikely]] \
  return std::unexpected<::fusewright::Error>(std::move(fw_status).error())
