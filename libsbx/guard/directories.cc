// SPDX-License-Identifier: Apache-2.0
// One walk over the commands in the order of the text, with the text between them.
#include "guard/directories.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "guard/rule.h"
#include "shell/arguments.h"
#include "shell/marks.h"

namespace sbx::guard {
namespace {

constexpr std::size_t kMaxDirectories = 16;

void add(Directories& set, std::string directory) {
  if (std::find(set.begin(), set.end(), directory) != set.end()) return;
  if (set.size() >= kMaxDirectories) directory.clear();
  if (set.size() <= kMaxDirectories) set.push_back(std::move(directory));
}

// "&&", "!", blanks and what opens a group: what stands behind runs only where the command before
// succeeded, in the same shell.
bool is_chained(std::string_view gap) {
  return gap.find_first_not_of(" \t\\\n&({!") == std::string_view::npos &&
         gap.find("&&") != std::string_view::npos && gap.find('\n') == std::string_view::npos;
}

constexpr std::string_view kTrap = "trap";

bool is_child(const std::string& via) {
  return !shell::is_listed(via, "eval source . builtin command");
}

bool runs_in_a_child(const shell::Command& command) {
  return std::any_of(command.via.begin(), command.via.end(), is_child);
}

// Whether it is a trap's, and of which shell: the one that reads the text, or a child of that.
struct OfTrap {
  bool is_any = false;
  bool is_in_child = false;
};

OfTrap of_trap(const shell::Command& command) {
  const auto trap = std::find(command.via.begin(), command.via.end(), kTrap);
  return {trap != command.via.end(), std::any_of(command.via.begin(), trap, is_child)};
}

// Whether the shell that the command starts ends at the first error: bash -euc.
bool starts_strictly(const shell::Command& command) {
  bool is_shell = false;
  bool is_value = false;
  for (const shell::Word& word : command.words) {
    const std::string_view text = word.text;
    if (!is_shell) {
      is_shell = shell::is_listed(shell::base_name(text), "sh bash dash ksh zsh");
    } else if (!std::exchange(is_value, false)) {
      if (!text.starts_with('-')) return false;
      is_value = text.ends_with('o');
      if (!text.starts_with("--") && text.find('e') != std::string_view::npos) return true;
    }
  }
  return false;
}

// Directories of which one is below the other may go on for ever: from there on it is any below.
Directories gathered(const Directories& set) {
  Directories out;
  for (const std::string& directory : set) {
    const auto is_above = [&](const std::string& other) {
      return !other.empty() && other != directory && is_below(directory, other);
    };
    const auto above = std::find_if(set.begin(), set.end(), is_above);
    add(out, above == set.end() ? directory : *above + '/' + shell::kDeep);
  }
  return out;
}

// Whether cd to it cannot fail: what a pattern or find gave is there, and so is what is above.
bool is_there(const shell::Word& word) {
  if (word.known) return !word.text.empty() && word.text.find_first_not_of("./") == word.text.npos;
  return word.shape.find_first_of({shell::kStar, shell::kDeep}) != std::string::npos;
}

struct State {
  Directories now;          // where the next command runs if all before it went well
  Directories before;       // where it may run otherwise
  Directories last = {""};  // $OLDPWD, likewise
  Directories last_before;
  std::vector<Directories> pushed;
  bool stops_at_errors = false;

  void forget_failures() {
    before.clear();
    last_before.clear();
  }
  void doubt() {
    for (std::string& directory : before) add(now, std::move(directory));
    for (std::string& directory : last_before) add(last, std::move(directory));
    forget_failures();
  }
};

// Where the walk is.
struct At {
  State state;
  State saved;  // of the outer shell, while commands of a child are walked
  bool is_nested = false;
  bool is_linked = false;  // the command stands behind && or ||
  std::size_t outer_end = 0;
  std::size_t last_end = 0;
  std::vector<bool> strict;  // of the shells around the last command's
  std::size_t depth = 0;     // how many commands run the last one
  bool is_strict = false;    // the last one is a shell that ends at the first error
};

class Walk {
 public:
  Walk(const shell::Reading& reading, std::string_view text, const Places& places)
      : reading_(reading), text_(text), places_(places) {}

