// SPDX-License-Identifier: Apache-2.0
// The layers of a workspace, and the points in the history of one.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <set>
#include <utility>

#include "action.h"
#include "base/files.h"
#include "base/paths.h"
#include "base/text.h"
#include "epochs.h"
#include "json/writer.h"
#include "kept/merged.h"
#include "pending.h"
#include "report/json_parts.h"
#include "touched.h"

namespace sbx {
namespace {

struct Row {
  std::string name;
  std::int64_t size = 0;
  std::size_t files = 0;
  std::int64_t runs = 0;
  std::int64_t age_s = 0;
  const char* kind = "";
};

std::string size_text(std::int64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "K", "M", "G", "T"};
  std::size_t unit = 0;
  auto size = static_cast<double>(bytes);
  for (; size >= 1024 && unit < 4; ++unit) size /= 1024;
  std::string text = std::to_string(std::lround(size * 10));
  text.insert(text.size() - 1, text.size() == 1 ? "0." : ".");
  return text + kUnits[unit];
}

std::string table(const std::vector<Row>& rows) {
  std::size_t width = 4;
  for (const Row& row : rows) width = std::max(width, escape_control_bytes(row.name).size());
  const auto pad = [](std::string text, std::size_t to) {
    if (text.size() < to) text.insert(0, to - text.size(), ' ');
    return text;
  };
  std::string name = "NAME";
  name.resize(width, ' ');
  std::string out = name + "      SIZE   FILES    RUNS  AGE        KIND\n";
  for (const Row& row : rows) {
    name = escape_control_bytes(row.name);
    name.resize(std::max(width, name.size()), ' ');
    const std::int64_t hours = row.age_s / 3600;
    std::string age = hours >= 48  ? std::to_string(hours / 24) + " days"
                      : hours >= 1 ? std::to_string(hours) + " hours"
                                   : std::to_string(row.age_s / 60) + " min";
    age.resize(std::max<std::size_t>(age.size(), 9), ' ');
    out += name + pad(size_text(row.size), 10) + pad(std::to_string(row.files), 8) +
           pad(std::to_string(row.runs), 8) + "  " + age + "  " + row.kind + "\n";
  }
  return out;
}

Error taken(const std::string& what, const std::string& name, const char* word) {
  return Error{ErrorCode::kBadValue,
               "there is a " + what + " '" + escape_control_bytes(name) + "' already", word,
               "choose another"};
}

Error bad_label(const std::string& label) {
  return Error{ErrorCode::kBadValue,
               "bad value for LABEL: '" + escape_control_bytes(label.substr(0, 200)) + "'", "LABEL",
               "text of at most 200 bytes without control characters"};
}

bool is_label(const std::string& label) { return check_layer_name(label, "LABEL").ok(); }

std::string next_label(const LayerState& state) {
  for (std::size_t i = state.labels.size() + 1;; ++i) {
    std::string label = "checkpoint-" + std::to_string(i);
    if (state.find_label(label) == nullptr) return label;
  }
}

Done said(const Action& action, const char* key, const std::string& value) {
  Answer answer;
  if (!action.json) {
    answer.text = escape_control_bytes(value) + "\n";
    return answer;
  }
  JsonWriter json(answer.text);
  json.begin_object();
  write_member(json, "name", action.name);
  write_member(json, key, value);
  json.end_object();
  answer.text += '\n';
  return answer;
}

Status checkpoint(KeptLayer& layer, const std::string& label) {
  SBX_TRY(const OwnedFd lock, lock_store(layer.store()));
  SBX_CHECK_OK(freeze(layer));
  const Epochs& stack = layer.state().stack;
  layer.state().labels.emplace_back(label, Epochs(stack.begin(), stack.end() - 1));
  return layer.save();
}

Status rollback(KeptLayer& layer, const Epochs& below) {
  SBX_TRY(const OwnedFd lock, lock_store(layer.store()));
  SBX_CHECK_OK(start_anew(layer, below));
  SBX_CHECK_OK(layer.save());
  collect_garbage(layer.store());
  return {};
}

Status branch(KeptLayer& layer, const std::string& name) {
  SBX_TRY(const OwnedFd lock, lock_store(layer.store()));
  SBX_TRY(const OwnedFd held, lock_layer(layer.store(), name, true));
  if (access((layer.store().layer(name) + "/state").c_str(), F_OK) == 0) {
    return taken("layer", name, "NEW");
  }
  SBX_CHECK_OK(freeze(layer));
  const LayerState was = layer.state();
  SBX_CHECK_OK(layer.save());
  const Epochs below(was.stack.begin(), was.stack.end() - 1);
  SBX_CHECK_OK(start_anew(layer, below));
  LayerState made = layer.state();
  layer.state() = was;
  made.created_s = time(nullptr);
  made.is_thrown_away = false;
  made.labels.clear();
  if (!made.committed.empty()) made.shown.push_back(std::exchange(made.committed, {}));
  if (made.kind == KeptKind::kCopy) made.stack = {made.stack.back()};
  return write_layer_state(layer.store(), name, made);
}

Status discard_whole(KeptLayer& layer) {
  SBX_TRY(const OwnedFd lock, lock_store(layer.store()));
  rmdir_layer(layer.store(), layer.name());
  collect_garbage(layer.store());
  return {};
}

// Of a layer's state that could be read, and tells nothing.
bool is_damage(const Error& error) {
  return error.code == ErrorCode::kSetupFailed && error.sys_errno == 0;
}

// False where it is not damaged.
Result<bool> discard_damaged(const Action& action) {
  SBX_TRY(const LayerStore store, open_layer_store(action.environment, action.workspace));
  SBX_TRY(const OwnedFd held, lock_layer(store, action.name, false));
  const Result<LayerState> state = read_layer_state(store, action.name);
  if (state.ok() || !is_damage(state.error())) return false;
  SBX_TRY(const OwnedFd lock, lock_store(store));
  rmdir_layer(store, action.name);
  collect_garbage(store);
  return true;
}

Result<std::set<TouchedKey>> chosen_paths(const Action& action, KeptLayer& layer) {
  bool is_whole = false;
  const TouchedMap touched = collect_touched(layer, is_whole);
  std::set<TouchedKey> chosen;
  for (const std::string& name : action.arguments) {
    bool is_used = false;
    for (const auto& [key, entry] : touched) {
      if (!is_below(absolute_path(layer.state(), key), name)) continue;
      chosen.insert(key);
      is_used = true;
    }
    if (!is_used) {
      return Error{ErrorCode::kPathNotFound,
                   "the layer changes nothing at " + escape_control_bytes(name), "PATH",
                   "sbx-run layer diff NAME --name-only lists what it changes"};
    }
  }
  return chosen;
}

}  // namespace

