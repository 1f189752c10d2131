// SPDX-License-Identifier: Apache-2.0
// Rules about files: removals, overwriting, modes and owners, beyond what is the command's own.
#include <algorithm>
#include <array>

#include "guard/rule.h"
#include "shell/arguments.h"

namespace sbx {
namespace {

bool wants_help(const Arguments& arguments) {
  return arguments.find("help") != nullptr || arguments.find("version") != nullptr;
}

// --- find, also for what it runs and feeds ---

struct FindStart {
  std::vector<const Word*> starts;  // empty: the working directory
  bool has_filter = false;
  const Word* removal = nullptr;  // -delete
  bool is_removal_named = false;  // a name that is no pattern for everything stands before it
  bool is_elsewhere = false;      // the starts stand in a file
};

// Whether a pattern of find picks something out.
bool picks(std::string_view test, std::string_view pattern) {
  const std::string_view nothing = test == "-path" || test == "-wholename" ? "*?[]!^./" : "*?[]";
  return pattern.find_first_not_of(nothing) != std::string_view::npos;
}

// find's expression from `at` on: what stands in parentheses holds where each side of its -o does.
class FindReader {
 public:
  FindReader(const Command& find, FindStart& out) : words_(find.words), out_(out) {}

  void read(std::size_t at) {
    for (; at < words_.size(); ++at) {
      const std::string& text = words_[at].text;
      const bool is_not = negates_;
      negates_ = false;
      if (text == "!" || text == "-not") {
        negates_ = !is_not;
      } else if (text == "(") {
        groups_.push_back({false, true, is_not});
      } else if (text == ")") {
        if (groups_.size() > 1) close();
      } else if (text == "-o" || text == "-or" || text == ",") {
        groups_.back().is_each_named = groups_.back().is_each_named && groups_.back().is_named;
        groups_.back().is_named = false;
      } else if (text.starts_with("-exec") || text.starts_with("-ok")) {
        while (at + 1 < words_.size() && words_[at].text != ";" &&
               (words_[at].text != "+" || words_[at - 1].text != "{}")) {
          ++at;
        }
      } else if (text == "-delete") {
        const bool is_named = std::any_of(groups_.begin(), groups_.end(),
                                          [](const Group& group) { return group.is_named; });
        if (out_.removal == nullptr || !is_named) out_.is_removal_named = is_named;
        out_.removal = &words_[at];
      } else {
        test(at, is_not);
      }
    }
  }

 private:
  struct Group {
    bool is_named = false;      // on this side of -o
    bool is_each_named = true;  // on the sides before
    bool is_negated = false;
  };

  void close() {
    const Group group = groups_.back();
    groups_.pop_back();
    if (group.is_named && group.is_each_named && !group.is_negated) groups_.back().is_named = true;
  }

  void test(std::size_t& at, bool is_not) {
    const std::string& text = words_[at].text;
    if (is_listed(text, "-name -iname -path -ipath -wholename -lname -regex -iregex")) {
      if (++at >= words_.size()) return;
      if (is_not || !words_[at].known || !picks(text, words_[at].text)) return;
      out_.has_filter = true;
      if (is_listed(text, "-name -iname -path -wholename")) groups_.back().is_named = true;
    } else if (is_listed(text, "-mtime -mmin -newer -size -user -perm -atime -ctime -amin -cmin")) {
      if (!is_not) out_.has_filter = true;
      ++at;
    } else if (text == "-empty") {
      if (!is_not) out_.has_filter = true;
    } else if (text == "-files0-from") {
      out_.is_elsewhere = true;
      ++at;
    } else if (is_listed(text,
                         "-type -xtype -maxdepth -mindepth -group -gid -uid -inum -links -samefile "
                         "-fstype -used -printf -fprint -fprintf -fprint0 -fls -context -anewer "
                         "-cnewer -newermt -regextype")) {
      ++at;
    }
  }

