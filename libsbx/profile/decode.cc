// SPDX-License-Identifier: Apache-2.0
// The reader and the writer that bind.h is walked with.
#include "profile/decode.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "profile/bind.h"
#include "profile/check.h"

namespace sbx {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Names = std::span<const std::string_view>;

template <typename E>
void set_choice(E& value, const std::string& name, Names names) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at != names.end()) value = static_cast<E>(at - names.begin());
}

// "/data/" and "/data" are one path to everything that compares paths later.
std::string without_last_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

class Reader {
 public:
  explicit Reader(const json& at) : at_(at) {}

  template <typename Members>
  void object(const char* key, Members members) {
    if (const json* value = find(key)) {
      Reader inner(*value);
      members(inner);
    }
  }
  void flag(const char* key, bool& to) {
    if (const json* value = find(key)) to = value->get<bool>();
  }
  void count(const char* key, std::int64_t& to) {
    if (const json* value = find(key)) to = whole_number(*value).value_or(to);
  }
  void limit(const char* key, std::optional<std::int64_t>& to) {
    if (const json* value = find(key)) to = whole_number(*value);
  }
  void text(const char* key, std::string& to) {
    if (const json* value = find(key)) to = text_of(*value);
  }
  void optional_text(const char* key, std::string& to) {
    if (const json* value = find(key)) to = value->is_null() ? "" : text_of(*value);
  }
  template <typename E>
  void choice(const char* key, E& to, Names names) {
    if (const json* value = find(key)) set_choice(to, text_of(*value), names);
  }
  void texts(const char* key, std::vector<std::string>& to) {
    if (const json* value = find(key)) to = value->get<std::vector<std::string>>();
  }
  void optional_texts(const char* key, std::optional<std::vector<std::string>>& to) {
    const json* value = find(key);
    if (value == nullptr) return;
    to.reset();
    if (value->is_array()) texts(key, to.emplace());
  }
  void text_map(const char* key, std::map<std::string, std::string>& to) {
    if (const json* value = find(key)) to = value->get<std::map<std::string, std::string>>();
  }
  void counts(const char* key, std::vector<int>& to) {
    each(key, [&](const json& item, std::size_t) {
      to.push_back(static_cast<int>(whole_number(item).value_or(0)));
    });
  }
  void layers(const char* key, LayerSet& to) {
    each(key, [&](const json& item, std::size_t) {
      Layer layer{};
      set_choice(layer, text_of(item), kLayerNames);
      to.add(layer);
    });
  }
  void roots(const char* key, std::vector<Root>& to) {
    each(key, [&](const json& item, std::size_t index) {
      Reader in(item);
      Root& root = to.emplace_back();
      in.text("path", root.path);
      in.choice("access", root.access, kAccessNames);
      in.flag("optional", root.optional);
      in.flag("noexec", root.noexec);
      root.path = without_last_slashes(std::move(root.path));
      root.where = "/filesystem/roots/" + std::to_string(index);
    });
  }
  void protect(const char* key, std::vector<Protect>& to) {
    each(key, [&](const json& item, std::size_t index) {
      Protect& entry = to.emplace_back();
      if (item.is_string()) {
        entry.path = text_of(item);
      } else {
        Reader in(item);
        in.text("path", entry.path);
        in.choice("missing", entry.report_missing, kMissingNames);
      }
      entry.path = without_last_slashes(std::move(entry.path));
      entry.where = "/filesystem/protect/" + std::to_string(index);
    });
  }

 private:
  static const std::string& text_of(const json& value) {
    return value.get_ref<const std::string&>();
  }

  const json* find(const char* key) const {
    const auto at = at_.find(key);
    return at == at_.end() ? nullptr : &*at;
  }

  template <typename Take>
  void each(const char* key, Take take) {
    const json* list = find(key);
    if (list == nullptr) return;
    for (std::size_t i = 0; i < list->size(); ++i) take((*list)[i], i);
  }

  const json& at_;
};

class Writer {
 public:
  explicit Writer(ordered_json& at) : at_(at) {}

  template <typename Members>
  void object(const char* key, Members members) {
    ordered_json value = ordered_json::object();
    Writer inner(value);
    members(inner);
    at_[key] = std::move(value);
  }
  void flag(const char* key, bool& from) { at_[key] = from; }
  void count(const char* key, std::int64_t& from) { at_[key] = from; }
  void limit(const char* key, std::optional<std::int64_t>& from) {
    at_[key] = from ? ordered_json(*from) : ordered_json(nullptr);
  }
  void text(const char* key, std::string& from) { at_[key] = from; }
  void optional_text(const char* key, std::string& from) {
    at_[key] = from.empty() ? ordered_json(nullptr) : ordered_json(from);
  }
  template <typename E>
  void choice(const char* key, E& from, Names names) {
    at_[key] = names[static_cast<std::size_t>(from)];
  }
  void texts(const char* key, std::vector<std::string>& from) { at_[key] = from; }
  void optional_texts(const char* key, std::optional<std::vector<std::string>>& from) {
    at_[key] = from ? ordered_json(*from) : ordered_json(nullptr);
  }
  void text_map(const char* key, std::map<std::string, std::string>& from) {
    at_[key] = ordered_json::object();
    for (const auto& [name, value] : from) at_[key][name] = value;
  }
  void counts(const char* key, std::vector<int>& from) { at_[key] = from; }
  void layers(const char* key, LayerSet& from) {
    ordered_json names = ordered_json::array();
    for (int i = 0; i < kLayerCount; ++i) {
      const auto layer = static_cast<Layer>(i);
      if (from.has(layer)) names.push_back(layer_name(layer));
    }
    at_[key] = std::move(names);
  }
  void roots(const char* key, std::vector<Root>& from) {
    ordered_json list = ordered_json::array();
    for (Root& root : from) {
      Writer item(list.emplace_back(ordered_json::object()));
      item.text("path", root.path);
      item.choice("access", root.access, kAccessNames);
      if (root.optional) item.flag("optional", root.optional);
      if (root.noexec) item.flag("noexec", root.noexec);
    }
    at_[key] = std::move(list);
  }
  void protect(const char* key, std::vector<Protect>& from) {
    ordered_json list = ordered_json::array();
    for (Protect& entry : from) {
      if (!entry.report_missing) {
        list.push_back(entry.path);
        continue;
      }
      Writer item(list.emplace_back(ordered_json::object()));
      item.text("path", entry.path);
      item.choice("missing", entry.report_missing, kMissingNames);
    }
    at_[key] = std::move(list);
  }

 private:
  ordered_json& at_;
};

}  // namespace

Profile decode_profile(const json& document) {
  Profile profile;
  Reader reader(document);
  bind_profile(reader, profile);
  return profile;
}

std::string profile_to_json(const Profile& profile, int indent) {
  Profile copy = profile;  // the writer shares bind.h with the reader, which wants to write
  ordered_json document = ordered_json::object();
  Writer writer(document);
  bind_profile(writer, copy);
  return document.dump(indent);
}

}  // namespace sbx
