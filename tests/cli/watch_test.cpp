#include <catch2/catch.hpp>
#include <csignal>

#include "watched.hpp"

// `fusewright watch`: saves of rule files, as editors make them.

using namespace fusewright::tests;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// Instead of the library's: nothing elementwise fuses but what this names.
const std::string kNarrow = "fuse elementwise kernel(loop) {\n  match exp+ as body\n}\n";

}  // namespace

TEST_CASE("watch says what each save changes, and keeps the last plan over an error", "[cli]") {
  Scratch scratch;
  const std::string file = scratch.write("rules/mine.fuse", "# nothing yet\n");
  Watched watch({example("elementwise.hlo"), "--rules", scratch.file("rules"), "--json"});
  const json first = watch.event();
  CHECK(first["event"] == "plan");
  CHECK(first["before"].is_null());
  CHECK(first["after"]["kernels"] >= 1);
  CHECK(first["added"].empty());

  scratch.write("rules/mine.fuse", kNarrow);
  const json narrowed = watch.event_of(file);
  INFO(narrowed.dump(2));
  CHECK(narrowed["before"] == first["after"]);
  CHECK(narrowed["after"]["kernels"] > first["after"]["kernels"]);
  REQUIRE(narrowed["added"].size() + narrowed["changed"].size() > 0);
  for (const json& group : narrowed["added"])
    for (const char* field : {"name", "fuse_rule", "rewrites", "nodes", "bytes", "seconds_estimated"})
      CHECK(group.contains(field));

  scratch.write("rules/mine.fuse", "fuse elementwise kernel(loop) {\n  match exp+ as\n}\n");
  const json broken = watch.event_of(file);
  CHECK(broken["event"] == "error");
  CHECK(broken["kept"] == true);
  CHECK(broken["diagnostics"][0]["line"] == 3);

  // As many editors save: another file, renamed to the name.
  scratch.write("rules/.mine.fuse.swp", kNarrow);
  fs::rename(scratch.file("rules/.mine.fuse.swp"), file);
  const json mended = watch.event_of(file);
  CHECK(mended["after"] == narrowed["after"]);
  CHECK((mended["added"].empty() && mended["removed"].empty() && mended["changed"].empty()));

  // A new folder with a file, and a file that is deleted.
  scratch.write("rules/deep/more.fuse", "op twice(x) = x + x\n");
  const std::string deep = scratch.file("rules/deep/more.fuse");
  CHECK(watch.event_of(deep)["after"] == narrowed["after"]);
  fs::remove(file);
  const json back = watch.event_of(file);
  CHECK(back["after"] == first["after"]);
  CHECK(back["removed"].size() + back["changed"].size() > 0);
  fs::remove(deep);  // none is left
  CHECK(watch.event_of(deep)["after"] == first["after"]);
  CHECK(watch.end(SIGINT) == 130);
}

TEST_CASE("watch prints text, and ends at once where the model cannot be read", "[cli]") {
  Scratch scratch;
  scratch.write("rules/mine.fuse", kNarrow);
  Watched watch({example("elementwise.hlo"), "--rules", scratch.file("rules")});
  CHECK(watch.line().find(" kernels, ") != std::string::npos);
  scratch.write("rules/mine.fuse", "# nothing\n");
  std::string text = watch.line();
  CHECK(text.find("saved: ") == 0);
  while (text.find(" kernels, ") == std::string::npos) text += watch.line();
  CHECK(text.find(" -> ") != std::string::npos);
  CHECK(text.find("rules") != std::string::npos);
  fs::remove(scratch.file("rules/mine.fuse"));
  CHECK(watch.line().find("gone: ") == 0);
  CHECK(watch.end(SIGINT) == 130);

  scratch.write("rules/mine.fuse", "# nothing\n");
  const Ran none = run("watch nowhere.onnx --rules " + scratch.file("rules"));
  CHECK(none.code == 2);
  CHECK(none.err.find("nowhere.onnx") != std::string::npos);
}
