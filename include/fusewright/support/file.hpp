#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "fusewright/support/result.hpp"

namespace fusewright {

/// Writes `parts` one after the other as one file. It appears under its name only when it is complete; what had the
/// name before stays until then, also where the program is ended halfway.
/// Errors: naming the path and why; kResource for a full or failing disk.
Status write_file(const std::string& path, std::initializer_list<std::string_view> parts);

}  // namespace fusewright
