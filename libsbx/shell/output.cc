// SPDX-License-Identifier: Apache-2.0
// Output: the few commands whose output is plain from their words.
#include "shell/output.h"

#include <algorithm>

#include "shell/ansi_c.h"
#include "shell/arguments.h"
#include "shell/listing.h"
#include "shell/options.h"

namespace sbx::shell {
namespace {

std::optional<std::string> echo(const std::vector<Field>& words) {
  std::size_t i = 1;
  bool ends_line = true;
  bool escapes = false;
  for (; i < words.size(); ++i) {
    const std::string& option = words[i].text;
    if (option.size() < 2 || option[0] != '-') break;
    if (option.find_first_not_of("neE", 1) != std::string::npos) break;
    if (option.find('n') != std::string::npos) ends_line = false;
    escapes = option.find('e') != std::string::npos;
  }
  std::string out;
  for (const std::size_t first = i; i < words.size(); ++i) {
    if (i > first) out += ' ';
    out += words[i].text;
  }
  if (escapes) out = decode_printf(out);
  return ends_line ? out + '\n' : out;
}

// The formats %s %b %d %i %c %q %% without widths, as often as there are arguments.
std::optional<std::string> print_formatted(const std::vector<Field>& words) {
  std::size_t i = 1;
  if (i < words.size() && words[i].text == "--") ++i;
  if (i >= words.size() || words[i].text.starts_with("-v")) return std::nullopt;
  const std::string format = decode_printf(words[i++].text);
  std::string out;
  while (true) {
    const std::size_t before = i;
    for (std::size_t at = 0; at < format.size(); ++at) {
      if (format[at] != '%') {
        out += format[at];
        continue;
      }
      if (++at == format.size()) return std::nullopt;
      if (format[at] == '%') {
        out += '%';
        continue;
      }
      const std::string argument = i < words.size() ? words[i].text : "";
      ++i;
      switch (format[at]) {
        case 's':
        case 'q':
          out += argument;
          break;
        case 'b':
          out += decode_printf(argument);
          break;
        case 'd':
        case 'i':
          if (argument.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
          out += argument.empty() ? "0" : argument;
          break;
        case 'c':
          if (has_mark(argument)) return std::nullopt;
          out += argument.substr(0, 1);
          break;
        default:
          return std::nullopt;
      }
      if (out.size() > kMaxOutput) return std::nullopt;
    }
    if (i >= words.size() || i == before) return out;
  }
}

using Output = std::optional<std::string>;

Output line_of(std::string text) {
  if (text.empty() || has_hole(text)) return std::nullopt;
  return std::move(text) + '\n';
}

std::string within(std::string_view directory, std::string_view name) {
  std::string out(directory);
  if (!out.ends_with('/')) out += '/';
  return out.append(name);
}

// The template with its X taken for a name.
Output filled(std::string name) {
  const std::size_t last = name.find_last_of('X');
  if (last == std::string::npos) return std::nullopt;
  std::size_t first = last;
  while (first > 0 && name[first - 1] == 'X') --first;
  if (last - first < 2) return std::nullopt;
  return name.replace(first, last - first + 1, 1, kName);
}

Output make_temporary(const std::vector<Field>& words, const OutputContext& context) {
  Options options(words, "p", " suffix ");
  std::optional<std::string> directory;
  std::string suffix;
  while (const auto option = options.next()) {
    if (option->name == "t" || option->name == "tmpdir") {
      directory = option->value ? std::string(*option->value) : context.tmp;
    } else if (option->name == "p") {
      directory = option->value ? std::string(*option->value) : context.tmp;
      if (option->value_word != nullptr && option->value_word->has_tilde) return std::nullopt;
    } else if (option->name == "suffix") {
      suffix = std::string(option->value.value_or(""));
    }
  }
  if (options.at() >= words.size()) {
    return line_of(within(directory.value_or(context.tmp), std::string("tmp.") + kName + suffix));
  }
  if (options.at() + 1 < words.size()) return std::nullopt;
  const std::string name = made_of(words[options.at()]);
  Output made = filled(name + suffix);
  // Other systems take what follows -t for a beginning.
  if (!made && directory) made = name + kName;
  if (!made) return std::nullopt;
  return line_of(directory && !made->starts_with('/') ? within(*directory, *made) : *made);
}

// What find gives, one by one. Patterns that only a name can match make it one name of several.
Output found(const std::vector<Field>& words) {
  std::size_t at = 1;
  std::vector<std::string> starts = find_starts(words, at);
  bool is_named = false;
  for (; at < words.size(); ++at) {
    const std::string& text = words[at].text;
    if (text.starts_with("-exec") || text.starts_with("-ok") || text.starts_with("-fprint") ||
        is_listed(text, "-printf -ls -fls -delete -files0-from")) {
      return std::nullopt;
    }
    const bool is_positive = words[at - 1].text != "!" && words[at - 1].text != "-not";
    if ((text == "-name" || text == "-iname" || text == "-path") && at + 1 < words.size()) {
      is_named = is_named || (is_positive && words[at + 1].text != "*");
      ++at;
    }
  }
  if (starts.empty()) starts.emplace_back(".");
  std::string out;
  for (const std::string& start : starts) {
    if (has_hole(start)) return std::nullopt;
    out += within(start, std::string(1, is_named ? kChoice : kDeep)) + '\n';
  }
  return out;
}

Output listed(const std::vector<Field>& words) {
  std::string out;
  const auto has_flag = [&](char letter) {
    return std::any_of(words.begin() + 1, words.end(), [&](const Field& word) {
      return word.text.starts_with('-') && !word.text.starts_with("--") &&
             word.text.find(letter) != std::string::npos;
    });
  };
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string text = made_of(words[i]);
    if (text.starts_with('-')) {
      if (text.find_first_of("lsinogZRx", 1) != std::string::npos && !text.starts_with("--"))
        return std::nullopt;
      continue;
    }
    if (!is_bounded(text)) return std::nullopt;
    const bool is_itself = has_flag('d') && text.find_first_not_of("./") != std::string::npos;
    if (is_itself && text.size() > 1) {
      out += text.substr(0, text.find_last_not_of('/') + 1) + '\n';
      continue;
    }
    const bool is_pattern = text.find(kStar) != std::string::npos && !text.ends_with('/');
    out += (is_pattern ? text : std::string(1, kStar)) + '\n';
  }
  return out.empty() ? std::string{kStar, '\n'} : out;
}

Output base_name_of(const std::vector<Field>& words) {
  const std::size_t at = words.size() > 1 && words[1].text == "--" ? 2 : 1;
  if (words.size() < at + 1 || words.size() > at + 2) return std::nullopt;
  std::string text = made_of(words[at]);
  if (text.starts_with('-')) return std::nullopt;
  if (text == std::string_view(&kSelf, 1)) return std::string{kName, '\n'};
  if (!is_bounded(text)) {
    // An option needs a word of its own.
    const bool is_one = at == 2 || !words[1].splits;
    return is_one && !words[at].splits && !words[at].is_process
               ? Output(std::string{kComponent, '\n'})
               : std::nullopt;
  }
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  const std::size_t slash = text.rfind('/');
  if (slash != std::string::npos && text.size() > 1) text.erase(0, slash + 1);
  if (words.size() == at + 2) {
    const std::string& suffix = words[at + 1].text;
    if (has_mark(suffix)) return std::nullopt;
    if (text.size() > suffix.size() && text.ends_with(suffix)) {
      text.resize(text.size() - suffix.size());
    }
  }
  if (text.size() == 1 && is_place_mark(text[0])) text[0] = kChoice;
  return line_of(std::move(text));
}

Output directory_of(const std::vector<Field>& words) {
  if (words.size() != 2) return std::nullopt;
  std::string text = made_of(words[1]);
  if (has_hole(text) || text.empty() || text.starts_with('-')) return std::nullopt;
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  const std::size_t slash = text.rfind('/');
  // A mark of several names may hold the slash.
  if (std::any_of(text.begin() + static_cast<std::ptrdiff_t>(slash + 1), text.end(), is_mark)) {
    return std::nullopt;
  }
  if (slash == std::string::npos) return std::string(".\n");
  text.resize(std::max<std::size_t>(slash, 1));
  return line_of(std::move(text));
}

Output full_path(const std::vector<Field>& words, const OutputContext& context) {
  std::string path;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i].text.starts_with('-')) continue;
    if (!path.empty()) return std::nullopt;
    path = made_of(words[i]);
  }
  if (path.empty() || has_hole(path)) return std::nullopt;
  const bool is_absolute = path[0] == '/' || is_place_mark(path[0]);
  return line_of(is_absolute ? path : within(context.directory, path));
}

