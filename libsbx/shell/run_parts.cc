// SPDX-License-Identifier: Apache-2.0
#include "shell/run_parts.h"

#include <utility>

#include "shell/marks.h"

namespace sbx::shell {

Fields tail(const Fields& words, std::size_t from) {
  return from < words.size()
             ? Fields(words.begin() + static_cast<std::ptrdiff_t>(from), words.end())
             : Fields();
}

Field joined(const Fields& words, std::size_t from, std::size_t to) {
  Field text;
  if (from < to) text.span = {words[from].span.begin, words[to - 1].span.end};
  for (std::size_t i = from; i < to; ++i) {
    if (i > from) text.text += ' ';
    text.text += words[i].text;
  }
  return text;
}

void add_words(Runs& runs, std::string_view via, Fields words, bool has_more) {
  Run run;
  run.via = via;
  run.words = std::move(words);
  run.has_more_words = has_more;
  runs.runs.push_back(std::move(run));
}

void add_text(Runs& runs, RunKind kind, std::string via, Field text, Fields arguments) {
  Run run;
  run.kind = kind;
  run.via = std::move(via);
  run.text = std::move(text);
  run.words = std::move(arguments);
  runs.runs.push_back(std::move(run));
}

std::string fitting(const std::vector<Field>& words, std::string value) {
  static constexpr std::size_t kMostBytes = 16u << 20;
  std::size_t bytes = 1;
  for (const Field& word : words) bytes += word.text.size();
  return value.size() <= kMostBytes / bytes ? std::move(value) : std::string(1, kHole);
}

void put_in(std::vector<Field>& words, const std::string& placeholder, std::string_view value) {
  if (placeholder.empty()) return;
  for (Field& word : words) {
    std::string made;
    std::size_t at = 0;
    std::size_t found = word.text.find(placeholder);
    // Of what find gives one may be ".".
    const bool leads_up = word.text.find("/..", found) != std::string::npos;
    for (; found != std::string::npos; found = word.text.find(placeholder, at)) {
      made.append(word.text, at, found - at);
      made += leads_up ? std::string_view(&kHole, 1) : value;
      at = found + placeholder.size();
    }
    if (at > 0) word.text = made.append(word.text, at);
  }
}

}  // namespace sbx::shell
