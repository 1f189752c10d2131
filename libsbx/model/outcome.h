// SPDX-License-Identifier: Apache-2.0
// Outcome: everything that the answer of one run says, as plain values.
// Strings are as they will be printed: valid UTF-8 unless the field says otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/denial.h"
#include "model/finding.h"
#include "model/layer.h"
#include "model/managed_mark.h"
#include "model/promise.h"

namespace sbx {

enum class RunStatus : std::uint8_t {
  kExited,
  kSignaled,
  kTimedOut,
  kLimit,
  kCancelled,
  kKilled,
  kRunning,
  kDenied,
  kNeedsApproval,
  kError,
};
// In the order of RunStatus, as a result says them.
inline constexpr std::string_view kRunStatuses[] = {
    "exited", "signaled", "timed_out", "limit",          "cancelled",
    "killed", "running",  "denied",    "needs_approval", "error",
};
constexpr std::string_view run_status_name(RunStatus status) {
  return kRunStatuses[static_cast<std::size_t>(status)];
}

struct StreamText {
  std::string text;         // head, marker, tail; base64 when `base64`
  std::uint64_t bytes = 0;  // what the command wrote, kept or not
  bool truncated = false;
  bool base64 = false;
};

struct Usage {
  double user_ms = 0;
  double system_ms = 0;
  std::int64_t max_rss_kb = 0;
};

// A server inside that the host's 127.0.0.1 leads to.
struct Published {
  int host_port = 0;
  int port = 0;
};

// One request of HTTP to a host that has rules or a credential, refused ones too.
struct HttpExchange {
  std::int64_t time_ms = 0;  // Unix time in milliseconds
  std::string method;
  std::string host;
  std::string path;              // without the query
  int status = 0;                // 0: there was no answer
  std::uint64_t bytes_sent = 0;  // of the body
  std::uint64_t bytes_received = 0;
  std::string rule;  // JSON pointer of the rule that decided; empty: none
};
// What a command can choose the length of is cut, and says how much was.
void cut(HttpExchange& exchange);

// One connection that the gateway let through, for the audit log.
struct AllowedConnection {
  std::string name;     // that it was made to; empty for a literal address
  std::string address;  // that answered; empty: none has
  int port = 0;
  std::uint64_t bytes_out = 0;  // from the command
  std::uint64_t bytes_in = 0;   // to the command
  bool is_read = false;         // its requests were judged, and are listed
  std::vector<HttpExchange> requests;
};

struct SandboxReport {
  std::string profile;
  LayerSet confirmed;    // what the kernel confirmed
  int landlock_abi = 0;  // 0 when not in force
  std::vector<LimitReport> limits;
  std::vector<Degradation> degraded;
  std::vector<unsigned> groups;  // supplementary groups, which a single-id map keeps
  std::vector<Published> published;
  std::vector<std::string> warnings;  // "unconfined: …"; printed as `warnings`
  std::vector<ManagedMark> managed;   // null where there is none
};

struct Redactions {
  std::uint64_t count = 0;
  std::vector<std::string> rules;  // that found something
};

struct Change {
  std::string path;
  std::string kind;  // created | modified | deleted | replaced
};

// The layer that the run's writes were kept in.
struct KeptReport {
  std::string name;
  std::string kind;  // overlay | copy
};

// What a person would have to allow before this request runs.
struct Approval {
  std::string digest;
  std::vector<Finding> rules;
  std::string unused{};  // why the one that was named does not count; empty: none was
};

struct Outcome {
  RunStatus status = RunStatus::kError;
  std::optional<int> exit_code;
  int signal = 0;                          // 0 unless signaled
  std::string output_path;                 // of the full log; empty: none
  std::optional<std::string> result_json;  // one JSON object, as text
  StreamText out;
  StreamText err;
  std::string command;
  std::vector<std::string> argv;
  std::string cwd;
  std::optional<std::string> description;
  std::int64_t started_at_ms = 0;  // Unix time in milliseconds
  double duration_ms = 0;
  Usage usage;
  std::optional<Limit> limit;  // which ended it
  std::vector<Denial> denials;
  std::vector<AllowedConnection> connections;  // oldest first, in bounded number
  std::uint64_t unlisted_connections = 0;      // beyond that
  std::uint64_t unlisted_requests = 0;
  bool has_http =
      false;  // rules or credentials count: connections are listed, be there any or none
  Redactions redactions;
  SandboxReport sandbox;
  std::optional<KeptReport> kept;  // printed as `layer`
  std::optional<std::vector<Change>> changes;
  std::optional<Approval> approval;  // with needs_approval
  std::optional<Error> error;
  int exit_status = 125;  // what sbx-run exits with
};

}  // namespace sbx