  // Calls `use(index, directories)` for each command.
  template <typename Use>
  void run(const std::string& cwd, Use use) {
    at_.state.now = {cwd};
    std::vector<std::size_t> order(reading_.commands.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return reading_.commands[a].span.begin < reading_.commands[b].span.begin;
    });
    prepare();
    steps_left_ = kTurns * order.size();
    std::size_t region = 0;
    walk(order, 0, order.size(), region, use);
    run_traps(use);
    // A function's body runs where it is called.
    std::map<std::int32_t, std::vector<std::size_t>> bodies;
    for (const std::size_t at : order) {
      if (reading_.commands[at].function >= 0) bodies[reading_.commands[at].function].push_back(at);
    }
    for (std::size_t turn = 0; turn < kTurns && !called_.empty(); ++turn) {
      for (auto& [function, directories] : std::exchange(called_, {})) {
        const bool stops_at_errors = at_.state.stops_at_errors;
        start_at(directories);
        at_.state.stops_at_errors = stops_at_errors;
        std::size_t first = 0;
        walk(bodies[function], 0, bodies[function].size(), first, use);
      }
    }
  }

 private:
  static constexpr std::size_t kTurns = 4;

  void prepare() {
    for (std::size_t i = 0; i < reading_.functions.size(); ++i)
      functions_[reading_.functions[i].name] = static_cast<std::int32_t>(i);
    constexpr std::string_view kName = "CDPATH";
    for (const shell::Command& command : reading_.commands) {
      for (const shell::Assignment& assignment : command.assignments) {
        const bool is_empty = assignment.value.known && assignment.value.text.empty();
        searches_ = searches_ || (assignment.name == kName && !is_empty);
        sets_last_ = sets_last_ || assignment.name == "OLDPWD";
      }
      for (const shell::Word& word : command.words) {
        searches_ = searches_ || (word.text.starts_with("CDPATH=") && word.text.size() > 7);
        sets_last_ = sets_last_ || word.text.starts_with("OLDPWD");
      }
    }
  }

  // Traps of one shell: their commands, and where it has been since the first was set.
  struct Traps {
    std::set<std::size_t> commands;
    Directories directories;
    std::size_t depth = 0;  // of subshells around the first: those below it have no traps
  };

  void start_at(const Directories& directories) {
    at_ = {};
    at_.state.now = directories;
  }

  // A trap may run wherever its shell has been since.
  template <typename Use>
  void run_traps(Use use) {
    for (const Traps& traps : {std::exchange(traps_, {}), std::exchange(child_traps_, {})}) {
      const std::vector<std::size_t> commands(traps.commands.begin(), traps.commands.end());
      for (std::size_t i = 0; i < commands.size();) {
        const Span span = reading_.commands[commands[i]].span;
        const std::size_t begin = i;
        while (i < commands.size() && reading_.commands[commands[i]].span == span) ++i;
        start_at(traps.directories);
        std::size_t region = 0;
        walk(commands, begin, i, region, use);
      }
    }
  }

  void note_traps(std::size_t at) {
    const shell::Command& command = reading_.commands[at];
    if (const OfTrap trap = of_trap(command); trap.is_any) {
      Traps& traps = trap.is_in_child ? child_traps_ : traps_;
      traps.depth = traps.commands.empty() ? subshells_ : std::min(traps.depth, subshells_);
      traps.commands.insert(at);
      return;
    }
    Traps& traps = at_.is_nested ? child_traps_ : traps_;
    if (traps.commands.empty() || subshells_ > traps.depth) return;
    widen(traps.directories, at_.state.now);
    widen(traps.directories, at_.state.before);
  }

  template <typename Use>
  void step_through(std::size_t at, Use use) {
    const shell::Command& command = reading_.commands[at];
    enter(command);
    use(at, at_.state.now);
    if (command.function >= 0) widen(seen_[command.function], at_.state.now);
    const auto called = functions_.find(known_program_of(command));
    if (called != functions_.end() && widen(seen_[called->second], at_.state.now))
      called_[called->second] = seen_[called->second];
    follow(command);
    note_traps(at);
  }

  // Whether `more` has any that `set` had not.
  static bool widen(Directories& set, const Directories& more) {
    const std::size_t size = set.size();
    for (const std::string& directory : more) add(set, directory);
    return set.size() > size;
  }

