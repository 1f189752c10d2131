// SPDX-License-Identifier: Apache-2.0
// The line is walked, not built: what is not shown costs no memory, however large it is.
#include "record.h"

#include <charconv>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/utf8.h"
#include "json/reader.h"
#include "json/scan.h"

namespace sbx::page {
namespace {

constexpr std::size_t kMostCommand = 8192;
constexpr std::size_t kMostText = 512;
constexpr std::size_t kMostEntries = 1024;

// Where a cut of at most `most` bytes falls that divides no escape. `text` is well-formed.
std::size_t safe_cut(std::string_view text, std::size_t most) {
  std::size_t at = 0;
  for (;;) {
    const std::size_t next = std::min(text.find('\\', at), text.size());
    if (next >= most) return most;
    if (next == text.size()) return next;
    std::size_t size = 2;
    if (text[next + 1] == 'u') {
      const bool is_pair =
          std::string_view("dD").find(text[next + 2]) != std::string_view::npos &&
          std::string_view("89abAB").find(text[next + 3]) != std::string_view::npos;
      size = is_pair ? 12 : 6;
    }
    if (next + size > most) return next;
    at = next + size;
  }
}

// A string that the scanner took, with its quotes. What was cut ends with "…".
std::string text_of(std::string_view quoted, std::size_t most) {
  std::string_view inside = quoted.substr(1, quoted.size() - 2);
  const bool is_cut = inside.size() > most;
  if (is_cut) inside = inside.substr(0, safe_cut(inside, most));
  if (is_cut) inside.remove_suffix(cut_character_suffix(inside));
  std::string text = repair_utf8(inside);
  if (text.find('\\') != std::string::npos) {
    const auto read = read_json_strict("\"" + text + "\"");
    if (read.ok() && read.value().is_string()) text = read.value().get<std::string>();
  }
  return is_cut ? text + "…" : text;
}

// Takes the members of an object, or the elements of an array, one at a time.
// See(key, value) says what is wrong with it; empty: nothing.
template <typename See>
std::string each_member(std::string_view object, See see) {
  JsonScan scan(object);
  scan.skip_space();
  if (!scan.take('{')) return "not an object";
  scan.skip_space();
  if (scan.take('}')) return "";
  for (;;) {
    scan.skip_space();
    const auto key = scan.string();
    scan.skip_space();
    if (!key || !scan.take(':')) return "not JSON";
    const auto value = scan.value();
    if (!value) return "not JSON";
    if (std::string wrong = see(text_of(*key, kMostText), *value); !wrong.empty()) return wrong;
    scan.skip_space();
    if (scan.take('}')) return "";
    if (!scan.take(',')) return "not JSON";
  }
}

// Those beyond the bound are counted in `more`.
template <typename See>
std::string each_element(std::string_view array, std::uint64_t& more, See see) {
  JsonScan scan(array);
  scan.skip_space();
  if (!scan.take('[')) return "not a list";
  scan.skip_space();
  if (scan.take(']')) return "";
  for (std::size_t i = 0;; ++i) {
    const auto value = scan.value();
    if (!value) return "not JSON";
    if (i >= kMostEntries) {
      ++more;
    } else if (std::string wrong = see(*value); !wrong.empty()) {
      return wrong;
    }
    scan.skip_space();
    if (scan.take(']') || !scan.take(',')) return "";
  }
}

// One row a key: where its value goes. Every value may be null, which is absent.
template <typename T>
struct Key {
  const char* name;
  std::string T::*text = nullptr;
  std::uint64_t T::*count = nullptr;
  std::int64_t T::*number = nullptr;
};

std::optional<double> number_of(std::string_view value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) return std::nullopt;
  return number;
}

template <typename T>
std::string take_key(T& into, const Key<T>& key, std::string_view value) {
  if (value == "null") return "";
  const std::string name = key.name;
  if (key.text != nullptr) {
    if (!value.starts_with('"')) return name + " is no text";
    into.*key.text = text_of(value, name == "command" ? kMostCommand : kMostText);
    return "";
  }
  const auto number = number_of(value);
  if (!number) return name + " is no number";
  constexpr double kMost = 9e15;
  if (key.count != nullptr) {
    into.*key.count = static_cast<std::uint64_t>(std::clamp(*number, 0.0, kMost));
  } else {
    into.*key.number = static_cast<std::int64_t>(std::clamp(*number, -kMost, kMost));
  }
  return "";
}

template <typename T, std::size_t N>
std::string take_keys(T& into, const Key<T> (&keys)[N], std::string_view name,
                      std::string_view value) {
  for (const Key<T>& key : keys) {
    if (name == key.name) return take_key(into, key, value);
  }
  return "";
}

constexpr Key<Refusal> kRefusalKeys[] = {
    {"layer", &Refusal::layer},   {"operation", &Refusal::operation},
    {"target", &Refusal::target}, {"program", &Refusal::program},
    {"grant", &Refusal::grant},   {"count", nullptr, &Refusal::count}};

constexpr Key<Request> kRequestKeys[] = {{"method", &Request::method},
                                         {"host", &Request::host},
                                         {"path", &Request::path},
                                         {"status", nullptr, nullptr, &Request::status}};

constexpr Key<Connection> kConnectionKeys[] = {{"port", nullptr, nullptr, &Connection::port},
                                               {"bytes_out", nullptr, &Connection::bytes_out},
                                               {"bytes_in", nullptr, &Connection::bytes_in}};

constexpr Key<Record> kRecordKeys[] = {
    {"session", &Record::session},
    {"profile", &Record::profile},
    {"command", &Record::command},
    {"description", &Record::description},
    {"cwd", &Record::cwd},
    {"verdict", &Record::verdict},
    {"status", &Record::status},
    {"signal", &Record::signal},
    {"limit", &Record::limit},
    {"stdout_bytes", nullptr, &Record::stdout_bytes},
    {"stderr_bytes", nullptr, &Record::stderr_bytes},
    {"unlisted_connections", nullptr, &Record::unlisted_connections},
    {"unlisted_requests", nullptr, &Record::unlisted_requests}};

std::string take_refusal(Record& record, std::string_view value) {
  Refusal refusal;
  std::string wrong = each_member(value, [&](const std::string& key, std::string_view part) {
    return take_keys(refusal, kRefusalKeys, key, part);
  });
  record.refusals.push_back(std::move(refusal));
  return wrong;
}

std::string take_connection(Record& record, std::string_view value) {
  Connection connection;
  std::string address;
  const auto take_request = [&](std::string_view text) {
    Request request;
    std::string wrong = each_member(text, [&](const std::string& key, std::string_view part) {
      return take_keys(request, kRequestKeys, key, part);
    });
    connection.requests.push_back(std::move(request));
    return wrong;
  };
  std::string wrong = each_member(value, [&](const std::string& key, std::string_view part) {
    if (key == "name" && part != "null") {
      return take_key(connection, {"name", &Connection::host}, part);
    }
    if (key == "address" && part.starts_with('"')) address = text_of(part, kMostText);
    if (key == "requests" && part != "null")
      return each_element(part, record.more_requests, take_request);
    return take_keys(connection, kConnectionKeys, key, part);
  });
  if (connection.host.empty()) connection.host = std::move(address);
  record.connections.push_back(std::move(connection));
  return wrong;
}

std::string take_error(Record& record, std::string_view value) {
  return each_member(value, [&](const std::string& key, std::string_view part) -> std::string {
    if (!part.starts_with('"')) return "";
    if (key == "code") record.error = text_of(part, kMostText) + ": " + record.error;
    if (key == "message") record.error += text_of(part, kMostText);
    return "";
  });
}

std::string take_redactions(Record& record, std::string_view value) {
  return each_member(value, [&](const std::string& key, std::string_view part) {
    return take_keys(record, {{"count", nullptr, &Record::redactions}}, key, part);
  });
}

std::string take_exact(Record& record, const std::string& key, std::string_view value) {
  const auto number = number_of(value);
  if (!number) return key + " is no number";
  if (key == "duration_ms") {
    record.duration_ms = std::clamp(*number, 0.0, 1e15);
  } else {
    record.exit_code = static_cast<std::int64_t>(std::clamp(*number, -1e9, 1e9));
  }
  return "";
}

std::string take_member(Record& record, bool& has_time, const std::string& key,
                        std::string_view value) {
  if (key == "time") {
    const auto time = value.starts_with('"') ? read_time(text_of(value, kMostText)) : std::nullopt;
    if (!time) return "time is no time";
    record.time_ms = *time;
    has_time = true;
    return "";
  }
  if (value == "null") return "";
  if (key == "exit_code" || key == "duration_ms") return take_exact(record, key, value);
  const auto named = [&](const std::string& wrong) {
    return wrong.empty() ? wrong : key + ": " + wrong;
  };
  const auto refusal = [&](std::string_view part) { return take_refusal(record, part); };
  const auto connection = [&](std::string_view part) { return take_connection(record, part); };
  if (key == "denials") record.refusals.clear();
  if (key == "connections") record.connections.clear();
  std::uint64_t more = 0;
  if (key == "denials") return named(each_element(value, more, refusal));
  if (key == "connections") {
    return named(each_element(value, record.more_connections, connection));
  }
  if (key == "error") return named(take_error(record, value));
  if (key == "redactions") return named(take_redactions(record, value));
  return take_keys(record, kRecordKeys, key, value);
}

std::optional<int> digits(std::string_view text, std::size_t at, std::size_t size) {
  if (text.size() < at + size) return std::nullopt;
  const auto number = parse_count(text.substr(at, size), 9999);
  return number ? std::optional<int>(static_cast<int>(*number)) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> read_time(std::string_view text) {
  const auto year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  const auto hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  if (text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':') {
    return std::nullopt;
  }
  int fraction = 0;
  std::string_view rest = text.substr(19);
  if (rest.starts_with('.')) {
    const auto thousandths = digits(rest, 1, 3);
    if (!thousandths) return std::nullopt;
    fraction = *thousandths;
    rest.remove_prefix(4);
  }
  if (rest != "Z" || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *year < 1970) return std::nullopt;  // before any clock
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t minutes = (std::int64_t{days} * 24 + *hour) * 60 + *minute;
  return (minutes * 60 + *second) * 1000 + fraction;
}

Reading read_record(std::string_view line) {
  Reading out;
  JsonScan scan(line);
  if (!scan.value()) {
    out.failure = "not JSON, from byte " + std::to_string(scan.position() + 1) + " on";
    return out;
  }
  scan.skip_space();
  if (!scan.at_end()) {
    out.failure = "more than one value, from byte " + std::to_string(scan.position() + 1) + " on";
    return out;
  }
  bool has_time = false;
  out.failure = each_member(line, [&](const std::string& key, std::string_view value) {
    return take_member(out.record, has_time, key, value);
  });
  if (out.failure.empty() && !has_time) out.failure = "no time";
  if (out.failure.empty() && out.record.status.empty()) out.failure = "no status";
  return out;
}

}  // namespace sbx::page
