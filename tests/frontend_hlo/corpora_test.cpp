#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>

#include "tests/frontend_hlo/hlo.hpp"
#include "tests/main/paths.hpp"

using namespace fusewright;
using namespace fusewright::tests;
namespace fs = std::filesystem;

namespace {

std::vector<fs::path> hlo_files(const fs::path& root) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.path().extension() == ".hlo") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Imports, verifies, prints and reads back; false where the text is refused, which then says so with a place.
bool goes_through(const std::string& name, const std::string& text, const frontend_hlo::ImportOptions& options = {}) {
  INFO(name);
  const auto source = std::make_shared<const SourceText>(SourceText{name, text});
  const auto graphs = frontend_hlo::import_hlo(source, builtin_table(), options);
  if (!graphs) {
    REQUIRE(!graphs.error().diagnostics.empty());
    for (const Diagnostic& diagnostic : graphs.error().diagnostics) {
      CHECK(!diagnostic.message.empty());
      CHECK(diagnostic.span.valid());
    }
    return false;
  }
  for (const graph::Graph& graph : *graphs) {
    const Status status = graph::verify(graph);
    INFO((status ? "" : print_error(status.error())));
    REQUIRE(status.has_value());
    const auto printed = frontend_hlo::export_hlo(graph);
    INFO((printed ? "" : print_error(printed.error())));
    REQUIRE(printed.has_value());
    const auto back = frontend_hlo::import_hlo(hlo_source(*printed), builtin_table());
    INFO((back ? "" : print_error(back.error())));
    REQUIRE(back.has_value());
    CHECK(back->front().inputs.size() == graph.inputs.size());
    CHECK(back->front().outputs.size() == graph.outputs.size());
  }
  return true;
}

}  // namespace

TEST_CASE("the examples import", "[hlo]") {
  for (const fs::path& path : hlo_files(source_dir() / "examples")) CHECK(goes_through(path.string(), read_text(path)));
}

TEST_CASE("every HLO file of the corpora imports or says why not", "[hlo]") {
  const auto corpora = corpora_dir();
  if (!corpora) {
    WARN("there are no corpora here");
    return;
  }
  frontend_hlo::ImportOptions options;
  options.dims["*"] = 4;
  std::map<std::string, std::pair<int, int>> folders;  // files that import, files
  int imported = 0, files = 0;
  for (const char* folder : {"hlo", "twins"}) {
    for (const fs::path& path : hlo_files(*corpora / folder)) {
      const bool fine = goes_through(path.string(), read_text(path), options);
      std::string name = fs::relative(path, *corpora).string();
      std::string top;
      for (std::size_t slash = 0, depth = 0; depth < 3 && slash != std::string::npos; ++depth) {
        slash = name.find('/', slash + 1);
        if (slash != std::string::npos && std::string(folder) == "hlo") top = name.substr(0, slash);
      }
      auto& [good, all] = folders[top.empty() ? folder : top];
      good += fine;
      ++all;
      imported += fine;
      ++files;
      for (const char* must : {"layer_norm", "mean_axis", "depthwise_conv", "topk_logits", "resnet50_keras"})
        if (path.filename().string().starts_with(must)) CHECK(fine);
      if (std::string(folder) == "twins") CHECK(fine);
    }
  }
  for (const auto& [folder, count] : folders)
    std::cout << folder << ": " << count.first << " of " << count.second << " import\n";
  std::cout << "in all: " << imported << " of " << files << "\n";
  CHECK(imported * 100 >= files * 80);
}

TEST_CASE("broken texts are refused, never a crash", "[hlo]") {
  std::vector<std::string> seeds;
  for (const fs::path& path : hlo_files(source_dir() / "examples")) seeds.push_back(read_text(path));
  if (const auto corpora = corpora_dir())
    for (const fs::path& path : hlo_files(*corpora / "hlo"))
      if (fs::file_size(path) < 4000) seeds.push_back(read_text(path));
  std::mt19937 random(1);
  const std::string alphabet = "{}()[],=%\"/*#-_. 0x9fS\n\\:?<>";
  const auto below = [&](std::size_t n) { return random() % std::max<std::size_t>(n, 1); };
  for (int round = 0; round < 3000; ++round) {
    std::string text = seeds[below(seeds.size())];
    if (text.size() > 8000) text.resize(8000);
    switch (below(4)) {
      case 0: text.resize(below(text.size())); break;
      case 1: text.erase(below(text.size()), 1 + below(20)); break;
      case 2: text.insert(below(text.size()), text.substr(below(text.size()), below(60))); break;
      default: break;
    }
    for (std::size_t i = below(4); i > 0 && !text.empty(); --i)
      text[below(text.size())] = alphabet[below(alphabet.size())];
    const auto graphs = frontend_hlo::import_hlo(hlo_source(text), builtin_table());
    if (graphs) {
      for (const graph::Graph& graph : *graphs) CHECK(graph::verify(graph).has_value());
    } else {
      CHECK(!print_error(graphs.error()).empty());
    }
  }
}