Result<std::shared_ptr<KeptLayer>> find_layer(const Action& action, bool only_looks) {
  SBX_TRY(const LayerStore store, open_layer_store(action.environment, action.workspace));
  SBX_TRY(std::shared_ptr<KeptLayer> layer,
          KeptLayer::find(store, action.name, only_looks || action.is_held));
  const bool finishes = action.what == "commit" || action.what == "undo";
  if (!only_looks && !finishes && read_pending(store, action.name)) {
    return Error{ErrorCode::kLayerInUse, "a commit of the layer is unfinished", "layer",
                 "sbx-run layer commit NAME finishes it, with --undo it is taken back"};
  }
  // Of one that goes nothing is written down: the disk may be full, of that very layer.
  const bool goes = action.what == "discard" && action.arguments.empty();
  if (!goes) SBX_CHECK_OK(layer->note_touched(only_looks));
  return layer;
}

Action in_roots(Action action, const LayerState& state) {
  const auto resolve = [&](std::string& path) {
    std::string resolved = path;
    bool is_inside = false;
    for (std::size_t at = 0; !is_inside && at != std::string::npos;) {
      at = path.find('/', at + 1);
      const Result<std::string> real = real_path(path.substr(0, at));
      if (!real.ok()) break;
      resolved = join_path(real.value(), at == std::string::npos ? "" : path.substr(at + 1));
      if (at == std::string::npos) resolved = real.value();
      is_inside = std::any_of(state.roots.begin(), state.roots.end(), [&](const std::string& root) {
        return is_below(real.value(), root);
      });
    }
    path = std::move(resolved);
  };
  for (auto* const paths : {&action.arguments, &action.ours, &action.theirs}) {
    std::for_each(paths->begin(), paths->end(), resolve);
  }
  if (!action.root.empty()) resolve(action.root);
  return action;
}

