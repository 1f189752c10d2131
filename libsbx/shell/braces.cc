// SPDX-License-Identifier: Apache-2.0
// Braces: pairs are found in one pass, then each is multiplied out from the left.
#include "shell/braces.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "base/ascii.h"
#include "shell/parser.h"

namespace sbx::shell {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);
constexpr std::size_t kMaxAtoms = 4096;

// One unquoted byte, or one part.
struct Atom {
  const Part* part = nullptr;
  char c = 0;
};

struct Pair {
  std::size_t close = kNone;
  std::vector<std::size_t> commas;  // its own, not those of pairs inside
};

class Expansion {
 public:
  Expansion(const std::vector<Part>& parts, std::size_t max) : max_(max) {
    for (const Part& part : parts) {
      if (part.kind != PartKind::kLiteral) {
        atoms_.push_back({&part, 0});
        continue;
      }
      for (const char c : part.text) atoms_.push_back({nullptr, c});
    }
    find_pairs();
  }

  std::optional<std::vector<Pieces>> run() {
    if (atoms_.size() > kMaxAtoms) return std::nullopt;
    std::vector<Pieces> words(1);
    if (!expand(0, atoms_.size(), 0, words)) return std::nullopt;
    return words;
  }

 private:
  void find_pairs() {
    pairs_.resize(atoms_.size());
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < atoms_.size(); ++i) {
      if (atoms_[i].part != nullptr) continue;
      if (atoms_[i].c == '{') open.push_back(i);
      if (open.empty()) continue;
      if (atoms_[i].c == ',') pairs_[open.back()].commas.push_back(i);
      if (atoms_[i].c == '}') {
        pairs_[open.back()].close = i;
        open.pop_back();
      }
    }
  }

  // Appends each way to read [begin, end) to each of `words`.
  bool expand(std::size_t begin, std::size_t end, int depth, std::vector<Pieces>& words) {
    if (depth > kMaxDepth) return false;
    for (std::size_t i = begin; i < end;) {
      const Pair& pair = pairs_[i];
      std::vector<Pieces> choices;
      if (pair.close != kNone && !pair.commas.empty()) {
        std::size_t from = i + 1;
        for (std::size_t n = 0; n <= pair.commas.size(); ++n) {
          const std::size_t to = n < pair.commas.size() ? pair.commas[n] : pair.close;
          std::vector<Pieces> inner(1);
          if (!expand(from, to, depth + 1, inner)) return false;
          for (Pieces& one : inner) choices.push_back(std::move(one));
          if (choices.size() > max_) return false;
          from = to + 1;
        }
      } else if (pair.close != kNone && !add_sequence(i + 1, pair.close, choices)) {
        return false;
      }
      if (choices.empty()) {
        for (Pieces& word : words) append(word, atoms_[i]);
        ++i;
        continue;
      }
      if (!multiply(words, choices)) return false;
      i = pair.close + 1;
    }
    return true;
  }

  bool multiply(std::vector<Pieces>& words, const std::vector<Pieces>& choices) const {
    if (words.size() * choices.size() > max_) return false;
    std::vector<Pieces> product;
    for (const Pieces& word : words) {
      for (const Pieces& choice : choices) {
        product.push_back(word);
        for (const Piece& piece : choice) {
          if (piece.part != nullptr) {
            product.back().push_back(piece);
          } else {
            text_of(product.back()) += piece.text;
          }
        }
      }
    }
    words = std::move(product);
    return true;
  }

  static std::string& text_of(Pieces& word) {
    if (word.empty() || word.back().part != nullptr) word.emplace_back();
    return word.back().text;
  }

  static void append(Pieces& word, const Atom& atom) {
    if (atom.part != nullptr) {
      word.push_back({atom.part, {}});
    } else {
      text_of(word) += atom.c;
    }
  }

  // {1..9}, {1..9..2}, {a..e}; none of them: no choices. False: too many.
  bool add_sequence(std::size_t begin, std::size_t end, std::vector<Pieces>& choices) const {
    static constexpr std::size_t kLongest = 64;
    if (end - begin > kLongest) return true;
    std::string text;
    for (std::size_t i = begin; i < end; ++i) {
      if (atoms_[i].part != nullptr) return true;
      text += atoms_[i].c;
    }
    const std::size_t dots = text.find("..");
    if (dots == std::string::npos) return true;
    const std::string first = text.substr(0, dots);
    std::string last = text.substr(dots + 2);
    std::int64_t step = 1;
    if (const std::size_t more = last.find(".."); more != std::string::npos) {
      if (!to_number(last.substr(more + 2), step)) return true;
      last.resize(more);
    }
    std::int64_t from = 0;
    std::int64_t to = 0;
    const auto is_one_letter = [](const std::string& one) {
      return one.size() == 1 && is_letter(one[0]);
    };
    const bool letters = is_one_letter(first) && is_one_letter(last);
    if (letters) {
      from = static_cast<unsigned char>(first[0]);
      to = static_cast<unsigned char>(last[0]);
    } else if (!to_number(first, from) || !to_number(last, to)) {
      return true;
    }
    step = step == 0 ? 1 : std::abs(step);
    if (static_cast<std::uint64_t>(std::abs(to - from) / step) >= max_) return false;
    const bool pads = !letters && (is_padded(first) || is_padded(last));
    const std::size_t width = pads ? std::max(first.size(), last.size()) : 0;
    for (std::int64_t n = from; from <= to ? n <= to : n >= to; n += from <= to ? step : -step) {
      std::string item = letters ? std::string(1, static_cast<char>(n)) : std::to_string(n);
      if (item.size() < width) item.insert(n < 0 ? 1 : 0, width - item.size(), '0');
      choices.push_back({{nullptr, std::move(item)}});
    }
    return true;
  }

  static bool is_padded(const std::string& text) {
    const std::size_t digit = text[0] == '-' ? 1 : 0;
    return text.size() > digit + 1 && text[digit] == '0';
  }

  static bool to_number(const std::string& text, std::int64_t& value) {
    static constexpr std::size_t kMaxDigits = 18;
    const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
    const char* end = text.data() + text.size();
    if (text.empty() || text.size() > kMaxDigits) return false;
    const auto [stop, error] = std::from_chars(begin, end, value);
    return error == std::errc() && stop == end;
  }

  std::size_t max_;
  std::vector<Atom> atoms_;
  std::vector<Pair> pairs_;
};

}  // namespace

std::optional<std::vector<Pieces>> expand_braces(const std::vector<Part>& parts, std::size_t max) {
  return Expansion(parts, max).run();
}

}  // namespace sbx::shell
