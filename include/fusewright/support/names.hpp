#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fusewright {

/// Whether all of `text` is described by `pattern`, where `*` stands for any characters and `?` for one.
bool glob_matches(std::string_view pattern, std::string_view text);

/// What to say of a name that is not among those that there are: "the model has no input 'imgae'; did you mean
/// 'image'?", or with the first of them listed where none is near.
std::string unknown_name(const std::string& thing, const std::string& name, const std::vector<std::string>& known);

}  // namespace fusewright
