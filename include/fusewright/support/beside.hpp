#pragma once

#include <future>
#include <system_error>
#include <utility>

namespace fusewright {

/// What a function returns, computed in a thread of its own while the caller goes on; where the system has no more
/// threads, when it is asked for. `get` throws what the function throws. The end of the future waits for the function,
/// which may refer to whatever lives longer.
template <class Function>
[[nodiscard]] auto beside(Function function) {
  try {
    return std::async(std::launch::async, function);
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, std::move(function));
  }
}

}  // namespace fusewright
