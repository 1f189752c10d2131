// SPDX-License-Identifier: Apache-2.0
// A session's server as the command line sees it: found by name or started, and spoken to in
// JSON-RPC.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"
#include "flag_table.h"
#include "policy/environment.h"
#include "rpc/framing.h"
#include "rpc/socket_place.h"

namespace sbx {

// As arguments for `serve`.
std::vector<std::string> flag_arguments(const SessionFlags& flags);
// As a JSON object of arrays.
std::string flags_json(const SessionFlags& flags);
// What may be secret in them (a variable's value, a proxy's password) as a digest that says nothing
// to who has not the session's token, and is the same for the same value.
SessionFlags without_secrets(SessionFlags flags, const std::string& token);

Result<Directory> runtime_directory(const Environment& environment);
std::string socket_name(const std::string& session);
// The names that have a socket in that directory, sorted; not all of them need to be served.
std::vector<std::string> session_names(const Directory& directory);

class SessionClient {
 public:
  struct Wanted {
    std::string session;
    bool may_start = false;    // else a session that does not run is an error
    bool as_operator = false;  // shows the token
    SessionFlags flags{};      // of a session that is to be started; one that runs must agree
    std::string approve{};     // a digest that is granted first, as the operator
    // The workspace of one that is to be started without a flag for it; null: one of its own.
    std::function<Result<std::string>()> default_workspace{};
    int patience_ms = 0;          // for one that does not answer; 0: any, but for the greeting
    bool above_ceilings = false;  // what is asked for is the operator's own; shows the token
  };
  // Errors: kSessionFailed; those of `serve` where it had to be started and did not come up.
  static Result<SessionClient> open(const Wanted& wanted, const Environment& environment);

  // Sends one call and waits for its answer; notifications that come meanwhile are handed out.
  // `params` is a JSON object. Errors: the server's; kSessionFailed where it goes away.
  using Notify = std::function<void(const std::string& method, const std::string& params)>;
  Result<std::string> call(std::string_view method, std::string_view params,
                           const Notify& notify = {});
  // What the server said of itself: a JSON object with the session's name, profile and workspace.
  const std::string& greeting() const { return greeting_; }
  // For who waits for other things too: the descriptor to poll, a call that is not waited for, and
  // what has come. `take` gets each message that is whole: of an answer the method is empty.
  int fd() const { return fd_.get(); }
  bool send(std::string_view method, std::string_view params);
  Status read(const Notify& take);
  // The same for who sends several: which call is answered (last_id() after its send), and with
  // what: a result, or an error as JSON-RPC has it.
  unsigned last_id() const { return last_id_; }
  using Answered = std::function<void(unsigned id, const std::string& text, bool is_error)>;
  Status read(const Notify& take, const Answered& answered);
  // Without reading: what came together with something else.
  void take_whole(const Notify& take);
  // From here on a signal that comes over `signal_fd` cancels the call that is waited for, whose
  // answer says so; a second one, or a server that is silent then, ends the wait: kCancelled.
  void heed_signals(int signal_fd) { signal_fd_ = signal_fd; }
  int signal() const { return signal_; }  // that came; 0: none
  // The next notification. Errors: kSessionFailed where the server goes away.
  Status next(const Notify& notify);

 private:
  explicit SessionClient(OwnedFd fd) : fd_(std::move(fd)) {}
  Result<std::string> read_line();
  Status grant(const std::string& digest);
  Status wait_for_server();
  void wait_at_most(int milliseconds) const;

  OwnedFd fd_;
  std::string greeting_;
  LineReader reader_{kMostAnswerBytes};
  unsigned last_id_ = 0;
  unsigned awaited_ = 0;  // the call that is waited for
  int signal_fd_ = -1;
  int signal_ = 0;
};

}  // namespace sbx
