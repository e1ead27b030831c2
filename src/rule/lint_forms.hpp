#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "src/rule/lint_passes.hpp"

/// Expressions of conditions in one form, so that what is equal is written alike.
namespace fusewright::rule {

/// By the text of an expression: the literal that it surely is.
using Known = std::map<std::string, ExprPtr>;

/// With tensors that surely have one shape, or one dtype, under one name, with what is known put in, and with what that
/// leaves constant worked out: `len(shape(x))` is `rank(x)`, `contains([1, 2], a)` is `a in [1, 2]`, `prod([2, 3])`
/// is 6.
ExprPtr plain(const ops::Expr& expr, const Facts& facts, const Known& known);

/// The expression that stands for a value; `?` for a tensor.
ExprPtr literal_of(const ops::AttrValue& value);
/// Numbers, texts, truths, and lists of them.
bool is_literal(const ops::Expr& expr);
bool is_call(const ops::Expr& expr, std::string_view name, std::size_t args);
bool is_one_of(const std::string& name, std::initializer_list<std::string_view> names);
std::string text_of(const ops::Expr& expr);

ExprPtr integer(std::int64_t value);
ExprPtr call(std::string function, std::vector<ExprPtr> args);
ExprPtr binary(std::string op, ExprPtr left, ExprPtr right);
ExprPtr item_of(ExprPtr list, std::int64_t index);

}  // namespace fusewright::rule
