// SPDX-License-Identifier: Apache-2.0
// One walk over the commands in the order of the text, with the text between them.
#include "guard/directories.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "guard/rule.h"
#include "shell/arguments.h"
#include "shell/marks.h"

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

// Directories of which one is below the other may go on for ever: from there on it is any below.
Directories gathered(const Directories& set) {
  Directories out;
  for (const std::string& directory : set) {
    const auto is_above = [&](const std::string& other) {
      return !other.empty() && other != directory && is_below(directory, other);
    };
    const auto above = std::find_if(set.begin(), set.end(), is_above);
    add(out, above == set.end() ? directory : *above + '/' + kDeep);
  }
  return out;
}

// Whether cd to it cannot fail: what a pattern or find gave is there, and so is what is above.
bool is_there(const Word& word) {
  if (word.known) return !word.text.empty() && word.text.find_first_not_of("./") == word.text.npos;
  return word.shape.find_first_of({kStar, kDeep}) != std::string::npos;
}

struct State {
  Directories now;          // where the next command runs if all before it went well
  Directories before;       // where it may run otherwise
  Directories last = {""};  // $OLDPWD, likewise
  Directories last_before;
  std::vector<Directories> pushed;
  bool stops_at_errors = false;

  void doubt() {
    for (std::string& directory : before) add(now, std::move(directory));
    for (std::string& directory : last_before) add(last, std::move(directory));
    before.clear();
    last_before.clear();
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
    prepare();
    steps_left_ = kTurns * order.size();
    std::size_t loop = 0;
    walk(order, 0, order.size(), loop, use);
    // A function's body runs where it is called.
    std::map<std::int32_t, std::vector<std::size_t>> bodies;
    for (const std::size_t at : order) {
      if (reading_.commands[at].function >= 0) bodies[reading_.commands[at].function].push_back(at);
    }
    for (std::size_t turn = 0; turn < kTurns && !called_.empty(); ++turn) {
      for (auto& [function, directories] : std::exchange(called_, {})) {
        const bool stops_at_errors = state_.stops_at_errors;
        state_ = {};
        state_.now = directories;
        state_.stops_at_errors = stops_at_errors;
        is_nested_ = left_ = false;
        outer_end_ = last_end_ = 0;
        for (const std::size_t at : bodies[function]) step_through(at, use);
      }
    }
  }

 private:
  static constexpr std::size_t kTurns = 4;

  void prepare() {
    for (std::size_t i = 0; i < reading_.functions.size(); ++i)
      functions_[reading_.functions[i].name] = static_cast<std::int32_t>(i);
    constexpr std::string_view kName = "CDPATH";
    for (const Command& command : reading_.commands) {
      for (const Assignment& assignment : command.assignments) {
        const bool is_empty = assignment.value.known && assignment.value.text.empty();
        searches_ = searches_ || (assignment.name == kName && !is_empty);
        sets_last_ = sets_last_ || assignment.name == "OLDPWD";
      }
      for (const Word& word : command.words) {
        searches_ = searches_ || (word.text.starts_with("CDPATH=") && word.text.size() > 7);
        sets_last_ = sets_last_ || word.text.starts_with("OLDPWD");
      }
    }
  }

  template <typename Use>
  void step_through(std::size_t at, Use use) {
    const Command& command = reading_.commands[at];
    enter(command);
    use(at, state_.now);
    if (command.function >= 0) widen(seen_[command.function], state_.now);
    const auto called = functions_.find(program_of(command));
    if (called != functions_.end() && widen(seen_[called->second], state_.now))
      called_[called->second] = seen_[called->second];
    follow(command);
  }

  // Whether `more` has any that `set` had not.
  static bool widen(Directories& set, const Directories& more) {
    const std::size_t size = set.size();
    for (const std::string& directory : more) add(set, directory);
    return set.size() > size;
  }

