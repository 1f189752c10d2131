// SPDX-License-Identifier: Apache-2.0
// One row a key: how it is written, and how it is read.
#include "kept/state.h"

#include <charconv>

#include "base/hex.h"
#include "base/text.h"

namespace sbx {
namespace {

constexpr std::string_view kMark = "sbx-layer 1";

bool is_epoch(std::string_view name) { return name.size() == kEpochName && is_hex(name); }

template <typename T>
bool read_number(std::string_view text, T& out) {
  const auto end = std::from_chars(text.data(), text.data() + text.size(), out);
  return end.ec == std::errc() && end.ptr == text.data() + text.size() && out >= 0;
}

bool add_path(std::vector<std::string>& to, std::string_view path) {
  if (!path.starts_with('/')) return false;
  to.emplace_back(path);
  return true;
}

bool add_epoch(Epochs& to, std::string_view name) {
  if (!is_epoch(name)) return false;
  to.emplace_back(name);
  return true;
}

// "EPOCH,EPOCH:the label"
bool add_label(LayerState& state, std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos || colon + 1 == text.size()) return false;
  Epochs epochs;
  for (const std::string_view name : split(text.substr(0, colon), ',')) {
    if (!name.empty() && !add_epoch(epochs, name)) return false;
  }
  state.labels.emplace_back(text.substr(colon + 1), std::move(epochs));
  return true;
}

bool read_record(LayerState& state, std::string_view key, std::string_view value) {
  if (key == "kind") {
    if (value != "overlay" && value != "copy") return false;
    state.kind = value == "copy" ? KeptKind::kCopy : KeptKind::kOverlay;
    return true;
  }
  if (key == "workspace") {
    state.workspace = value;
    return value.starts_with('/');
  }
  if (key == "dev") return read_number(value, state.dev);
  if (key == "ino") return read_number(value, state.ino);
  if (key == "created") return read_number(value, state.created_s);
  if (key == "runs") return !value.empty();  // of former layers: it has a file of its own now
  if (key == "thrown_away") {
    state.is_thrown_away = true;
    return value.empty();
  }
  if (key == "root") return add_path(state.roots, value);
  if (key == "epoch") return add_epoch(state.stack, value);
  if (key == "label") return add_label(state, value);
  if (key == "shown") return add_epoch(state.shown, value);
  if (key == "protect") return add_path(state.protects, value);
  if (key == "hidden") return add_path(state.hidden, value);
  if (key == "protect_glob") return add_path(state.protect_globs, value);
  if (key == "hidden_glob") return add_path(state.hidden_globs, value);
  if (key == "read_only") return add_path(state.read_only, value);
  if (key == "committed") {
    state.committed = value;
    return is_epoch(value);
  }
  return false;
}

}  // namespace

const char* kept_kind_name(KeptKind kind) { return kind == KeptKind::kCopy ? "copy" : "overlay"; }

const Epochs* LayerState::find_label(std::string_view label) const {
  for (const auto& [name, epochs] : labels) {
    if (name == label) return &epochs;
  }
  return nullptr;
}

std::string encode_layer_state(const LayerState& state) {
  std::string text(kMark);
  text += '\0';
  const auto add = [&text](std::string_view key, std::string_view value) {
    ((text += key) += '=') += value;
    text += '\0';
  };
  add("kind", kept_kind_name(state.kind));
  add("workspace", state.workspace);
  add("dev", std::to_string(state.dev));
  add("ino", std::to_string(state.ino));
  add("created", std::to_string(state.created_s));
  if (state.is_thrown_away) add("thrown_away", "");
  for (const std::string& path : state.roots) add("root", path);
  for (const std::string& epoch : state.stack) add("epoch", epoch);
  for (const auto& [label, epochs] : state.labels) {
    std::string value;
    for (const std::string& epoch : epochs) (value += value.empty() ? "" : ",") += epoch;
    add("label", value + ":" + label);
  }
  for (const std::string& path : state.protects) add("protect", path);
  for (const std::string& path : state.hidden) add("hidden", path);
  for (const std::string& glob : state.protect_globs) add("protect_glob", glob);
  for (const std::string& glob : state.hidden_globs) add("hidden_glob", glob);
  for (const std::string& path : state.read_only) add("read_only", path);
  if (!state.committed.empty()) add("committed", state.committed);
  for (const std::string& epoch : state.shown) add("shown", epoch);
  return text;
}

Result<LayerState> decode_layer_state(std::string_view text) {
  LayerState state;
  bool is_first = true;
  while (!text.empty()) {
    const std::size_t end = text.find('\0');
    const std::string_view record = text.substr(0, end);
    const std::size_t equals = record.find('=');
    const bool is_good =
        end != text.npos &&
        (is_first ? record == kMark
                  : equals != record.npos &&
                        read_record(state, record.substr(0, equals), record.substr(equals + 1)));
    if (!is_good) {
      return Error{ErrorCode::kSetupFailed,
                   "the layer's state is damaged at: " + std::string(record.substr(0, 100)), "",
                   "sbx-run layer discard removes the layer"};
    }
    is_first = false;
    text.remove_prefix(end + 1);
  }
  if (state.workspace.empty() || state.stack.empty()) {
    return Error{ErrorCode::kSetupFailed, "the layer's state is damaged: it is cut short", "",
                 "sbx-run layer discard removes the layer"};
  }
  return state;
}

}  // namespace sbx
