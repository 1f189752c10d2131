// SPDX-License-Identifier: Apache-2.0
// Any bytes → framing and the JSON-RPC reader. However the bytes are cut, the same lines come out;
// a line is taken exactly where nlohmann's strict parser takes it; what is read prints and reads as
// the same; what is refused gets an answer that is JSON.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rpc/framing.h"
#include "rpc/json_rpc.h"

namespace {

constexpr std::size_t kMaxLine = 4096;

void must(bool holds) {
  if (!holds) std::abort();
}

std::vector<std::string> lines_of(std::string_view bytes, std::size_t step) {
  sbx::LineReader reader(kMaxLine);
  std::vector<std::string> lines;
  const auto take = [&](const sbx::Line& line) {
    must(!line.too_long || line.text.empty());
    must(line.text.size() <= kMaxLine);
    lines.push_back(line.too_long ? "too long" : line.text);
  };
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    reader.feed(bytes.substr(at, step));
    while (const auto line = reader.next()) take(*line);
  }
  if (const auto line = reader.rest()) take(*line);
  return lines;
}

// nlohmann_json takes a zero byte for the end.
bool is_json(std::string_view text) {
  return text.find('\0') == std::string_view::npos &&
         nlohmann::json::accept(text.begin(), text.end());
}

void check_call(const sbx::RpcMessage& message) {
  const std::string again = message.method.empty()
                                ? sbx::write_result(message.id, message.result)
                                : sbx::write_request(message.id, message.method, message.params);
  const auto read = sbx::read_message(again);
  const auto* same = std::get_if<sbx::RpcMessage>(&read);
  must(same != nullptr && same->id == message.id);
  if (!message.method.empty()) {
    must(same->method == message.method && same->params == message.params);
  }
  if (!message.id.empty()) must(is_json(sbx::write_result(message.id, "{}")));
}

void check_line(const std::string& line) {
  const auto read = sbx::read_message(line);
  if (const auto* refusal = std::get_if<sbx::RpcRefusal>(&read)) {
    must(is_json(sbx::write_refusal(*refusal)));
    must((refusal->code == sbx::kRpcParseError) != is_json(line));
    return;
  }
  must(is_json(line));
  const auto& message = std::get<sbx::RpcMessage>(read);
  if (message.error.empty()) check_call(message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> lines = lines_of(bytes, size == 0 ? 1 : size);
  must(lines_of(bytes, 1) == lines);
  must(lines_of(bytes, 7) == lines);
  for (const std::string& line : lines) check_line(line);
  return 0;
}
