// SPDX-License-Identifier: Apache-2.0
// Request: what a caller wants run, whoever the caller is. Absent values leave the policy as it is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sbx {

// A server inside, made reachable on the host's 127.0.0.1.
struct PublishedPort {
  int host_port = 0;  // 0: the kernel chooses
  int port = 0;       // inside
};

// A file that is written into the workspace before the start.
struct RequestFile {
  std::string path;  // relative to the workspace
  std::string content;
  std::optional<unsigned> mode;  // permission bits; nullopt: 0644
};

struct Request {
  std::string command;            // with -c: the text; else the arguments joined for display
  std::vector<std::string> argv;  // empty: `command` through the profile's shell
  std::optional<std::string> description;
  std::optional<std::string> cwd;  // relative to the workspace, or absolute; see request_cwd()
  // The caller's own directory, where that counts: it must be one that the policy shows.
  std::string started_in;
  std::map<std::string, std::string> env;
  std::optional<std::string> stdin_text;
  std::optional<std::int64_t> timeout_ms;
  std::vector<RequestFile> files;
  std::optional<bool> network;  // true: must be granted; false: none; absent: as the policy says
  std::optional<std::int64_t> output_kb;
  std::optional<std::int64_t> file_kb;
  bool above_ceilings = false;  // its limits are the operator's own; no key of JSON says so
  bool merge = false;
  std::string approval;  // the digest of a granted approval; empty: none
};

}  // namespace sbx
