#pragma once

#include <string>
#include <vector>

namespace fusewright::lsp {

struct Options {
  /// The folders or files that every rule file builds on, in this order: the built-in library, then what the user
  /// names.
  std::vector<std::string> rules;
};

/// A language server for rule files: speaks the Language Server Protocol (3.17) over two open files until it is told
/// to exit or the input ends. A file is checked together with the library, with what it includes, and with those files
/// of its folder that declare what it uses; text that is being edited counts instead of what is on disk.
/// @returns the exit code that the protocol asks for: 0 after `shutdown`, else 1.
int serve(const Options& options, int in, int out);

}  // namespace fusewright::lsp
