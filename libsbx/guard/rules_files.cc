// SPDX-License-Identifier: Apache-2.0
// Rules about files: removals, overwriting, modes and owners, beyond what is the command's own.
#include <algorithm>
#include <array>

#include "guard/finds.h"
#include "guard/rule.h"
#include "shell/arguments.h"

namespace sbx::guard {
namespace {

bool wants_help(const shell::Arguments& arguments) {
  return arguments.find("help") != nullptr || arguments.find("version") != nullptr;
}

// --- removal ---

std::optional<Hit> removes_unknown(const Case& c, const shell::Word& word,
                                   const Directories& directories) {
  const auto paths = c.places.resolve(word, directories);
  if (!paths) return Hit{word.span, word.text};
  for (const std::string& path : *paths) {
    if (!c.places.is_known_removal(path, true)) return Hit{word.span, Places::shown(path)};
  }
  return std::nullopt;
}

// mv FILE… /dev/null; mv of the workspace itself, or of /tmp.
std::optional<Hit> moves_away(const Case& c) {
  const shell::Arguments arguments(c.command, 1, "tS", {"target-directory", "suffix"});
  std::vector<const shell::Word*> sources = arguments.operands();
  const bool is_to_nothing = sources.size() > 1 && sources.back()->text == "/dev/null";
  if (arguments.find('t', "target-directory") == nullptr && !sources.empty()) sources.pop_back();
  for (const shell::Word* word : sources) {
    if (is_to_nothing) {
      if (auto hit = removes_unknown(c, *word, c.directories)) return hit;
      continue;
    }
    const auto paths = c.places.resolve(*word, c.directories);
    if (!paths) continue;
    for (const std::string& path : *paths) {
      if (c.places.holds_own(path)) return Hit{word->span, path};
    }
  }
  return std::nullopt;
}

// Archivers that remove what they have packed: tar --remove-files, zip -m.
std::optional<Hit> packs_away(const Case& c) {
  const bool is_tar = c.program == "tar";
  const shell::Arguments arguments =
      is_tar ? shell::Arguments(c.command, 1, "fCTXbHgKLNVFI",
                                {"file", "directory", "files-from", "exclude", "exclude-from",
                                 "use-compress-program"})
             : shell::Arguments(c.command, 1, "bntPxiZsO");
  const bool removes =
      is_tar ? arguments.find("remove-files") != nullptr : arguments.find('m', "move") != nullptr;
  if (!removes || wants_help(arguments)) return std::nullopt;
  std::vector<const shell::Word*> words = arguments.operands();
  // zip's archive; tar's letters without a dash, and theirs.
  const std::string letters = is_tar ? c.command.words[1].text : "f";
  if (!letters.starts_with('-')) {
    const std::size_t leading = (is_tar ? 1 : 0) + (letters.find('f') != letters.npos ? 1 : 0);
    words.erase(words.begin(),
                words.begin() + static_cast<std::ptrdiff_t>(std::min(leading, words.size())));
  }
  Directories directories = c.directories;
  const std::string inside(is_tar ? arguments.value('C', "directory") : "");
  if (!inside.empty()) {
    for (std::string& directory : directories) directory = resolve_path(inside, directory);
  }
  for (const shell::Word* word : words) {
    if (auto hit = removes_unknown(c, *word, directories)) return hit;
  }
  const bool is_elsewhere = c.command.has_more_words || arguments.find('@') != nullptr ||
                            (is_tar && arguments.find('T', "files-from") != nullptr);
  return is_elsewhere ? std::optional(Hit{c.command.span, ""}) : std::nullopt;
}

std::optional<Hit> removes_outside(const Case& c) {
  if (c.program == "mv") return moves_away(c);
  if (shell::is_listed(c.program, "tar zip")) return packs_away(c);
  const shell::Arguments arguments(c.command, 1);
  if (wants_help(arguments)) return std::nullopt;
  const bool is_recursive = c.program == "rimraf" || arguments.find('r') != nullptr ||
                            arguments.find('R') != nullptr ||
                            arguments.find("recursive") != nullptr;
  const shell::Command* find = feeding_find(c);
  for (const shell::Word* word : arguments.operands()) {
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
    return outside_find(c, *find, read,
                        !is_recursive     ? Taking::kFiles
                        : read.has_filter ? Taking::kPicked
                                          : Taking::kAll);
  }
  if (c.command.has_more_words) return Hit{c.command.span, ""};
  return std::nullopt;
}

std::optional<Hit> shreds(const Case& c) {
  const shell::Arguments arguments(c.command, 1, "ns", {"iterations", "size", "random-source"});
  if (wants_help(arguments)) return std::nullopt;
  return Hit{c.command.span,
             arguments.operands().empty() ? "" : arguments.operands().front()->text};
}

std::optional<Hit> finds_and_deletes(const Case& c) {
  const FindStart read = read_find(c.command);
  if (read.removal == nullptr) return std::nullopt;
  auto hit =
      outside_find(c, c.command, read, read.is_removal_named ? Taking::kFiles : Taking::kAll);
  if (hit) hit->span = read.removal->span;
  return hit;
}

// --- modes and owners ---

std::optional<Hit> changes_outside(const Case& c) {
  const shell::Arguments arguments(c.command, 1, "", {"reference", "from"});
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
  if (const shell::Command* find = feeding_find(c)) {
    return outside_find(c, *find, read_find(*find), Taking::kFiles);
  }
  if (c.command.has_more_words) return Hit{c.command.span, ""};
  return std::nullopt;
}

std::optional<Hit> changes_owner(const Case& c) {
  const shell::Arguments arguments(c.command, 1, "", {"reference", "from"});
  if (wants_help(arguments) || c.command.words.size() < 2) return std::nullopt;
  return Hit{c.command.span, arguments.operands().empty() ? "" : arguments.operands().back()->text};
}

// --- overwriting ---

std::optional<Hit> overwritten(const Case& c, const shell::Word& word,
                               bool (*is_bad)(const Case&, const std::string&)) {
  Directories known = c.directories;
  std::erase(known, "");
  if (known.empty()) known.emplace_back();
  if (const shell::Command* find = is_placeholder(c, word) ? feeding_find(c) : nullptr) {
    for (const std::string& path : find_places(c, read_find(*find))) {
      if (c.places.is_written_outside_below(path)) return Hit{word.span, Places::shown(path)};
    }
    return std::nullopt;
  }
  const auto paths = c.places.resolve(word, known, true);
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
std::vector<shell::Word> written_operands(const Case& c) {
  std::vector<shell::Word> out;
  const auto add_operands = [&](const shell::Arguments& arguments) {
    for (const shell::Word* word : arguments.operands()) out.push_back(*word);
  };
  if (c.program == "dd") {
    for (const shell::Word& word : c.command.words) {
      if (!word.text.starts_with("of=")) continue;
      out.push_back(word);
      out.back().text.erase(0, 3);
      if (!out.back().shape.empty()) out.back().shape.erase(0, 3);
    }
  } else if (c.program == "find") {
    for (std::size_t i = 1; i + 1 < c.command.words.size(); ++i) {
      if (shell::is_listed(c.command.words[i].text, "-fprint -fprint0 -fprintf -fls"))
        out.push_back(c.command.words[i + 1]);
    }
  } else if (c.program == "tee") {
    add_operands(shell::Arguments(c.command, 1));
  } else if (c.program == "truncate") {
    add_operands(shell::Arguments(c.command, 1, "sr", {"size", "reference"}));
  } else if (c.program == "cp" || c.program == "mv") {
    const shell::Arguments arguments(c.command, 1, "tS", {"target-directory", "suffix"});
    if (arguments.operands().size() > 1) out.push_back(*arguments.operands().back());
  }
  return out;
}

std::optional<Hit> writes_to_device(const Case& c) {
  for (const shell::Redirection& redirection : c.command.redirections) {
    if (redirection.kind != shell::RedirectionKind::kTruncate &&
        redirection.kind != shell::RedirectionKind::kAppend) {
      continue;
    }
    if (auto hit = overwritten(c, redirection.target, is_device)) return hit;
  }
  if (!shell::is_listed(c.program, "dd tee cp mv find")) return std::nullopt;
  for (const shell::Word& word : written_operands(c)) {
    if (auto hit = overwritten(c, word, is_device)) return hit;
  }
  return std::nullopt;
}

// Files that are replaced by nothing, or edited where they stand.
std::optional<Hit> empties_outside(const Case& c) {
  std::vector<const shell::Word*> files;
  if (c.program == "cp" || c.program == "install" || c.program == "rsync") {
    const shell::Arguments arguments(c.command, 1, "tSmog", {"target-directory", "suffix", "mode"});
    const auto& operands = arguments.operands();
    if (operands.size() > 1 && operands.front()->text == "/dev/null") files = {operands.back()};
  } else if (shell::is_listed(c.program, "sed gsed perl")) {
    const shell::Arguments arguments(c.command, 1, "efElsi", {"expression", "file", "line-length"});
    if (arguments.find('i', "in-place") != nullptr) files = arguments.operands();
  } else if (c.program == "sponge") {
    files = shell::Arguments(c.command, 1).operands();
  } else if (c.program == "sort") {
    const shell::Arguments arguments(c.command, 1, "oktST", {"output"});
    const shell::Word* option = arguments.find('o', "output");
    if (option == nullptr) return std::nullopt;
    shell::Word target = *option;
    target.text = arguments.value('o', "output");
    return overwritten(c, target, is_outside);
  }
  for (const shell::Word* word : files) {
    if (auto hit = overwritten(c, *word, is_outside)) return hit;
  }
  return std::nullopt;
}

std::optional<Hit> truncates_outside(const Case& c) {
  for (const shell::Redirection& redirection : c.command.redirections) {
    if (redirection.kind != shell::RedirectionKind::kTruncate) continue;
    if (auto hit = overwritten(c, redirection.target, is_outside)) return hit;
  }
  if (auto hit = empties_outside(c)) return hit;
  if (!shell::is_listed(c.program, "dd tee truncate find")) return std::nullopt;
  if (c.program == "tee" && shell::Arguments(c.command, 1).find('a', "append") != nullptr) {
    return std::nullopt;
  }
  for (const shell::Word& word : written_operands(c)) {
    if (auto hit = overwritten(c, word, is_outside)) return hit;
  }
  return std::nullopt;
}

constexpr std::array kRules = {
    Rule{"destructive.rm-outside", "rm unlink mv rimraf tar zip", removes_outside,
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
         "mv ~/notes /dev/null\n"
         "mv ../project ../old\n"
         "tar --remove-files -cf t.tar /data/sub\n"
         "zip -qrm t.zip /data/sub",
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
         "mv ~/notes .\n"
         "tar czf t.tgz --remove-files build\n"
         "zip -rm t.zip build\n"
         "zip -r t.zip /data/sub"},
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
         "cd /data && echo x > hosts\n"
         "find /data -name x -exec truncate -s 0 {} +",
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

}  // namespace sbx::guard