  // Commands [begin, end) of `order`. Those of a region may not run at all, or for a child alone;
  // those of a loop run again where a turn of it may have ended.
  template <typename Use>
  void walk(const std::vector<std::size_t>& order, std::size_t begin, std::size_t end,
            std::size_t& region, Use use) {
    const std::vector<shell::Region>& regions = reading_.regions;
    for (std::size_t i = begin; i < end;) {
      const std::size_t at = order[i];
      while (region < regions.size() && regions[region].end <= at) ++region;
      if (region == regions.size() || at < regions[region].begin) {
        step_through(order[i++], use);
        continue;
      }
      const shell::Region here = regions[region++];
      std::size_t last = i;
      while (last < end && order[last] >= here.begin && order[last] < here.end) ++last;
      leave_child(reading_.commands[at]);
      const At start = at_;
      // A child that begins with it ends behind it.
      const bool is_nested = start.is_nested || runs_in_a_child(reading_.commands[at]);
      const auto after = [&]() -> State& {
        return at_.is_nested && !is_nested ? at_.saved : at_.state;
      };
      Directories starts = start.state.now;
      std::size_t inner = region;
      for (std::size_t turn = 0; turn < kTurns; ++turn) {
        at_ = start;
        at_.state.now = starts;
        if (here.kind == shell::RegionKind::kThen || here.kind == shell::RegionKind::kNext)
          at_.state.forget_failures();
        inner = region;
        subshells_ += here.kind == shell::RegionKind::kChild ? 1 : 0;
        walk(order, i, last, inner, use);
        subshells_ -= here.kind == shell::RegionKind::kChild ? 1 : 0;
        if (here.kind != shell::RegionKind::kLoop) break;
        Directories wider = starts;
        widen(wider, after().now);
        widen(wider, after().before);
        if (turn > 0) wider = gathered(wider);
        if (wider == starts) break;
        starts = std::move(wider);
        // Wherever it goes from there.
        if (turn > 1 || steps_left_ < last - i) add(starts, "");
        steps_left_ -= std::min(steps_left_, last - i);
      }
      leave_region(here, start.state, after());
      region = inner;
      i = last;
    }
  }

  // What is known behind a region: `start` was before it, `end` is where its commands end.
  static void leave_region(const shell::Region& region, const State& start, State& end) {
    const shell::RegionKind kind = region.kind;
    if (kind == shell::RegionKind::kNegated) return end.doubt();
    if (kind == shell::RegionKind::kChild || region.leaves) {
      end = start;
      if (kind == shell::RegionKind::kOtherwise) end.forget_failures();
      return;
    }
    const bool is_next = kind == shell::RegionKind::kNext;
    widen(is_next ? end.before : end.now, start.now);
    widen(is_next ? end.last_before : end.last, start.last);
    if (is_next || kind == shell::RegionKind::kThen) {
      widen(is_next ? end.before : end.now, start.before);
      widen(is_next ? end.last_before : end.last, start.last_before);
    }
    if (!start.stops_at_errors) end.stops_at_errors = false;
  }

  // Back from what ran within the words of another command, where this one does not.
  void leave_child(const shell::Command& next) {
    if (!at_.is_nested || next.span.begin < at_.outer_end) return;
    at_.state = at_.saved;
    at_.is_nested = false;
  }

  void enter(const shell::Command& command) {
    const std::size_t begin = command.span.begin;
    if (begin >= at_.outer_end) {
      leave_child(command);
      step(gap(at_.outer_end, begin));
      at_.outer_end = command.span.end;
    } else {
      if (!at_.is_nested && runs_in_a_child(command)) {
        at_.saved = at_.state;
        at_.is_nested = true;
      }
      if (at_.is_nested) take_strictness(command);
      step(begin >= at_.last_end ? gap(at_.last_end, begin) : command.gap);
    }
    at_.last_end = command.span.end;
    at_.depth = command.via.size();
    at_.is_strict = starts_strictly(command);
  }

  // Another shell than that of the command before has its own `set -e`.
  void take_strictness(const shell::Command& command) {
    const std::size_t depth = command.via.size();
    at_.strict.resize(std::max(depth, at_.depth) + 1);
    if (depth < at_.depth) at_.state.stops_at_errors = at_.strict[depth];
    if (depth <= at_.depth) return;
    at_.strict[at_.depth] = at_.state.stops_at_errors;
    if (is_child(command.via.back())) at_.state.stops_at_errors = at_.is_strict;
  }

  // The text between the end of a command and the next.
  std::string_view gap(std::size_t end, std::size_t begin) const {
    begin = std::min(begin, text_.size());
    return end == 0 || end > begin ? std::string_view() : text_.substr(end, begin - end);
  }

  // From the command before to this one, over what stands between them.
  void step(std::string_view gap) {
    at_.is_linked = gap.find("&&") != gap.npos || gap.find("||") != gap.npos;
    if (gap.empty() || at_.state.before.empty()) return;
    const bool or_fail =
        at_.state.stops_at_errors && gap.find_first_of(")|&}") == std::string_view::npos;
    if (!is_chained(gap) && !or_fail) at_.state.doubt();
  }

