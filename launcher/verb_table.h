// SPDX-License-Identifier: Apache-2.0
// The verbs, one row each: what runs them, what they take besides flags, and what the help, the
// completions and the man page say of them.
#pragma once

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "options.h"

namespace sbx {

struct Invocation;

// What a value is: completions offer such, and a session's server is given paths that are absolute.
enum class ValueKind {
  kText,
  kFile,       // one that the launcher opens
  kNewFile,    // one that is made where there is none
  kPath,       // of a root
  kDirectory,  // within the workspace
  kWorkspace,
  kProfile,  // a name or a file
  kLayerName,
  kVariable,  // a name of the environment
  kHost,
  kProcess,
  kCommandLine,
  // One of a list: value_names() has it.
  kNetwork,
  kScrub,
  kLayers,
  kTool,
  kMethod,
  kToolFormat,
  kOutputFormat,
  kColor,
  kProfileAction,
  kLayerAction,
  kCacheAction,
  kSchema,
  kVerb,
  kOrder,
};

// Separated by ", "; empty where it is no list.
std::string value_names(ValueKind kind);

// What stands without a dash behind the verb.
struct VerbWord {
  const char* name = nullptr;  // null: there is none
  std::string RunOptions::*to = nullptr;
  bool is_required = false;
  ValueKind kind = ValueKind::kText;
  const char* help = "";
};

struct Verb {
  const char* name;
  int (*run)(const Invocation&);
  const char* summary;     // null: not shown
  const char* no_program;  // what it says of a command behind `--`; null: it takes one
  const char* more = "";   // for the man page
  VerbWord words[2] = {};
  const char* example = "";  // a line of a shell
  VerbWord more_words = {};  // any number of them behind those go to `arguments`; only their name
};

int verb_run(const Invocation& invocation);
int verb_exec(const Invocation& invocation);
int verb_start(const Invocation& invocation);
int verb_status(const Invocation& invocation);
int verb_output(const Invocation& invocation);
int verb_stdin(const Invocation& invocation);
int verb_attach(const Invocation& invocation);
int verb_shell(const Invocation& invocation);
int verb_screen(const Invocation& invocation);
int verb_resize(const Invocation& invocation);
int verb_wait(const Invocation& invocation);
int verb_kill(const Invocation& invocation);
int verb_list(const Invocation& invocation);
int verb_reset(const Invocation& invocation);
int verb_call(const Invocation& invocation);
int verb_serve(const Invocation& invocation);
int verb_batch(const Invocation& invocation);
int verb_tool(const Invocation& invocation);
int verb_mcp(const Invocation& invocation);
int verb_check(const Invocation& invocation);
int verb_explain(const Invocation& invocation);
int verb_cache(const Invocation& invocation);
int verb_doctor(const Invocation& invocation);
int verb_profile(const Invocation& invocation);
int verb_layer(const Invocation& invocation);
int verb_report(const Invocation& invocation);
int verb_top(const Invocation& invocation);
int verb_learn(const Invocation& invocation);
int verb_trust(const Invocation& invocation);
int verb_schema(const Invocation& invocation);
int verb_version(const Invocation& invocation);
int verb_help(const Invocation& invocation);

inline constexpr const char* kNothingToRun = "leave it out";
inline constexpr VerbWord kTaskWord = {"task_id", &RunOptions::task_id, true, ValueKind::kText,
                                       "the task, as start printed it"};
inline constexpr VerbWord kAnyTaskWord = {"task_id", &RunOptions::task_id, false, ValueKind::kText,
                                          "the task, as start printed it"};

// The first is meant where none is named.
inline constexpr Verb kVerbs[] = {
    {"run",
     verb_run,
     "run a command, answer in JSON, or as text on a terminal (the default verb)",
     nullptr,
     "",
     {},
     "sbx-run --timeout 30s --memory 512M -- make test"},
    {"exec",
     verb_exec,
     "run a command on the caller's own stdin, stdout and stderr",
     nullptr,
     "As env(1) does. Where all three are the caller's terminal, the command gets a "
     "pseudo-terminal of its own. The result goes only where --result-file or --result-fd says.",
     {},
     "sbx-run exec -- bash"},
    {"start",
     verb_start,
     "start a background task of a session",
     nullptr,
     "Answers at once with a task_id, which the verbs below take. Starts the session's server "
     "where "
     "none runs; its profile, workspace and limits then stand until it leaves.",
     {},
     "sbx-run start -c 'make watch'"},
    {"status",
     verb_status,
     "the state of a task and its output so far",
     kNothingToRun,
     "",
     {kAnyTaskWord},
     "sbx-run status TASK_ID"},
    {"output",
     verb_output,
     "what a task has written since; --follow as it comes",
     kNothingToRun,
     "With --match only the lines that match.",
     {kTaskWord},
     "sbx-run output TASK_ID --follow --match 'error:'"},
    {"stdin",
     verb_stdin,
     "write to a task's standard input",
     kNothingToRun,
     "What --text says and a newline, or the keys that --keys names, else what its own standard "
     "input holds; with --close, end of file follows.",
     {kTaskWord},
     "sbx-run stdin TASK_ID --text yes"},
    {"attach",
     verb_attach,
     "take part in a task that has a terminal; exits as it does, with 0 when detached",
     kNothingToRun,
     "Shows its screen and passes on what is typed; the detach key (ctrl-], or that of "
     "--detach-key) leaves it to itself. Any number may be attached; its terminal is as large as "
     "that of whoever came, or changed size, last.",
     {kTaskWord},
     "sbx-run attach TASK_ID"},
    {"shell",
     verb_shell,
     "the shell of a session that is kept, on this terminal or for one command",
     "give it with -c",
     "There is one in each session: what a command sets in it (the directory, variables, "
     "functions) "
     "is there for the next one, also for calls of `run` with \"shell\": \"kept\". On a terminal "
     "it "
     "takes part as attach does; with -c, or without a terminal what standard input holds, is run "
     "in "
     "it, and the answer is a result.",
     {},
     "sbx-run shell --session work -c 'cd src; make'"},
    {"screen",
     verb_screen,
     "the text that can be seen on a task's terminal",
     kNothingToRun,
     "",
     {kTaskWord},
     "sbx-run screen TASK_ID"},
    {"resize",
     verb_resize,
     "give a task's terminal another size",
     kNothingToRun,
     "",
     {kTaskWord},
     "sbx-run resize TASK_ID --cols 120 --rows 40"},
    {"wait",
     verb_wait,
     "wait for a task to end; exits as it did, 124 if it has not",
     kNothingToRun,
     "",
     {kTaskWord},
     "sbx-run wait TASK_ID --timeout 30s"},
    {"kill",
     verb_kill,
     "end a task: SIGTERM, then SIGKILL to everything left",
     kNothingToRun,
     "",
     {kTaskWord},
     "sbx-run kill TASK_ID --grace 5s"},
    {"list",
     verb_list,
     "the tasks of a session, or all sessions",
     kNothingToRun,
     "Without --session all sessions with their tasks.",
     {},
     "sbx-run list"},
    {"top",
     verb_top,
     "all sessions and their tasks, live, on the whole terminal; approvals are given there",
     kNothingToRun,
     "Of the session that --session names, or of all. q quits, Enter opens, a approves, r refuses, "
     "k kills, f follows, ? helps. docs/top.md tells more.",
     {},
     "sbx-run top"},
    {"reset",
     verb_reset,
     "end every task of a session",
     kNothingToRun,
     "And clears a workspace that the session made.",
     {},
     "sbx-run reset"},
    {"call",
     verb_call,
     "one method of the session server, parameters as JSON on stdin",
     R"({"command": "…"} on stdin)",
     "Reads the parameters from standard input, or from the file that --params names, and prints "
     "the result as JSON.",
     {{"method", &RunOptions::what, true, ValueKind::kMethod, ""}},
     R"(echo '{"command": "ls"}' | sbx-run call run)"},
    {"serve",
     verb_serve,
     "the session server, JSON-RPC 2.0",
     "send it as a request",
     "One message a line, on standard input and output, or on the Unix socket that --socket names, "
     "of the session that --session names, or on the connected socket --fd. On a socket it first "
     "prints a line with the operator's token.",
     {},
     "sbx-run serve --workspace . --socket /run/user/1000/sbx.sock"},
    {"batch",
     verb_batch,
     "many commands, one request a line, one result a line",
     R"(write it as a line: {"id": "1", "argv": […]})",
     "Each line of tasks is a request (sbx-run schema request) with an id of its own. Exits with 0 "
     "if every task did, 1 if any did not, 130 or 143 after INT or TERM.",
     {{"tasks", &RunOptions::tasks, false, ValueKind::kFile, "lines of JSON; -: standard input"}},
     "sbx-run batch --jobs 4 --results results.jsonl tasks.jsonl"},
    {"tool",
     verb_tool,
     "a tool's params on stdin, its own answer on stdout",
     "send it in the params",
     "",
     {{"name", &RunOptions::name, true, ValueKind::kTool, ""}},
     R"(echo '{"command": "ls", "description": "list"}' | sbx-run tool bash)"},
    {"mcp",
     verb_mcp,
     "an MCP server on stdin and stdout that offers the tools",
     "send it as a call of a tool",
     "Offers the tools that --tool names, or all of them.",
     {},
     "sbx-run mcp --tool shell --workspace /home/me/project"},
    {"check",
     verb_check,
     "the command policy's verdict; runs nothing",
     nullptr,
     "",
     {},
     "sbx-run check -c 'rm -rf build'"},
    {"explain",
     verb_explain,
     "what would be built; runs nothing",
     nullptr,
     "Mounts, layers, filter, limits, names of variables, network.",
     {},
     "sbx-run explain -- make test"},
    {"doctor",
     verb_doctor,
     "what this machine can enforce, and what would mend the rest",
     kNothingToRun,
     "With --apparmor, only the AppArmor profile that lets sbx-run make user namespaces where the "
     "distribution restricts them.",
     {},
     "sbx-run doctor"},
    {"profile",
     verb_profile,
     "shipped and installed profiles",
     kNothingToRun,
     "Lists them, prints one with what it extends resolved, or checks a file. grant FILE adds what "
     "the denials of a result name: it shows the difference, asks at a terminal, and writes "
     "nothing "
     "without one unless --yes says so. What opens more than a file or a host is never granted so.",
     {{"action", &RunOptions::what, true, ValueKind::kProfileAction, ""},
      {"name", &RunOptions::name, false, ValueKind::kProfile,
       "to show; a file to validate, or to grant to"}},
     "sbx-run profile show default"},
    {"learn",
     verb_learn,
     "the smallest profile under which a command ends as it should",
     nullptr,
     "Runs PROGRAM in layers that are thrown away: once with everything shown but secrets, and "
     "then under the profile itself, until that is refused nothing that it could be granted. What "
     "is in the profile is on standard error, a JSON object on standard output. Exits with 0 where "
     "the profile is proven and written, else with 125. docs/policy.md tells more.",
     {},
     "sbx-run learn --out ci.json -- make test"},
    {"trust",
     verb_trust,
     "let a project's own profile count, as it is now",
     kNothingToRun,
     "The one that runs in the directory would find: .sbx/profile.json, in the nearest directory "
     "above that "
     "has "
     "an .sbx. Read it first: it says what commands may do. Trust is for the path and the content "
     "of "
     "the file and of each that it extends; a file that has changed needs it again.",
     {{"directory", &RunOptions::name, false, ValueKind::kFile, "default: the workspace"}},
     "sbx-run trust"},
    {"untrust",
     verb_trust,
     "take that back",
     kNothingToRun,
     "",
     {{"directory", &RunOptions::name, false, ValueKind::kFile, "default: the workspace"}},
     "sbx-run untrust"},
    {"layer",
     verb_layer,
     "what a kept layer holds: shows it, makes it real, throws it away",
     kNothingToRun,
     "list; diff NAME [PATH...]; commit NAME [PATH...]; undo NAME; discard NAME [PATH...]; "
     "checkpoint NAME [LABEL]; rollback NAME LABEL; branch NAME NEW. Runs with --layer NAME fill "
     "one. docs/layers.md tells of each.",
     {{"action", &RunOptions::what, true, ValueKind::kLayerAction, ""},
      {"name", &RunOptions::name, false, ValueKind::kLayerName, "of the layer"}},
     "sbx-run layer diff evening --stat",
     {"argument", nullptr, false, ValueKind::kFile, "a path, a label, a new name"}},
    {"cache",
     verb_cache,
     "directories of sbx's own that are kept between runs",
     kNothingToRun,
     "Lists them with their size, or empties one, for all workspaces.",
     {{"action", &RunOptions::what, true, ValueKind::kCacheAction, ""},
      {"name", &RunOptions::name, false, ValueKind::kText, "to clear"}},
     "sbx-run cache list"},
    {"report",
     verb_report,
     "a page of what an audit log tells: runs, refusals, hosts, limits",
     kNothingToRun,
     "HTML that needs nothing but a browser, on standard output or in the file that --out names. "
     "docs/report.md tells what is on it.",
     {{"audit_log", &RunOptions::what, true, ValueKind::kFile, "as --audit wrote it"}},
     "sbx-run report audit.jsonl --out runs.html"},
    {"schema",
     verb_schema,
     "JSON Schema (draft-07) for editors and programs",
     kNothingToRun,
     "Or the list of error codes, or a tool's definition in the form that --for chooses.",
     {{"schema", &RunOptions::what, true, ValueKind::kSchema, ""},
      {"name", &RunOptions::name, false, ValueKind::kTool, "of a tool"}},
     "sbx-run schema profile"},
    {"version",
     verb_version,
     "version; with --json features and libraries",
     kNothingToRun,
     "The same as --version.",
     {},
     "sbx-run version --json"},
    {"help",
     verb_help,
     "the help of a verb, as its --help",
     kNothingToRun,
     "",
     {{"verb", &RunOptions::what, false, ValueKind::kVerb, ""}},
     "sbx-run help start"},
};

// A set of verbs: a bit each, in the order of the table.
using VerbBits = std::uint64_t;

// The bits of the verbs that are named, separated by spaces.
consteval VerbBits verb_bits(std::string_view names) {
  VerbBits bits = 0;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(' '));
    names.remove_prefix(name.size() + (name.size() < names.size() ? 1 : 0));
    VerbBits bit = 1;
    for (const Verb& verb : kVerbs) {
      if (verb.name == name) break;
      bit <<= 1;
    }
    if (bit >> std::size(kVerbs) != 0) __builtin_trap();  // no constant: there is no such verb
    bits |= bit;
  }
  return bits;
}

constexpr VerbBits verb_bit(const Verb& verb) { return VerbBits{1} << (&verb - kVerbs); }

}  // namespace sbx