bool has_word(const std::vector<Field>& words, std::string_view wanted) {
  return std::any_of(words.begin(), words.end(),
                     [&](const Field& word) { return word.text == wanted; });
}

Output git_output(const std::vector<Field>& words, const OutputContext& context) {
  if (words.size() < 2 || std::any_of(words.begin(), words.end(),
                                      [](const Field& word) { return has_hole(word.text); })) {
    return std::nullopt;
  }
  const std::string& verb = words[1].text;
  if (verb == "rev-parse" && has_word(words, "--show-toplevel")) return line_of(context.directory);
  if (verb == "ls-files") return listed_by_git(words, 2);
  if (verb == "diff" && has_word(words, "--name-only")) {
    return std::string{kStar, '\n'};
  }
  const bool names_one = verb == "rev-parse" || verb == "describe" ||
                         (verb == "branch" && has_word(words, "--show-current"));
  return names_one ? Output(std::string{kMaybe, '\n'}) : std::nullopt;
}

// Commands whose output is a name or path that the run makes.
Output made_output(std::string_view program, const std::vector<Field>& words, const Output& input,
                   const OutputContext& context) {
  const bool has_unknown = std::any_of(words.begin(), words.end(),
                                       [](const Field& word) { return has_hole(word.text); });
  const auto has_option = [&](std::string_view letters) {
    return std::any_of(words.begin() + 1, words.end(), [&](const Field& word) {
      return word.text.size() > 1 && word.text[0] == '-' &&
             (word.text[1] == '-' || letters.find(word.text[1]) != std::string_view::npos);
    });
  };
  const std::string name{kName, '\n'};
  const std::string maybe{kMaybe, '\n'};
  if (program == "mktemp") return make_temporary(words, context);
  if (program == "pwd") return line_of(context.directory);
  if (program == "find") return found(words);
  if (program == "ls") return listed(words);
  if (program == "basename") return base_name_of(words);
  if (program == "dirname") return directory_of(words);
  if (program == "realpath" || program == "readlink") return full_path(words, context);
  if (program == "git") return git_output(words, context);
  if (program == "date") {
    bool is_sure = true;  // else an option may be wrong, and there is nothing
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string_view text = words[i].text;
      if (!text.starts_with('+')) {
        is_sure = is_sure && text == "-u";
        continue;
      }
      const std::size_t at = text.find('%') + 1;
      if (has_hole(text) || at == 0 || text.find_first_of("$`") != text.npos ||
          text.find_first_of("ntpPZ", at) == at || text.starts_with("+/") ||
          text.find(" /") != text.npos || text.find("..") != text.npos) {
        return std::nullopt;
      }
    }
    return is_sure ? name : maybe;
  }
  if (program == "seq" && !has_unknown && !has_option("fs")) return name;
  if (program == "wc" && std::all_of(words.begin() + 1, words.end(),
                                     [](const Field& word) { return word.text[0] == '-'; })) {
    return name;
  }
  if (program == "nproc" || program == "uname") return name;
  if (program == "id" || program == "whoami" || program == "logname" || program == "hostname" ||
      program == "uuidgen" || program == "arch") {
    return maybe;
  }
  if (is_listed(program, "grep egrep fgrep rg")) return listed_by_grep(words, input);
  if (program == "head" || program == "tail") return cut_by_count(words, input);
  // What hands lines on.
  if (is_listed(program, "sort uniq tac shuf") && input && has_mark(*input) && is_bounded(*input)) {
    const bool has_file = std::any_of(words.begin() + 1, words.end(), [](const Field& word) {
      return word.text.find_first_not_of("-0123456789nckurzVt+") != std::string::npos;
    });
    return has_file ? std::nullopt : input;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> constant_output(const std::vector<Field>& words,
                                           const std::optional<std::string>& input,
                                           const OutputContext& context) {
  if (words.empty()) return "";
  const auto program = program_name(words[0]);
  if (!program || !words[0].is_known()) return std::nullopt;
  std::size_t bytes = 0;
  for (const Field& word : words) bytes += word.text.size() + 1;
  if (bytes > kMaxOutput) return std::nullopt;
  // A pattern may become other words.
  const bool has_glob = std::any_of(words.begin(), words.end(), [](const Field& word) {
    return word.has_glob || word.has_tilde || word.is_process;
  });
  if (is_listed(*program, "true : false exit return")) return "";
  if (has_glob) {
    if (*program == "echo" || *program == "printf") {
      std::vector<Field> made = words;
      for (Field& word : made) {
        word.text = made_of(word);
        word.has_glob = word.has_tilde = word.is_process = false;
      }
      return constant_output(made, input, context);
    }
    return made_output(*program, words, input, context);
  }
  if (*program == "echo") return echo(words);
  if (*program == "printf") return print_formatted(words);
  if (*program == "cat" && (words.size() == 1 || (words.size() == 2 && words[1].text == "-")))
    return input;
  if (*program == "tee") return input;
  if ((*program == "command" || *program == "builtin") && words.size() > 1 &&
      !words[1].text.starts_with('-')) {
    return constant_output({words.begin() + 1, words.end()}, input, context);
  }
  return made_output(*program, words, input, context);
}

}  // namespace sbx::shell