  const std::vector<Word>& words_;
  FindStart& out_;
  std::vector<Group> groups_ = {{}};
  bool negates_ = false;
};

FindStart read_find(const Command& find) {
  FindStart out;
  std::size_t at = 1;
  for (; at < find.words.size(); ++at) {
    const std::string& text = find.words[at].text;
    const bool is_option = text == "-H" || text == "-L" || text == "-P" || text.starts_with("-O");
    if (is_option) continue;
    if (text.starts_with('-') || text == "(" || text == "!") break;
    out.starts.push_back(&find.words[at]);
  }
  FindReader(find, out).read(at);
  return out;
}

bool is_run_by_find(const Command& command) {
  return std::any_of(command.via.begin(), command.via.end(),
                     [](const std::string& name) { return name.starts_with("find"); });
}

// The find whose files this command is given: its own -exec, or the first stage before xargs.
const Command* feeding_find(const Case& c) {
  const auto& via = c.command.via;
  if (is_run_by_find(c.command)) {
    // What find runs follows it; the nearest that holds it.
    const auto finds = c.index.finds();
    const auto self = static_cast<std::uint32_t>(&c.command - c.reading.commands.data());
    for (auto at = std::lower_bound(finds.begin(), finds.end(), self); at != finds.begin();) {
      const Command& other = c.reading.commands[*--at];
      if (other.span.begin <= c.command.span.begin && c.command.span.end <= other.span.end)
        return &other;
    }
    return nullptr;
  }
  // What prints more than its files has given xargs words that nobody knows.
  if (c.command.has_more_words || std::find(via.begin(), via.end(), "xargs") == via.end())
    return nullptr;
  for (const std::uint32_t at : c.index.before(c.reading, c.command)) {
    const Command& other = c.reading.commands[at];
    const bool is_find = !other.words.empty() && base_name(other.words.front().text) == "find";
    if (is_find && other.stage + 1 == c.command.stage && other.stages > 1) return &other;
  }
  return nullptr;
}

// What find may hand over that is not the command's own.
std::optional<Hit> outside_find(const Case& c, const Command& find, const FindStart& read,
                                bool takes_all) {
  if (read.is_elsewhere) return Hit{find.span, ""};
  const auto is_fine = [&](const std::string& path) {
    return c.places.is_own(path) && (!takes_all || c.places.is_known_removal(path, true));
  };
  if (read.starts.empty()) {
    for (const std::string& directory : c.directories) {
      if (directory.empty() || !is_fine(directory)) return Hit{find.span, directory};
    }
  }
  for (const Word* word : read.starts) {
    const auto paths = c.places.resolve(*word, c.directories);
    if (!paths) return Hit{word->span, word->text};
    for (const std::string& path : *paths) {
      if (!is_fine(path)) return Hit{word->span, Places::shown(path)};
    }
  }
  return std::nullopt;
}

// --- removal ---

// Among the words that find or xargs was given for it, the word's own has the place. The words of a
// text within another all have its span.
bool is_placeholder_within(const Case& c, const Word& word) {
  constexpr std::size_t kMostBefore = 64;
  constexpr std::size_t kMostWords = 1024;
  if (word.known) return false;
  const std::vector<Word>& words = c.command.words;
  const auto& commands = c.reading.commands;
  const auto at = static_cast<std::size_t>(&word - words.data());
  auto self = static_cast<std::size_t>(&c.command - commands.data());
  for (std::size_t i = 0; self > 0 && i < kMostBefore; ++i) {
    const Command& giver = commands[--self];
    if (giver.via.size() + 1 != c.command.via.size()) continue;
    if (giver.words.size() > kMostWords) return false;
    bool has_place = false;
    for (std::size_t begin = 1; begin + words.size() <= giver.words.size(); ++begin) {
      const std::size_t end = begin + words.size();
      const bool ends = end == giver.words.size() || giver.words[end].text == ";";
      if (!ends || giver.words[begin].text != words.front().text) continue;
      has_place = giver.words[begin + at].known && giver.words[begin + at].text == "{}";
      if (!has_place) break;
    }
    return has_place;
  }
  return false;
}

// "{}" alone, where find puts in what it has found. A longer word is a path like any other.
bool is_placeholder(const Case& c, const Word& word) {
  if (word.known || (word.shape.empty() && !is_run_by_find(c.command))) return false;
  if (word.span == c.command.words.front().span) return is_placeholder_within(c, word);
  if (word.span.end > c.text.size() || word.span.begin > word.span.end) return false;
  return is_listed(c.text.substr(word.span.begin, word.span.end - word.span.begin),
                   R"({} '{}' "{}" \{\})");
}

// mv FILE… /dev/null.
std::optional<Hit> moves_to_nothing(const Case& c) {
  const Arguments arguments(c.command, 1, "tS", {"target-directory", "suffix"});
  const auto& operands = arguments.operands();
  if (operands.size() < 2 || operands.back()->text != "/dev/null") return std::nullopt;
  for (std::size_t i = 0; i + 1 < operands.size(); ++i) {
    const auto paths = c.places.resolve(*operands[i], c.directories);
    if (!paths) return Hit{operands[i]->span, operands[i]->text};
    for (const std::string& path : *paths) {
      if (!c.places.is_known_removal(path, true)) {
        return Hit{operands[i]->span, Places::shown(path)};
      }
    }
  }
  return std::nullopt;
}

std::optional<Hit> removes_outside(const Case& c) {
  if (c.program == "mv") return moves_to_nothing(c);
  const Arguments arguments(c.command, 1);
  if (wants_help(arguments)) return std::nullopt;
  const bool is_recursive = c.program == "rimraf" || arguments.find('r') != nullptr ||
                            arguments.find('R') != nullptr ||
                            arguments.find("recursive") != nullptr;
  const Command* find = feeding_find(c);
  for (const Word* word : arguments.operands()) {
    if (find != nullptr && is_placeholder(c, *word)) continue;
    const auto paths = c.places.resolve(*word, c.directories);
    if (!paths) return Hit{word->span, word->text};
    const bool is_plain = find == nullptr || word->has_glob;
    for (const std::string& path : *paths) {
      if (!c.places.is_known_removal(path, is_recursive || is_plain, is_recursive)) {
        if (is_plain || is_recursive || !c.places.is_own(path))
          return Hit{word->span, Places::shown(path)};
      }
    }
  }
  if (find != nullptr) {
    const FindStart read = read_find(*find);
    return outside_find(c, *find, read, is_recursive && !read.has_filter);
  }
  if (c.command.has_more_words) return Hit{c.command.span, ""};
  return std::nullopt;
}

std::optional<Hit> shreds(const Case& c) {
  const Arguments arguments(c.command, 1, "ns", {"iterations", "size", "random-source"});
  if (wants_help(arguments)) return std::nullopt;
  return Hit{c.command.span,
             arguments.operands().empty() ? "" : arguments.operands().front()->text};
}

std::optional<Hit> finds_and_deletes(const Case& c) {
  const FindStart read = read_find(c.command);
  if (read.removal == nullptr) return std::nullopt;
  auto hit = outside_find(c, c.command, read, !read.is_removal_named);
  if (hit) hit->span = read.removal->span;
  return hit;
}

// --- modes and owners ---

std::optional<Hit> changes_outside(const Case& c) {
  const Arguments arguments(c.command, 1, "", {"reference", "from"});
  if (wants_help(arguments) ||
      (arguments.find('R') == nullptr && arguments.find("recursive") == nullptr)) {
    return std::nullopt;
  }
  // "-x" and "-w" are modes, not options, so that the mode may be missing among the operands.
  const auto& operands = arguments.operands();
  const bool has_mode_option =
      arguments.find("reference") != nullptr ||
      (c.program == "chmod" && (arguments.find('w') != nullptr || arguments.find('x') != nullptr ||
                                arguments.find('r') != nullptr));
  for (std::size_t i = has_mode_option ? 0 : 1; i < operands.size(); ++i) {
    if (is_placeholder(c, *operands[i]) && feeding_find(c) != nullptr) continue;
    const auto paths = c.places.resolve(*operands[i], c.directories);
    if (!paths) return Hit{operands[i]->span, operands[i]->text};
    for (const std::string& path : *paths) {
      // Nobody's answer lets a mode be changed where nothing can be written.
      const bool counts =
          c.program == "chown" ? !c.places.is_own(path) : c.places.may_change_below(path);
      if (counts) return Hit{operands[i]->span, Places::shown(path)};
    }
  }
  if (const Command* find = feeding_find(c)) {
    return outside_find(c, *find, read_find(*find), false);
  }
  if (c.command.has_more_words) return Hit{c.command.span, ""};
  return std::nullopt;
}

std::optional<Hit> changes_owner(const Case& c) {
  const Arguments arguments(c.command, 1, "", {"reference", "from"});
  if (wants_help(arguments) || c.command.words.size() < 2) return std::nullopt;
  return Hit{c.command.span, arguments.operands().empty() ? "" : arguments.operands().back()->text};
}

// --- overwriting ---

std::optional<Hit> overwritten(const Case& c, const Word& word,
                               bool (*is_bad)(const Case&, const std::string&)) {
  Directories known = c.directories;
  std::erase(known, "");
  if (known.empty()) known.emplace_back();
  const auto paths = c.places.resolve(word, known);
  if (!paths) return std::nullopt;
  for (const std::string& path : *paths) {
    if (is_bad(c, path)) return Hit{word.span, Places::shown(path)};
  }
  return std::nullopt;
}

bool is_device(const Case&, const std::string& path) { return Places::is_device(path); }
bool is_outside(const Case& c, const std::string& path) {
  // /proc and /dev are the sandbox's own, whatever a root says of theirs; devices have their rule.
  return c.places.is_written_outside(path) && !is_below(path, "/dev") && !is_below(path, "/proc");
}

// The operands that a command writes to, from the start of the file.
std::vector<Word> written_operands(const Case& c) {
  std::vector<Word> out;
  const auto add_operands = [&](const Arguments& arguments) {
    for (const Word* word : arguments.operands()) out.push_back(*word);
  };
  if (c.program == "dd") {
    for (const Word& word : c.command.words) {
      if (!word.text.starts_with("of=")) continue;
      out.push_back(word);
      out.back().text.erase(0, 3);
    }
  } else if (c.program == "find") {
    for (std::size_t i = 1; i + 1 < c.command.words.size(); ++i) {
      if (is_listed(c.command.words[i].text, "-fprint -fprint0 -fprintf -fls"))
        out.push_back(c.command.words[i + 1]);
    }
  } else if (c.program == "tee") {
    add_operands(Arguments(c.command, 1));
  } else if (c.program == "truncate") {
    add_operands(Arguments(c.command, 1, "sr", {"size", "reference"}));
  } else if (c.program == "cp" || c.program == "mv") {
    const Arguments arguments(c.command, 1, "tS", {"target-directory", "suffix"});
    if (arguments.operands().size() > 1) out.push_back(*arguments.operands().back());
  }
  return out;
}

std::optional<Hit> writes_to_device(const Case& c) {
  for (const Redirection& redirection : c.command.redirections) {
    if (redirection.kind != RedirectionKind::kTruncate &&
        redirection.kind != RedirectionKind::kAppend) {
      continue;
    }
    if (auto hit = overwritten(c, redirection.target, is_device)) return hit;
  }
  if (!is_listed(c.program, "dd tee cp mv find")) return std::nullopt;
  for (const Word& word : written_operands(c)) {
    if (auto hit = overwritten(c, word, is_device)) return hit;
  }
  return std::nullopt;
}

// Files that are replaced by nothing, or edited where they stand.
std::optional<Hit> empties_outside(const Case& c) {
  std::vector<const Word*> files;
  if (c.program == "cp" || c.program == "install" || c.program == "rsync") {
    const Arguments arguments(c.command, 1, "tSmog", {"target-directory", "suffix", "mode"});
    const auto& operands = arguments.operands();
    if (operands.size() > 1 && operands.front()->text == "/dev/null") files = {operands.back()};
  } else if (is_listed(c.program, "sed gsed perl")) {
    const Arguments arguments(c.command, 1, "efElsi", {"expression", "file", "line-length"});
    if (arguments.find('i', "in-place") != nullptr) files = arguments.operands();
  } else if (c.program == "sponge") {
    files = Arguments(c.command, 1).operands();
  } else if (c.program == "sort") {
    const Arguments arguments(c.command, 1, "oktST", {"output"});
    const Word* option = arguments.find('o', "output");
    if (option == nullptr) return std::nullopt;
    Word target = *option;
    target.text = arguments.value('o', "output");
    return overwritten(c, target, is_outside);
  }
  for (const Word* word : files) {
    if (auto hit = overwritten(c, *word, is_outside)) return hit;
  }
  return std::nullopt;
}

std::optional<Hit> truncates_outside(const Case& c) {
  for (const Redirection& redirection : c.command.redirections) {
    if (redirection.kind != RedirectionKind::kTruncate) continue;
    if (auto hit = overwritten(c, redirection.target, is_outside)) return hit;
  }
  if (auto hit = empties_outside(c)) return hit;
  if (!is_listed(c.program, "dd tee truncate find")) return std::nullopt;
  if (c.program == "tee" && Arguments(c.command, 1).find('a', "append") != nullptr) {
    return std::nullopt;
  }
  for (const Word& word : written_operands(c)) {
    if (auto hit = overwritten(c, word, is_outside)) return hit;
  }
  return std::nullopt;
}

constexpr std::array kRules = {
    Rule{"destructive.rm-outside", "rm unlink mv rimraf", removes_outside,
         "removes what is not known to lie inside the workspace or /tmp",
         "rm -rf /\n"
         "rm -rf /data/work/old\n"
         "rm -r /var/lib/app\n"
         "rm -rf .\n"
         "rm -rf ./\n"
         "rm -rf ..\n"
         "rm -rf *\n"
         "rm -rf ./.[!.]*\n"
         "rm -rf /home/me/project\n"
         "rm -rf /home/me/proj*\n"
         "rm -rf ~\n"
         "rm -rf ~/Documents\n"
         "rm -rf \"$HOME\"\n"
         "rm -rf /tmp\n"
         "rm -rf /tmp/*\n"
         "rm -rf build/../..\n"
         "rm -rf \"$DIR\"\n"
         "rm -rf {build,/etc}\n"
         "rm --recursive --force /etc\n"
         "rm /etc/passwd\n"
         "cd / && rm -rf data\n"
         "cd build; rm -rf *\n"
         "env -C / rm -rf data\n"
         "bash -c 'rm -rf /data'\n"
         "find / -name '*.log' -exec rm {} \\;\n"
         "find . -exec rm -rf {} +\n"
         "ls | xargs rm -rf\n"
         "unlink /etc/hosts\n"
         "rimraf /data/x\n"
         "mv ~/notes /dev/null",
         "rm -rf node_modules dist build\n"
         "rm -rf ./build/*\n"
         "rm -f *.o\n"
         "rm -rf /tmp/work\n"
         "rm -rf /home/me/project/target\n"
         "rm -rf \"$PWD/build\"\n"
         "cd build && rm -rf *\n"
         "cd build || exit 1; rm -rf *\n"
         "rm file.txt\n"
         "rm --help\n"
         "rm -rf {build,dist}\n"
         "find . -name '*.o' -exec rm {} \\;\n"
         "find build -name '*.o' | xargs rm -f\n"
         "echo rm -rf /\n"
         "git commit -m 'rm -rf / is bad'\n"
         "rimraf dist\n"
         "mv build/* /dev/null\n"
         "mv ~/notes ."},
    Rule{"destructive.find-delete", "find", finds_and_deletes,
         "find removes everything that it finds",
         "find . -delete\n"
         "find . -type f -delete\n"
         "find . -name '*' -delete\n"
         "find . ! -name '*.c' -delete\n"
         "find . -name '*.o' -o -delete\n"
         "find /data -name '*.pyc' -delete\n"
         "find / -delete",
         "find . -name delete\n"
         "find . -name -delete\n"
         "find . -name '*.pyc' -delete\n"
         "find . \\( -name '*.o' -o -name '*.a' \\) -delete\n"
         "find build -delete\n"
         "find . -exec echo -delete \\;\n"
         "find . -type f"},
    Rule{"destructive.shred", "shred srm wipe", shreds,
         "what is overwritten cannot be brought back",
         "shred secret.txt\n"
         "shred -u -n 3 notes\n"
         "find . -name '*.key' -exec shred {} +",
         "shred --help\n"
         "echo shred"},
    Rule{"destructive.chmod-outside", "chmod chgrp chown", changes_outside,
         "changes modes or owners recursively outside the workspace and /tmp",
         "chmod -R 777 /data\n"
         "chmod -R a+w /data/work/sub\n"
         "chmod --recursive 700 \"$1\"\n"
         "chgrp -R users /data\n"
         "cd /data && chmod -R 755 .",
         "chmod -R 777 /usr\n"
         "chmod -R 755 build\n"
         "chmod -R u+w .\n"
         "chmod +x run.sh\n"
         "chmod 644 /data/x"},
    Rule{"destructive.chown", "chown", changes_owner, "gives files to another owner",
         "chown root file\n"
         "chown -R nobody /data\n"
         "chown me:me build",
         "chown --help\n"
         "ls -l"},
    Rule{"destructive.device-write", "", writes_to_device,
         "writes to a device, over whatever it holds",
         "dd if=/dev/zero of=/dev/sda\n"
         "dd if=image.iso of=/dev/nvme0n1 bs=4M\n"
         "cat image > /dev/sda\n"
         "echo x >> /dev/sdb1\n"
         "> /dev/sda\n"
         "cp image /dev/mmcblk0\n"
         "cat x | tee /dev/sdc\n"
         "find . -fprintf /dev/sda x",
         "echo x > /dev/null\n"
         "make 2>/dev/stderr\n"
         "dd if=/dev/zero of=disk.img bs=1M count=1\n"
         "dd if=/dev/urandom of=/dev/null count=1\n"
         "echo hi > /dev/tty"},
    Rule{"destructive.truncate-outside", "", truncates_outside,
         "overwrites a file outside the workspace",
         "echo x > /data/hosts\n"
         ": > /data/log/syslog\n"
         "> /data/a\n"
         "cat a &> /data/x\n"
         "truncate -s 0 /data/log\n"
         "echo x | tee /data/motd\n"
         "dd if=a of=/data/b\n"
         "cp /dev/null /data/b\n"
         "sed -i d /data/b\n"
         "cd /data && echo x > hosts",
         "echo x > /etc/hosts\n"
         "echo x > out.txt\n"
         "make > build.log 2>&1\n"
         "echo x > /tmp/a\n"
         "echo x >> /var/log/app.log\n"
         "echo x > ~/notes\n"
         "echo x | tee out.txt\n"
         "truncate -s 0 build.log\n"
         "cat < /etc/hosts\n"
         "ls 2>&1"},
};

}  // namespace

std::span<const Rule> file_rules() { return kRules; }

}  // namespace sbx
