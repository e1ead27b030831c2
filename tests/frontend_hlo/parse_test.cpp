#include <catch2/catch.hpp>

#include "fusewright/frontend/hlo/parse.hpp"

TEST_CASE("a module without text is refused", "[hlo]") {
  CHECK(!fusewright::frontend_hlo::parse_hlo(std::make_shared<const fusewright::SourceText>()));
}
