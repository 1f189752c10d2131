// SPDX-License-Identifier: Apache-2.0
// One walk over the commands in the order of the text, with the text between them.
#include "guard/directories.h"

#include <algorithm>
#include <numeric>

#include "guard/arguments.h"
#include "guard/rule.h"

namespace sbx {
namespace {

constexpr std::size_t kMaxDirectories = 16;

void add(Directories& set, std::string directory) {
  if (std::find(set.begin(), set.end(), directory) != set.end()) return;
  if (set.size() >= kMaxDirectories) directory.clear();
  if (set.size() <= kMaxDirectories) set.push_back(std::move(directory));
}

// "&&", blanks and what opens a group: what stands behind runs only where the command before
// succeeded, in the same shell.
bool is_chained(std::string_view gap) {
  return gap.find_first_not_of(" \t\\\n&({") == std::string_view::npos &&
         gap.find("&&") != std::string_view::npos && gap.find('\n') == std::string_view::npos;
}

std::string_view program_of(const Command& command) {
  return command.words.empty() || !command.words.front().known
             ? std::string_view()
             : base_name(command.words.front().text);
}

bool runs_in_a_child(const Command& command) {
  return std::any_of(command.via.begin(), command.via.end(), [](const std::string& name) {
    return !is_listed(name, "eval source . builtin command");
  });
}

struct State {
  Directories now;     // where the next command runs if all before it went well
  Directories before;  // where it may run otherwise
  bool stops_at_errors = false;

  void doubt() {
    for (std::string& directory : before) add(now, std::move(directory));
    before.clear();
  }
};

class Walk {
 public:
  Walk(const Reading& reading, std::string_view text, const Places& places)
      : reading_(reading), text_(text), places_(places) {}

  // Calls `use(index, directories)` for each command.
  template <typename Use>
  void run(const std::string& cwd, Use use) {
    state_.now = {cwd};
    std::vector<std::size_t> order(reading_.commands.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return reading_.commands[a].span.begin < reading_.commands[b].span.begin;
    });
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Command& command = reading_.commands[order[i]];
      enter(command);
      use(order[i], state_.now);
      follow(command);
    }
  }

 private:
  void enter(const Command& command) {
    const std::size_t begin = command.span.begin;
    if (begin >= outer_end_) {
      // Back from what ran within the words of another command.
      if (is_nested_) state_ = saved_;
      is_nested_ = false;
      step(outer_end_, command);
      outer_end_ = command.span.end;
    } else {
      if (!is_nested_ && runs_in_a_child(command)) {
        saved_ = state_;
        is_nested_ = true;
      }
      if (begin >= last_end_) step(last_end_, command);
    }
    last_end_ = command.span.end;
  }

  // From the end of the command before to this one.
  void step(std::size_t from, const Command& command) {
    const std::size_t begin = std::min<std::size_t>(command.span.begin, text_.size());
    if (from == 0 || from > begin || state_.before.empty()) return;
    const std::string_view gap = text_.substr(from, begin - from);
    const std::string_view program = program_of(command);
    const bool leaves = program == "exit" || program == "return";
    const bool or_leave = leaves && gap.find("||") != std::string_view::npos;
    const bool or_fail =
        state_.stops_at_errors && gap.find_first_of(")|&}") == std::string_view::npos;
    if (or_leave) {
      left_ = true;
    } else if (!is_chained(gap) && !or_fail &&
               !(left_ && gap.find(')') == std::string_view::npos)) {
      state_.doubt();
      left_ = false;
    } else {
      left_ = false;
    }
  }

  void follow(const Command& command) {
    const std::string_view program = program_of(command);
    if (program == "cd" || program == "pushd") {
      change(Arguments(command, 1).operands(), program == "pushd");
    } else if (program == "popd") {
      go({""});
    } else if (program == "set" && command.words.size() > 1) {
      const std::string& flags = command.words[1].text;
      if (flags.starts_with('-') && flags.find('e') != std::string::npos) {
        state_.stops_at_errors = true;
      }
    } else if (program == "env") {
      // What env runs is within its own words, so that this ends with them.
      const Arguments arguments(command, 1, "uC", {"chdir", "unset"});
      const Word* option = arguments.find('C', "chdir");
      if (option == nullptr) return;
      if (!is_nested_) saved_ = state_;
      is_nested_ = true;
      Word target = *option;
      target.text = arguments.value('C', "chdir");
      change({&target});
    }
  }

  void change(const std::vector<const Word*>& operands, bool is_push = false) {
    if (operands.empty()) return go({is_push ? std::string() : places_.home()});
    const auto paths = operands.front()->text == "-" || operands.front()->text.starts_with('+')
                           ? std::nullopt
                           : places_.resolve(*operands.front(), state_.now);
    go(paths && !operands.front()->has_glob ? *paths : Directories{""});
  }

  void go(Directories directories) {
    for (std::string& directory : state_.now) add(state_.before, std::move(directory));
    state_.now.clear();
    for (std::string& directory : directories) add(state_.now, std::move(directory));
  }

  const Reading& reading_;
  std::string_view text_;
  const Places& places_;
  State state_;
  State saved_;
  bool is_nested_ = false;
  bool left_ = false;  // the command before was an exit behind ||
  std::size_t outer_end_ = 0;
  std::size_t last_end_ = 0;
};

}  // namespace

DirectoryMap::DirectoryMap(const Reading& reading, std::string_view text, const Places& places,
                           const std::string& cwd) {
  which_.assign(reading.commands.size(), 0);
  sets_.push_back({cwd});
  Walk(reading, text, places).run(cwd, [&](std::size_t index, const Directories& directories) {
    if (sets_.back() != directories) sets_.push_back(directories);
    which_[index] = static_cast<std::uint32_t>(sets_.size() - 1);
  });
}

}  // namespace sbx
