#include <catch2/catch.hpp>
#include <tao/pegtl/contrib/analyze.hpp>

#include "grammar/fuse_grammar.hpp"

TEST_CASE("the grammar of rule files has no rule that loops without progress", "[rule]") {
  CHECK(tao::pegtl::analyze<fusewright::grammar::fuse::file>() == 0);
}
