#pragma once

#include <functional>
#include <string>

#include "src/lsp/text.hpp"
#include "src/lsp/workspace.hpp"

/// What the server answers about a place in a file: the `result` of each request.
namespace fusewright::lsp {

/// The file that is asked about, with what it is checked with.
struct Subject {
  const Analysis& analysis;
  const ops::OpTable& table;  ///< of the last rules without errors, else the built-in operators
  std::function<std::string(const std::string& path)> uri;

  const File& file() const { return *analysis.files.front(); }
  const Outline& outline() const { return file().outline; }
};

Json hover(const Subject& subject, std::size_t offset);
Json definition(const Subject& subject, std::size_t offset);
Json references(const Subject& subject, std::size_t offset, bool with_declaration);
Json document_symbols(const Outline& outline);
Json completion(const Subject& subject, std::size_t offset);

}  // namespace fusewright::lsp