  // Commands [begin, end) of `order`. Those of a loop run again where a turn of it may have ended.
  template <typename Use>
  void walk(const std::vector<std::size_t>& order, std::size_t begin, std::size_t end,
            std::size_t& loop, Use use) {
    for (std::size_t i = begin; i < end;) {
      const std::size_t at = reading_.commands[order[i]].span.begin;
      while (loop < reading_.loops.size() && reading_.loops[loop].end <= at) ++loop;
      if (loop == reading_.loops.size() || at < reading_.loops[loop].begin) {
        step_through(order[i++], use);
        continue;
      }
      const Span span = reading_.loops[loop++];
      std::size_t last = i;
      while (last < end && reading_.commands[order[last]].span.begin < span.end) ++last;
      const auto start = std::tuple(state_, saved_, is_nested_, left_, outer_end_, last_end_);
      Directories starts = state_.now;
      std::size_t inner = loop;
      for (std::size_t turn = 0; turn < kTurns; ++turn) {
        std::tie(state_, saved_, is_nested_, left_, outer_end_, last_end_) = start;
        state_.now = starts;
        inner = loop;
        walk(order, i, last, inner, use);
        const State& after = is_nested_ ? saved_ : state_;
        Directories wider = starts;
        widen(wider, after.now);
        widen(wider, after.before);
        if (turn > 0) wider = gathered(wider);
        if (wider == starts) break;
        starts = std::move(wider);
        // Wherever it goes from there.
        if (turn > 1 || steps_left_ < last - i) add(starts, "");
        steps_left_ -= std::min(steps_left_, last - i);
      }
      loop = inner;
      i = last;
    }
  }

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
      pop(command);
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

  // Back to where the last pushd was called: one that failed took nothing, and an earlier one's is
  // given back.
  void pop(const Command& command) {
    if (command.words.size() > 1 || state_.pushed.empty()) return go({""});
    Directories back;
    for (const Directories& each : state_.pushed) {
      for (const std::string& directory : each) add(back, directory);
    }
    state_.pushed.pop_back();
    go(std::move(back), true);
  }

  bool is_last(const Word& word) const {
    const std::string_view written =
        text_.substr(word.span.begin, std::max(word.span.end, word.span.begin) - word.span.begin);
    return word.text == "-" || written == "$OLDPWD" || written == "\"$OLDPWD\"";
  }

  void change(const std::vector<const Word*>& operands, bool is_push = false) {
    if (operands.empty()) return go({is_push ? std::string() : places_.home()});
    if (is_push) state_.pushed.push_back(state_.now);
    if (!is_push && !sets_last_ && is_last(*operands.front())) return go(state_.last, true);
    const auto paths = operands.front()->text == "-" || operands.front()->text.starts_with('+')
                           ? std::nullopt
                           : places_.resolve(*operands.front(), state_.now);
    const std::string_view first = std::string_view(operands.front()->text).substr(0, 1);
    const bool is_searched = searches_ && !operands.front()->has_tilde && first != "/" &&
                             first != "." && (operands.front()->known || !paths);
    if (is_searched) return go({""});
    go(paths && !operands.front()->has_glob ? *paths : Directories{""},
       is_there(*operands.front()));
  }

  void go(Directories directories, bool is_sure = false) {
    if (!is_sure) {
      for (const std::string& directory : state_.now) add(state_.before, directory);
      for (std::string& directory : state_.last) add(state_.last_before, std::move(directory));
    }
    state_.last = std::exchange(state_.now, {});
    for (std::string& directory : directories) add(state_.now, std::move(directory));
  }

  const Reading& reading_;
  std::string_view text_;
  const Places& places_;
  State state_;
  State saved_;
  bool is_nested_ = false;
  bool left_ = false;       // the command before was an exit behind ||
  bool searches_ = false;   // CDPATH says where cd leads
  bool sets_last_ = false;  // the text says what OLDPWD is
  std::map<std::string_view, std::int32_t> functions_;
  std::map<std::int32_t, Directories> seen_;    // where each function's body was taken to run
  std::map<std::int32_t, Directories> called_;  // and where it is called beyond that
  std::size_t steps_left_ = 0;
  std::size_t outer_end_ = 0;
  std::size_t last_end_ = 0;
};

}  // namespace

DirectoryMap::DirectoryMap(const Reading& reading, std::string_view text, const Places& places,
                           const std::string& cwd) {
  which_.assign(reading.commands.size(), 0);
  sets_.push_back({});
  Walk(reading, text, places).run(cwd, [&](std::size_t index, const Directories& directories) {
    Directories all = sets_[which_[index]];
    for (const std::string& directory : directories) add(all, directory);
    if (sets_.back() != all) sets_.push_back(std::move(all));
    which_[index] = static_cast<std::uint32_t>(sets_.size() - 1);
  });
}

}  // namespace sbx
