#include <catch2/catch.hpp>

#include "fusewright/driver/compile.hpp"
#include "tests/main/paths.hpp"

// What a plan says of the model without fusion, against a plan without fusion.

namespace fusewright {

TEST_CASE("a plan knows the kernels, bytes and seconds of the model that is not fused", "[driver]") {
  for (const char* model : {"elementwise.hlo", "digits/model.onnx", "encoder/model.hlo"}) {
    INFO(model);
    driver::CompileOptions options;
    options.model = (tests::source_dir() / "examples" / model).string();
    options.dims = {{"*", 8}};
    const auto fused = driver::plan(options);
    options.fuse = false;
    const auto alone = driver::plan(options);
    if (!fused) FAIL(print_error(fused.error()));
    if (!alone) FAIL(print_error(alone.error()));
    const plan::Plan &said = *fused->plan, &made = *alone->plan;
    CHECK(said.unfused_kernels == static_cast<std::int64_t>(made.groups.size()));
    CHECK(said.unfused_kernels > static_cast<std::int64_t>(said.groups.size()));
    CHECK(said.unfused_bytes == made.unfused_bytes);
    CHECK(said.unfused_seconds_estimated == Approx(made.unfused_seconds_estimated).epsilon(1e-9));
  }
}

}  // namespace fusewright
