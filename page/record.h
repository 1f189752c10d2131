// SPDX-License-Identifier: Apache-2.0
// One line of an audit log (docs/audit.md) → what a page shows of it, bounded. Whoever could write
// to the log may have written the line. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sbx::page {

struct Refusal {
  std::string layer;
  std::string operation;
  std::string target;
  std::string program;
  std::string grant;
  std::uint64_t count = 1;
};

struct Request {
  std::string method;
  std::string host;
  std::string path;
  std::int64_t status = 0;  // 0: there was no answer
};

struct Connection {
  std::string host;  // the name, else the address
  std::int64_t port = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t bytes_in = 0;
  std::vector<Request> requests;
};

struct Record {
  std::int64_t time_ms = 0;  // Unix time
  std::string session;
  std::string profile;
  std::string command;
  std::string description;
  std::string cwd;
  std::string verdict;
  std::string status;
  std::string signal;
  std::string limit;
  std::string error;  // its code and message
  std::optional<std::int64_t> exit_code;
  double duration_ms = 0;
  std::uint64_t stdout_bytes = 0;
  std::uint64_t stderr_bytes = 0;
  std::uint64_t redactions = 0;
  std::vector<Refusal> refusals;
  std::vector<Connection> connections;
  std::uint64_t unlisted_connections = 0;
  std::uint64_t unlisted_requests = 0;
  std::uint64_t more_connections = 0;  // in the log, beyond what is kept here
  std::uint64_t more_requests = 0;
};

struct Reading {
  Record record;
  std::string failure;  // why the line is no record; empty: it is one
};

// Every text is cut: a command after some KiB, other fields after less; lists after 1,024 entries.
Reading read_record(std::string_view line);

// "2026-01-31T12:00:00.123Z", the fraction optional → Unix milliseconds.
std::optional<std::int64_t> read_time(std::string_view text);

}  // namespace sbx::page
