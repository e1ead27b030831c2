#pragma once

#include <cctype>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fusewright::tests {

/// Makes texts that are nearly right from texts that are: tokens are left out, doubled, exchanged, put elsewhere, or
/// replaced by a token of any sample or by one out of a list of unpleasant ones. The same seed gives the same texts
/// everywhere.
class Mutator {
 public:
  Mutator(const std::vector<std::string>& samples, std::uint32_t seed) : rng_(seed), words_(unpleasant()) {
    for (const std::string& sample : samples)
      for (std::string& token : tokens_of(sample))
        if (std::isspace(static_cast<unsigned char>(token[0])) == 0) words_.push_back(std::move(token));
  }

  std::size_t below(std::size_t n) { return rng_() % n; }

  std::string operator()(const std::string& sample) {
    if (below(16) == 0) return sample.substr(0, below(sample.size() + 1));
    std::vector<std::string> tokens = tokens_of(sample);
    for (std::size_t changes = 1 + below(3); changes > 0 && !tokens.empty(); --changes) change(tokens);
    std::string out;
    for (const std::string& token : tokens) out += token;
    return out;
  }

 private:
  static const std::vector<std::string>& unpleasant() {
    static const std::vector<std::string> words{"-1",
                                                "0",
                                                "1",
                                                "2147483648",
                                                "4294967296",
                                                "9223372036854775807",
                                                "-9223372036854775808",
                                                "1e999",
                                                "nan",
                                                "99999999999999999999",
                                                "(",
                                                ")",
                                                "[",
                                                "]",
                                                "{",
                                                "}",
                                                ",",
                                                "=",
                                                ":",
                                                "\"",
                                                "'",
                                                "/*",
                                                "//",
                                                "#",
                                                "%",
                                                "?",
                                                "*",
                                                "~",
                                                "..",
                                                "\xff",
                                                std::string(1, '\0'),
                                                std::string(300, '('),
                                                std::string(300, 'x')};
    return words;
  }

  // Words and numbers, runs of blanks, single marks.
  static std::vector<std::string> tokens_of(const std::string& text) {
    const auto kind = [](char c) {
      const auto u = static_cast<unsigned char>(c);
      return std::isspace(u) != 0 ? 0 : std::isalnum(u) != 0 || c == '_' || c == '-' || c == '.' ? 1 : 2;
    };
    std::vector<std::string> tokens;
    for (const char c : text) {
      if (tokens.empty() || kind(c) == 2 || kind(c) != kind(tokens.back()[0])) tokens.emplace_back();
      tokens.back() += c;
    }
    return tokens;
  }

  void change(std::vector<std::string>& tokens) {
    const std::size_t at = below(tokens.size()), other = below(tokens.size());
    switch (below(6)) {
      case 0: tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(at)); break;
      case 1: tokens.insert(tokens.begin() + static_cast<std::ptrdiff_t>(other), std::string(tokens[at])); break;
      case 2: std::swap(tokens[at], tokens[other]); break;
      case 3: {
        const std::size_t end = std::min(tokens.size(), at + 1 + below(12));
        const std::vector<std::string> part(tokens.begin() + static_cast<std::ptrdiff_t>(at),
                                            tokens.begin() + static_cast<std::ptrdiff_t>(end));
        tokens.insert(tokens.begin() + static_cast<std::ptrdiff_t>(other), part.begin(), part.end());
        break;
      }
      case 4: tokens[at] = unpleasant()[below(unpleasant().size())]; break;
      default: tokens[at] = words_[below(words_.size())];
    }
  }

  std::mt19937 rng_;
  std::vector<std::string> words_;
};

}  // namespace fusewright::tests
