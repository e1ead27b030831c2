#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fusewright {

/// One extent of a shape: a number, or a polynomial with integer coefficients over named symbols ("2*batch + 1").
/// Divisions that are not exact, and products of very many symbols, become symbols of their own, named by their text
/// ("floordiv(n, 2)"); substitute evaluates them. Numbers that leave the range of int64 stay at its end.
/// Equal polynomials compare equal; comparison of unequal ones says nothing about bound values.
class Dim {
 public:
  Dim() = default;
  Dim(std::int64_t value) : constant_(value) {}  // NOLINT: a number is a dim
  static Dim symbol(const std::string& name);

  bool is_constant() const { return polynomial_ == nullptr; }
  /// The number. The dim must be constant (checked).
  std::int64_t value() const;
  std::optional<std::int64_t> constant() const;

  /// Replaces symbols by numbers; those without an entry stay.
  Dim substitute(const std::map<std::string, std::int64_t>& bindings) const;
  /// Names of the symbols in it, those inside divisions included, sorted.
  std::vector<std::string> symbols() const;
  std::string to_string() const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend Dim floor_div(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b);
  std::uint64_t hash() const;

 private:
  // A monomial is its sorted symbol names (with repeats); the empty one is the constant term.
  using Monomial = std::vector<std::string>;
  using Terms = std::map<Monomial, std::int64_t>;
  struct Polynomial;

  static Dim make(Polynomial polynomial);
  static Dim opaque(const char* function, const Dim& a, const Dim& b);
  Polynomial polynomial() const;

  std::int64_t constant_ = 0;
  std::shared_ptr<const Polynomial> polynomial_;  // null for a plain number, by far the common case
};

}  // namespace fusewright
