#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fusewright/support/diagnostic.hpp"

namespace fusewright::frontend_hlo {

// All texts are views into the source, which the module keeps alive. Names stand without their `%`.

/// An extent as written. `?` and `<=n` have no fixed size when the file is read.
struct ShapeDim {
  std::int64_t extent = 0;  ///< the number, the bound of `<=n`; meaningless for `?`
  bool bounded = false;     ///< `<=n`
  bool unknown = false;     ///< `?`
};

/// `f32[2,3]{1,0}`, `token[]` or a tuple of shapes. `opaque[]` and element types we do not know are kept as written.
struct ShapeTree {
  bool is_tuple = false;
  std::string_view element_type;  ///< "f32", "token", "opaque", ...; arrays only
  std::vector<ShapeDim> dims;
  std::vector<std::int64_t> minor_to_major;  ///< empty where no layout is written (or rank is below 2)
  std::vector<ShapeTree> elements;           ///< tuples only
  std::string_view text;

  bool is_token() const { return !is_tuple && element_type == "token"; }
};

struct Attribute {
  std::string_view name;
  std::string_view value;  ///< as written: `{0,1}`, `%body`, `"text"`
};

struct Operand {
  std::string_view name;
  std::optional<ShapeTree> shape;  ///< where it is written before the name
};

struct Instruction {
  std::string_view name;
  std::string_view opcode;
  ShapeTree shape;
  bool has_shape = false;  ///< it may be left out where it follows from the operands
  std::vector<Operand> operands;
  std::string_view literal;           ///< constants: what stands in the parentheses
  std::int64_t parameter_number = 0;  ///< parameters only
  std::vector<Attribute> attributes;
  std::string_view text;  ///< from its name to its last attribute
  bool is_root = false;

  const Attribute* find(std::string_view attribute) const {
    for (const Attribute& a : attributes)
      if (a.name == attribute) return &a;
    return nullptr;
  }
};

struct Computation {
  std::string_view name;
  bool is_entry = false;
  std::vector<Instruction> instructions;
  std::uint32_t root = 0;  ///< the one marked ROOT, else the last
};

struct Module {
  SourcePtr source;
  std::string_view name;  ///< empty where the file has no header
  std::vector<Attribute> attributes;
  std::vector<Computation> computations;
  std::uint32_t entry = 0;  ///< the one marked ENTRY, else the last

  Span span(std::string_view text) const {
    const auto begin = static_cast<std::uint32_t>(text.data() - source->text.data());
    return {source, begin, begin + static_cast<std::uint32_t>(text.size())};
  }
};

}  // namespace fusewright::frontend_hlo