  void follow(const shell::Command& command) {
    const std::string_view program = known_program_of(command);
    if (program == "cd" || program == "pushd") {
      change(shell::Arguments(command, 1).operands(), program == "pushd");
    } else if (program == "popd") {
      pop(command);
    } else if (program == "set") {
      set_options(command.words);
    } else if (program == "env") {
      // What env runs is within its own words, so that this ends with them.
      const shell::Arguments arguments(command, 1, "uC", {"chdir", "unset"});
      const shell::Word* option = arguments.find('C', "chdir");
      if (option == nullptr) return;
      if (!at_.is_nested) at_.saved = at_.state;
      at_.is_nested = true;
      shell::Word target = *option;
      target.text = arguments.value('C', "chdir");
      change({&target});
    }
  }

  // What may not run makes nothing end.
  void set_options(const std::vector<shell::Word>& words) {
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string& flags = words[i].text;
      if (flags.size() < 2 || flags == "--" || (flags[0] != '-' && flags[0] != '+')) return;
      const bool has_name = flags.ends_with('o') && i + 1 < words.size();
      const bool is_it =
          flags.find('e') != flags.npos || (has_name && words[i + 1].text == "errexit");
      if (is_it && flags[0] == '+') at_.state.stops_at_errors = false;
      if (is_it && flags[0] == '-' && !at_.is_linked) at_.state.stops_at_errors = true;
      if (has_name) ++i;
    }
  }

  // Where popd leads behind more of them is not known.
  void push() {
    constexpr std::size_t kMaxPushed = 16;
    std::vector<Directories>& pushed = at_.state.pushed;
    if (pushed.size() == kMaxPushed) pushed = {{""}};
    pushed.push_back(at_.state.now);
  }

  // Back to where the last pushd was called: one that failed took nothing, and an earlier one's is
  // given back.
  void pop(const shell::Command& command) {
    if (command.words.size() > 1 || at_.state.pushed.empty()) return go({""});
    Directories back;
    for (const Directories& each : at_.state.pushed) {
      for (const std::string& directory : each) add(back, directory);
    }
    at_.state.pushed.pop_back();
    go(std::move(back), true);
  }

  bool is_last(const shell::Word& word) const {
    const std::string_view written =
        text_.substr(word.span.begin, std::max(word.span.end, word.span.begin) - word.span.begin);
    return word.text == "-" || written == "$OLDPWD" || written == "\"$OLDPWD\"";
  }

  void change(const std::vector<const shell::Word*>& operands, bool is_push = false) {
    if (operands.empty()) return go({is_push ? std::string() : places_.home()});
    if (is_push) push();
    if (!is_push && !sets_last_ && is_last(*operands.front())) return go(at_.state.last, true);
    const auto paths = operands.front()->text == "-" || operands.front()->text.starts_with('+')
                           ? std::nullopt
                           : places_.resolve(*operands.front(), at_.state.now);
    const std::string_view first = std::string_view(operands.front()->text).substr(0, 1);
    const bool is_searched = searches_ && !operands.front()->has_tilde && first != "/" &&
                             first != "." && (operands.front()->known || !paths);
    if (is_searched) return go({""});
    go(paths && !operands.front()->has_glob ? *paths : Directories{""},
       is_there(*operands.front()));
  }

  void go(Directories directories, bool is_sure = false) {
    if (!is_sure || at_.is_linked) {
      for (const std::string& directory : at_.state.now) add(at_.state.before, directory);
      for (std::string& directory : at_.state.last)
        add(at_.state.last_before, std::move(directory));
    }
    at_.state.last = std::exchange(at_.state.now, {});
    for (std::string& directory : directories) add(at_.state.now, std::move(directory));
  }

  const shell::Reading& reading_;
  std::string_view text_;
  const Places& places_;
  At at_;
  bool searches_ = false;   // CDPATH says where cd leads
  bool sets_last_ = false;  // the text says what OLDPWD is
  std::map<std::string_view, std::int32_t> functions_;
  std::map<std::int32_t, Directories> seen_;    // where each function's body was taken to run
  std::map<std::int32_t, Directories> called_;  // and where it is called beyond that
  std::size_t steps_left_ = 0;
  Traps traps_;
  Traps child_traps_;
  std::size_t subshells_ = 0;  // around the command
};

}  // namespace

DirectoryMap::DirectoryMap(const shell::Reading& reading, std::string_view text,
                           const Places& places, const std::string& cwd) {
  which_.assign(reading.commands.size(), 0);
  sets_.push_back({});
  Walk(reading, text, places).run(cwd, [&](std::size_t index, const Directories& directories) {
    Directories all = sets_[which_[index]];
    for (const std::string& directory : directories) add(all, directory);
    if (sets_.back() != all) sets_.push_back(std::move(all));
    which_[index] = static_cast<std::uint32_t>(sets_.size() - 1);
  });
}

}  // namespace sbx::guard