Done list_layers(const Action& action) {
  const Result<LayerStore> store = open_layer_store(action.environment, action.workspace);
  if (!store.ok()) return Refusal{store.error(), {}};
  std::vector<Row> rows;
  for (const std::string& name : layer_names(store.value())) {
    const Result<std::shared_ptr<KeptLayer>> layer = KeptLayer::find(store.value(), name, true);
    if (!layer.ok()) {
      if (is_damage(layer.error())) rows.push_back({.name = name, .kind = "damaged"});
      continue;
    }
    const LayerState& state = layer.value()->state();
    Row row{name,
            layer.value()->frozen_bytes(),
            0,
            layer_runs(store.value(), name),
            std::max<std::int64_t>(0, time(nullptr) - state.created_s),
            kept_kind_name(state.kind)};
    for (const std::string& part : layer.value()->written()) row.size += tree_bytes(part);
    row.files = count_files(*layer.value());
    rows.push_back(std::move(row));
  }
  Answer answer;
  if (action.terminal && !action.json) {
    answer.text = table(rows);
    return answer;
  }
  JsonWriter json(answer.text);
  json.begin_array();
  for (const Row& row : rows) {
    json.begin_object();
    write_member(json, "name", row.name);
    json.key("size");
    json.integer(row.size);
    json.key("files");
    json.count(row.files);
    json.key("runs");
    json.integer(row.runs);
    json.key("age_s");
    json.integer(row.age_s);
    write_member(json, "kind", row.kind);
    json.end_object();
  }
  json.end_array();
  answer.text += '\n';
  return answer;
}

Done checkpoint_layer(const Action& action) {
  Result<std::shared_ptr<KeptLayer>> found = find_layer(action, false);
  if (!found.ok()) return Refusal{found.error(), {}};
  KeptLayer& layer = *found.value();
  const std::string label =
      action.arguments.empty() ? next_label(layer.state()) : action.arguments[0];
  if (!is_label(label)) return Refusal{bad_label(label), {}};
  if (layer.state().find_label(label) != nullptr)
    return Refusal{taken("checkpoint", label, "LABEL"), {}};
  if (Status status = checkpoint(layer, label); !status.ok()) return Refusal{status.error(), {}};
  return said(action, "label", label);
}

Done rollback_layer(const Action& action) {
  Result<std::shared_ptr<KeptLayer>> found = find_layer(action, false);
  if (!found.ok()) return Refusal{found.error(), {}};
  const std::string& label = action.arguments[0];
  const Epochs* const below = found.value()->state().find_label(label);
  if (below == nullptr) {
    return Refusal{Error{ErrorCode::kLayerNotFound,
                         "the layer has no checkpoint '" + escape_control_bytes(label) + "'",
                         "LABEL", "sbx-run layer checkpoint makes one"},
                   {}};
  }
  const Epochs stack = *below;
  if (Status status = rollback(*found.value(), stack); !status.ok()) {
    return Refusal{status.error(), {}};
  }
  return said(action, "label", label);
}

Done branch_layer(const Action& action) {
  Result<std::shared_ptr<KeptLayer>> found = find_layer(action, false);
  if (!found.ok()) return Refusal{found.error(), {}};
  const std::string& name = action.arguments[0];
  if (Status status = check_layer_name(name, "NEW"); !status.ok()) {
    return Refusal{status.error(), {}};
  }
  if (name == action.name) return Refusal{taken("layer", name, "NEW"), {}};
  if (Status status = branch(*found.value(), name); !status.ok()) {
    return Refusal{status.error(), {}};
  }
  return said(action, "new", name);
}

Done discard_layer(const Action& action) {
  Result<std::shared_ptr<KeptLayer>> found = find_layer(action, false);
  if (!found.ok() && is_damage(found.error()) && action.arguments.empty()) {
    const Result<bool> done = discard_damaged(action);
    if (!done.ok()) return Refusal{done.error(), {}};
    if (done.value()) return said(action, "discarded", action.name);
  }
  if (!found.ok()) return Refusal{found.error(), {}};
  KeptLayer& layer = *found.value();
  if (action.arguments.empty()) {
    if (Status status = discard_whole(layer); !status.ok()) return Refusal{status.error(), {}};
    return said(action, "discarded", action.name);
  }
  Result<std::set<TouchedKey>> chosen = chosen_paths(in_roots(action, layer.state()), layer);
  if (!chosen.ok()) return Refusal{chosen.error(), {}};
  if (Status status = forget_paths(layer, chosen.value()); !status.ok()) {
    return Refusal{status.error(), {}};
  }
  return said(action, "discarded", std::to_string(chosen.value().size()) + " paths");
}

}  // namespace sbx
