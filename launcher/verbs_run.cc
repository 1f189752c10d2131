// SPDX-License-Identifier: Apache-2.0
// run and exec: the one prints an answer or shows a person what happens, the other is transparent.
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <memory>

#include "base/format.h"
#include "base/text.h"
#include "flag_table.h"
#include "flags.h"
#include "loop.h"
#include "prepare.h"
#include "report/account.h"
#include "report/audit_log.h"
#include "report/events.h"
#include "report/json.h"
#include "rpc/task_json.h"
#include "run/http_process.h"
#include "session/approval_records.h"
#include "session/task.h"
#include "stream.h"
#include "verbs.h"

namespace sbx {
namespace {

enum class Form { kJson, kEvents, kText };

// Before the flags could be read: as the words say, else as stdout does.
Form form_of(const std::vector<std::string>& arguments) {
  std::string_view before;
  bool is_text = isatty(STDOUT_FILENO) != 0;
  for (const std::string& word : arguments) {
    if (word == "--") break;
    if (word == "--stream") return Form::kEvents;
    if (word == "--json" || word == "--format=json") is_text = false;
    if (word == "--format=text") is_text = true;
    if (before == "--format") is_text = word == "text" || (is_text && word != "json");
    before = word;
  }
  return is_text ? Form::kText : Form::kJson;
}

// Likewise where the answer of exec is to go.
RunOptions destination_of(const std::vector<std::string>& arguments) {
  RunOptions options;
  std::string* value = nullptr;  // of the flag before
  for (const std::string& word : arguments) {
    if (word == "--") break;
    if (value != nullptr) *value = word;
    value = nullptr;
    const auto look_for = [&](std::string_view flag, std::string& to) {
      if (!word.starts_with(flag)) return;
      if (word.size() == flag.size()) value = &to;
      if (word[flag.size()] == '=') to = word.substr(flag.size() + 1);
    };
    look_for("--result-file", options.result_file);
    look_for("--result-fd", options.result_fd);
  }
  return options;
}

Result<Form> form_of(const RunOptions& options) {
  const std::string& format = options.output_format;
  if (options.stream || options.json) {
    const std::string flag = options.stream ? "--stream" : "--json";
    if (format == "text") {
      return Error{ErrorCode::kBadFlag, flag + " and --format text contradict each other",
                   "--format", "leave one of the two out"};
    }
    return options.stream ? Form::kEvents : Form::kJson;
  }
  if (format.empty() || format == "auto") {
    return isatty(STDOUT_FILENO) != 0 ? Form::kText : Form::kJson;
  }
  if (format == "text" || format == "json") return format == "text" ? Form::kText : Form::kJson;
  return Error{ErrorCode::kBadFlag, "bad value for --format: '" + format + "'", "--format",
               "one of " + value_names(ValueKind::kOutputFormat)};
}

// Whether colours are wanted there. A terminal that knows no escapes gets none.
Result<bool> has_colours(const RunOptions& options, const Environment& environment, int fd) {
  const auto variable = [&](std::string_view name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string_view{} : std::string_view(found->second);
  };
  const std::string& when = options.color;
  if (!when.empty() && when != "auto" && when != "always" && when != "never") {
    return Error{ErrorCode::kBadFlag, "bad value for --color: '" + when + "'", "--color",
                 "one of " + value_names(ValueKind::kColor)};
  }
  if (variable("TERM") == "dumb" || when == "never") return false;
  if (when == "always") return true;
  return isatty(fd) != 0 && !variable("TERM").empty() && variable("NO_COLOR").empty();
}

bool is_one_file(int one, int other) {
  struct stat a {};
  struct stat b {};
  return fstat(one, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

Result<StreamForm> text_form(const RunOptions& options, const Environment& environment) {
  const auto kind_of = [&](int fd) -> Result<TerminalText::Kind> {
    SBX_TRY(const bool colours, has_colours(options, environment, fd));
    if (isatty(fd) == 0) return TerminalText::Kind::kBytes;
    return colours ? TerminalText::Kind::kColours : TerminalText::Kind::kText;
  };
  StreamForm form;
  SBX_TRY(form.out, kind_of(STDOUT_FILENO));
  SBX_TRY(form.err, kind_of(STDERR_FILENO));
  SBX_TRY(form.colours, has_colours(options, environment, STDERR_FILENO));
  form.is_one_place = is_one_file(STDOUT_FILENO, STDERR_FILENO);
  return form;
}

// What a person gets has been said on stderr. As an event with --stream.
int answer(const Outcome& outcome, int signal_fd, Form form) {
  if (outcome.error) complain(*outcome.error);
  if (form == Form::kText) return outcome.exit_status;
  const std::string text = form == Form::kEvents ? result_event(outcome) : outcome_to_json(outcome);
  const int written = write_answer(STDOUT_FILENO, text + "\n", signal_fd);
  if (written == 0) return outcome.exit_status;
  return written > 0 ? 128 + written : stdout_unwritable();
}

// By name as well: it may not be there yet.
bool is_one_path(const std::string& one, const std::string& other) {
  const auto is_same = [](const std::string& path, const std::string& its) {
    struct stat a {};
    struct stat b {};
    return stat(path.c_str(), &a) == 0 && stat(its.c_str(), &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
  };
  const std::size_t name = one.rfind('/') + 1;
  const std::size_t its_name = other.rfind('/') + 1;
  return is_same(one, other) ||
         (one.substr(name) == other.substr(its_name) &&
          is_same(one.substr(0, name) + ".", other.substr(0, its_name) + "."));
}

Result<OwnedFd> result_descriptor(const RunOptions& options) {
  if (!options.result_file.empty() && is_one_path(options.result_file, options.audit)) {
    return Error{ErrorCode::kBadFlag, "--result-file and --audit name the same file",
                 "--result-file", "give each a file of its own"};
  }
  if (!options.result_file.empty()) return open_result_file(options.result_file);
  if (options.result_fd.empty()) return OwnedFd();
  const auto number = parse_count(options.result_fd, 1 << 20);
  OwnedFd fd(number ? fcntl(static_cast<int>(*number), F_DUPFD_CLOEXEC, 3) : -1);
  const int flags = fd.is_open() ? fcntl(fd.get(), F_GETFL) : O_RDONLY;
  if ((flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH) != 0) {
    return Error{ErrorCode::kBadFlag, "bad value for --result-fd: '" + options.result_fd + "'",
                 "--result-fd", "the number of a descriptor that is open for writing"};
  }
  // The command gets only 0, 1 and 2, but until its exec the original is open as well.
  fcntl(static_cast<int>(*number), F_SETFD, FD_CLOEXEC);
  return fd;
}

bool is_terminal_of_all_three() {
  return isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0 && isatty(STDERR_FILENO) != 0;
}

// Which file it is, and since when it is as it is; of a pipe nothing is known before it is read.
std::string stdin_mark(int fd) {
  struct stat info {};
  if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return "";
  return fmt::format("{}:{}:{}:{}.{}", info.st_dev, info.st_ino, info.st_size, info.st_ctim.tv_sec,
                     info.st_ctim.tv_nsec);
}

// As the digest covers it: with its input, and with what it takes of the caller's environment.
Request as_asked(const Request& request, const Environment& inherited, int stdin_fd) {
  Request asked = request;
  for (const auto& [name, value] : inherited) {
    const bool is_named = asked.command.find("$" + name) != std::string::npos ||
                          asked.command.find("${" + name) != std::string::npos;
    if (is_named) asked.env.emplace(name, value);
  }
  if (std::string mark = stdin_mark(stdin_fd); !mark.empty()) asked.stdin_text = std::move(mark);
  return asked;
}

// By what --approve grants, or by the person at the terminal where there is one.
void let_people_decide(RunInput& input, const RunOptions& options, const Environment& inherited,
                       Approvals& approvals) {
  if (!options.approve.empty()) approvals.grant(options.approve);
  AskPerson ask;
  if (isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0) {
    if (input.mode == OutputMode::kCapture) {
      session_http().set_ask(
          [signal_fd = input.signal_fd](std::uint64_t id, const HttpQuestion& about) {
            const PersonSaid said = ask_at_terminal(question_words(about), {}, signal_fd);
            if (said.signal != 0) kill(getpid(), said.signal);  // it is the run's
            session_http().answer(id, said.is_yes);
            return true;
          });
    }
    ask = [command = input.request.command, signal_fd = input.signal_fd](const Approval& approval) {
      return ask_at_terminal(command, approval, signal_fd);
    };
  }
  const int stdin_fd = input.mode == OutputMode::kCapture ? input.stdin_fd : STDIN_FILENO;
  input.decide = [ask, &approvals, &policy = input.policy, &request = input.request, &inherited,
                  stdin_fd](const guard::Judgement& judgement, const std::string& cwd) {
    const Request asked = as_asked(request, inherited, stdin_fd);
    return decide_request(approvals, policy, asked, judgement, cwd, ask);
  };
}

// What kept a run from being tried, where the log of it is known.
void record_refused(const Prepared& prepared, const Error& error, const Invocation& invocation) {
  if (prepared.policy == nullptr) return;
  Result<Audit> audit = Audit::open(*prepared.policy);
  if (!audit.ok()) return;
  Task task(TaskKind::kRun, "", prepared.policy, prepared.request);
  task.refuse(error, invocation.environment, prepared.facts.user_name);
  Outcome outcome = *task.outcome();
  audit.value().record(outcome);
}

Result<Outcome> exec_outcome(const RunOptions& options, const Invocation& invocation, bool terminal,
                             int signal_fd, Prepared& prepared) {
  SBX_CHECK_OK(prepare(options, invocation, prepared));
  for (int fd = 0; fd < 3; ++fd) {
    SBX_CHECK_OK(check_handed(fd, prepared.policy->sandbox.network.mode));
  }
  for (const std::string& warning : prepared.policy->run.warnings) warn(warning);
  OwnedFd owner;
  if (!options.owner_pid.empty()) {
    SBX_TRY(owner, owner_descriptor(options.owner_pid));
  }
  RunInput input{*prepared.policy, prepared.request, prepared.facts, invocation.environment};
  input.mode = terminal ? OutputMode::kTerminal : OutputMode::kPass;
  input.is_answered =
      isatty(STDIN_FILENO) != 0 || isatty(STDOUT_FILENO) != 0 || isatty(STDERR_FILENO) != 0;
  input.signal_fd = signal_fd;
  input.owner_pidfd = owner.get();
  struct winsize size {};
  if (terminal && ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row != 0 &&
      size.ws_col != 0) {
    input.pty_rows = size.ws_row;
    input.pty_columns = size.ws_col;
  }
  Approvals approvals(approval_record(invocation.environment));
  let_people_decide(input, options, invocation.environment, approvals);
  SBX_TRY(Audit audit, Audit::open(*prepared.policy));
  // A command that is given the terminal itself, beside a pipe or a file, may leave it raw.
  struct termios modes {};
  int fd = 0;
  while (fd < 3 && tcgetattr(fd, &modes) != 0) ++fd;
  CommandRun run(std::move(input));
  Outcome outcome = run.run();
  // In the background it is another's by now, and writing to it would stop us.
  if (!terminal && fd < 3 && tcgetpgrp(fd) == getpgrp()) tcsetattr(fd, TCSANOW, &modes);
  audit.record(outcome);
  return outcome;
}

// Ends the process with the answer; comes back only with what kept the run from being tried.
Error run_and_answer(const RunOptions& options, Form form, const Invocation& invocation,
                     int signal_fd, Prepared& prepared) {
  SBX_TRY(const StreamForm text, text_form(options, invocation.environment));
  SBX_CHECK_OK(prepare(options, invocation, prepared));
  OwnedFd stdin_file;
  SBX_TRY(const OwnedFd owner, owner_descriptor(options.owner_pid));
  StdinWait wait{StdinWait{}.timeout_ms, signal_fd, owner.get()};
  wait.timeout_ms = prepared.policy->run.limits.timeout_ms.value_or(wait.timeout_ms);
  SBX_TRY(const int stdin_fd, choose_stdin(options.stdin_source, stdin_file, wait));
  SBX_CHECK_OK(check_handed(stdin_fd, prepared.policy->sandbox.network.mode));
  RunInput input{*prepared.policy, prepared.request, prepared.facts, invocation.environment};
  input.merge = options.merge;
  input.stdin_fd = stdin_fd;
  input.signal_fd = signal_fd;
  input.owner_pidfd = owner.get();
  Approvals approvals(approval_record(invocation.environment));
  let_people_decide(input, options, invocation.environment, approvals);
  SBX_TRY(Audit audit, Audit::open(*prepared.policy));
  std::unique_ptr<CommandRun> run;
  int written = 0;
  if (form != Form::kJson) {
    written = run_streaming(std::move(input), form == Form::kText ? &text : nullptr, run);
  } else {
    run = std::make_unique<CommandRun>(std::move(input));
    run->run();
  }
  Outcome outcome = run->outcome();
  audit.record(outcome);
  session_http().end();
  int status = outcome.exit_status;
  if (written != 0) {
    status = written > 0 ? 128 + written : stdout_unwritable();
  } else if (form != Form::kText) {
    status = answer(outcome, signal_fd, form);
  }
  run.reset();  // which waits for the kernel to have taken the sandbox apart
  _exit(status);
}

}  // namespace

int verb_run(const Invocation& invocation) {
  // One command needs some 300 KiB of heap: got at once, not in steps.
  mallopt(M_TOP_PAD, 512 << 10);
  RunOptions options;
  Result<ParseOutcome> parsed = parse_flags(invocation, options);
  const Form expected = form_of(invocation.arguments);
  if (!parsed.ok()) return answer(error_outcome(parsed.error()), -1, expected);
  if (parsed.value().help) return say(*parsed.value().help);
  const Result<Form> chosen = form_of(options);
  if (!chosen.ok()) return answer(error_outcome(chosen.error()), -1, expected);
  const Form form = chosen.value();
  Result<OwnedFd> signals = signal_descriptor(false);
  if (!signals.ok()) return answer(error_outcome(signals.error()), -1, form);
  const int signal_fd = signals.value().get();
  Prepared prepared;
  const Error error = run_and_answer(options, form, invocation, signal_fd, prepared);
  record_refused(prepared, error, invocation);
  Outcome outcome = error_outcome(error);
  if (error.code == ErrorCode::kCancelled) {  // by a signal, or by the caller's end
    const int number = read_signal(signal_fd);
    outcome.status = RunStatus::kCancelled;
    outcome.exit_status = 128 + (number != 0 ? number : SIGHUP);
  }
  return answer(outcome, signal_fd, form);
}

int verb_exec(const Invocation& invocation) {
  RunOptions options;
  options.is_exec = true;
  Result<ParseOutcome> parsed = parse_flags(invocation, options);
  if (parsed.ok() && parsed.value().help) {
    return say(*parsed.value().help);
  }
  if (!parsed.ok()) options = destination_of(invocation.arguments);
  Result<OwnedFd> target = result_descriptor(options);
  if (!target.ok()) {
    complain(parsed.ok() ? target.error() : parsed.error());
    return 125;
  }
  const bool terminal = is_terminal_of_all_three();
  Result<OwnedFd> signals = signal_descriptor(terminal);
  if (!signals.ok()) {
    complain(signals.error());
    return 125;
  }
  Prepared prepared;
  Result<Outcome> run =
      parsed.ok() ? exec_outcome(options, invocation, terminal, signals.value().get(), prepared)
                  : Result<Outcome>(parsed.error());
  if (!run.ok()) record_refused(prepared, run.error(), invocation);
  const Outcome outcome = run.ok() ? std::move(run).value() : error_outcome(run.error());
  if (outcome.error) complain(*outcome.error);
  std::string account = exec_account(outcome);
  // What was cut off has left the cursor anywhere.
  const bool is_cut =
      outcome.status != RunStatus::kExited && outcome.status != RunStatus::kSignaled;
  if (terminal && is_cut && !account.empty()) account.insert(0, "\n");
  write_what_is_taken(STDERR_FILENO, account);
  if (!target.value().is_open()) return outcome.exit_status;
  const int written =
      write_answer(target.value().get(), outcome_to_json(outcome) + "\n", signals.value().get());
  if (written == 0) return outcome.exit_status;
  if (written > 0) return 128 + written;
  complain(Error{ErrorCode::kOutputUnwritable, "the answer cannot be written",
                 options.result_file.empty() ? "--result-fd" : "--result-file", ""});
  return 125;
}

}  // namespace sbx
