// SPDX-License-Identifier: Apache-2.0
// The walk over a document and its spec, side by side. Pointers are built only for errors: the
// walk itself allocates nothing, since it is part of every launch.
#include "json/check.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "json/reader.h"

namespace sbx {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxErrors = 100;

// The way from the document's root to a value, as a list on the stack.
struct Location {
  const Location* parent;
  std::string_view key;
  std::size_t index;  // where key has no data: an element of a list
};

void append_location(std::string& pointer, const Location* location) {
  if (location == nullptr) return;
  append_location(pointer, location->parent);
  append_to_pointer(pointer, location->key.data()
                                 ? location->key
                                 : std::string_view(std::to_string(location->index)));
}

// Quoted and short: the text is the writer's own and may be anything.
std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  if (text.size() <= kShown) return "\"" + std::string(text) + "\"";
  std::size_t end = kShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return "\"" + std::string(text.substr(0, end)) + "…\"";
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> known) {
  const auto nearest = nearest_name(name, known);
  return nearest ? "did you mean \"" + std::string(*nearest) + "\"?" : "";
}

std::string article_for(const json& value) {
  switch (value.type()) {
    case json::value_t::null:
      return "null";
    case json::value_t::boolean:
      return value.get<bool>() ? "true" : "false";
    case json::value_t::string:
      return "a string";
    case json::value_t::array:
      return "a list";
    case json::value_t::object:
      return "an object";
    default:
      return "the number " + value.dump();
  }
}

class Walk {
 public:
  explicit Walk(const std::string& prefix) : prefix_(prefix) {}

  void object(const json& value, const ObjectSpec& spec, const Location* location) {
    if (!value.is_object()) return wrong_type(value, "an object", location);
    for (const auto& [key, member] : value.get_ref<const json::object_t&>()) {
      const Location here{location, key, 0};
      if (const FieldSpec* field = spec.find(key)) {
        check(member, field->value, &here);
      } else if (const FieldSpec* list = spec.appendable ? find_appended(spec, key) : nullptr) {
        appended(value, member, *list, &here);
      } else {
        unknown(key, spec, &here);
      }
    }
    for (const FieldSpec& field : spec.fields) {
      if (field.required && !value.contains(field.name)) {
        const Location here{location, field.name, 0};
        add(ErrorCode::kMissingField, "the key \"" + std::string(field.name) + "\" is missing", "",
            &here);
      }
    }
  }

  std::vector<Error> take() && { return std::move(errors_); }

 private:
  static const FieldSpec* find_appended(const ObjectSpec& spec, std::string_view key) {
    if (!key.starts_with('+')) return nullptr;
    const FieldSpec* field = spec.find(key.substr(1));
    return field != nullptr && field->value.kind == Kind::kList ? field : nullptr;
  }

  void appended(const json& object, const json& list, const FieldSpec& field,
                const Location* location) {
    ValueSpec spec = field.value;
    spec.nullable = false;
    check(list, spec, location);
    if (object.contains(field.name)) {
      const std::string name(field.name);
      add(ErrorCode::kBadValue,
          "\"+" + name + "\" appends to a parent's list, and \"" + name +
              "\" replaces it: not both",
          "remove one of the two", location);
    }
  }

  void unknown(std::string_view key, const ObjectSpec& spec, const Location* location) {
    std::string hint;
    if (spec.appendable && key.starts_with('+') && spec.find(key.substr(1)) != nullptr) {
      hint = "only lists can be appended to: write \"" + std::string(key.substr(1)) + "\"";
    } else {
      std::vector<std::string_view> known;
      known.reserve(spec.fields.size());
      for (const FieldSpec& field : spec.fields) known.push_back(field.name);
      hint = did_you_mean(key, known);
      if (hint.empty())
        hint = known.empty() ? "no key is known here" : "known here: " + join(known, ", ");
    }
    add(ErrorCode::kUnknownField, "unknown key " + quoted(key), std::move(hint), location);
  }

  void check(const json& value, const ValueSpec& spec, const Location* location) {
    if (spec.nullable && value.is_null()) return;
    switch (spec.kind) {
      case Kind::kBool:
        if (!value.is_boolean()) wrong_type(value, "true or false", location);
        return;
      case Kind::kCount:
        return count(value, spec, location);
      case Kind::kNumber:
        return number(value, spec, location);
      case Kind::kText:
        return text(value, spec, "a string", location);
      case Kind::kEnum:
        return choice(value, spec, location);
      case Kind::kList:
        return list(value, spec, location);
      case Kind::kMap:
        return map(value, spec, location);
      case Kind::kObject:
        return object(value, *spec.object, location);
      case Kind::kTextOrObject:
        if (value.is_object()) return object(value, *spec.object, location);
        return text(value, spec, "a string or an object", location);
      case Kind::kTextOrList:
        if (value.is_array()) return list(value, spec, location);
        return text(value, spec, "a string or a list", location);
    }
  }

  void count(const json& value, const ValueSpec& spec, const Location* location) {
    if (!value.is_number()) return wrong_type(value, "a whole number", location);
    const auto whole = whole_number(value);
    const bool fraction =
        value.is_number_float() && value.get<double>() != std::trunc(value.get<double>());
    if (fraction) return wrong_type(value, "a whole number", location);
    if (!whole || *whole < spec.min || *whole > spec.max) out_of_range(value, spec, location);
  }

  void number(const json& value, const ValueSpec& spec, const Location* location) {
    if (!value.is_number()) return wrong_type(value, "a number", location);
    const auto amount = value.get<double>();
    const bool is_above = spec.max != kUnbounded && amount > static_cast<double>(spec.max);
    if (amount < static_cast<double>(spec.min) || is_above) {
      out_of_range(value, spec, location);
    }
  }

  void text(const json& value, const ValueSpec& spec, const char* expected,
            const Location* location) {
    if (!value.is_string()) return wrong_type(value, expected, location);
    form(value.get_ref<const std::string&>(), spec.form, location);
  }

  void form(std::string_view value, const TextForm* form, const Location* location) {
    if (form == nullptr || form->matches(value)) return;
    const std::string what = value.empty() ? "" : quoted(value) + " ";
    add(ErrorCode::kBadValue, what + "must be " + form->expected, "", location);
  }

  void choice(const json& value, const ValueSpec& spec, const Location* location) {
    if (!value.is_string()) return wrong_type(value, "one of " + join(spec.names, ", "), location);
    const std::string_view name = value.get_ref<const std::string&>();
    if (std::find(spec.names.begin(), spec.names.end(), name) != spec.names.end()) return;
    add(ErrorCode::kBadValue, quoted(name) + " is not one of " + join(spec.names, ", "),
        did_you_mean(name, spec.names), location);
  }

  void list(const json& value, const ValueSpec& spec, const Location* location) {
    if (!value.is_array()) return wrong_type(value, "a list", location);
    if (value.size() < static_cast<std::size_t>(spec.min)) {
      add(ErrorCode::kBadValue, "an empty list", "leave the key out, or name something", location);
    }
    for (std::size_t i = 0; i < value.size(); ++i) {
      const Location here{location, {}, i};
      check(value[i], *spec.item, &here);
    }
  }

  void map(const json& value, const ValueSpec& spec, const Location* location) {
    if (!value.is_object()) return wrong_type(value, "an object", location);
    for (const auto& [key, member] : value.get_ref<const json::object_t&>()) {
      const Location here{location, key, 0};
      form(key, spec.form, &here);
      check(member, *spec.item, &here);
    }
  }

  void wrong_type(const json& value, std::string_view expected, const Location* location) {
    add(ErrorCode::kWrongType, "must be " + std::string(expected) + ", not " + article_for(value),
        "", location);
  }

  void out_of_range(const json& value, const ValueSpec& spec, const Location* location) {
    const std::string least = std::to_string(spec.min);
    const bool is_unbounded = spec.max == kUnbounded && value < spec.min;
    const std::string bounds = !is_unbounded ? "from " + least + " to " + std::to_string(spec.max)
                               : spec.kind == Kind::kNumber ? "more than " + least
                                                            : least + " or more";
    add(ErrorCode::kOutOfRange, "must be " + bounds + ", not " + value.dump(), "", location);
  }

  void add(ErrorCode code, std::string message, std::string hint, const Location* location) {
    if (errors_.size() >= kMaxErrors) return;
    std::string where = prefix_;
    append_location(where, location);
    errors_.push_back({.code = code,
                       .message = std::move(message),
                       .where = std::move(where),
                       .hint = std::move(hint)});
  }

  const std::string& prefix_;
  std::vector<Error> errors_;
};

}  // namespace

std::vector<Error> check_fields(const json& document, const ObjectSpec& spec,
                                const std::string& pointer) {
  Walk walk(pointer);
  walk.object(document, spec, nullptr);
  return std::move(walk).take();
}

std::optional<std::int64_t> whole_number(const json& value) {
  if (value.is_number_unsigned()) {
    const auto count = value.get<std::uint64_t>();
    if (count > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
    return static_cast<std::int64_t>(count);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const auto amount = value.get<double>();
  constexpr double kExact = 9007199254740992.0;  // 2^53: every whole number up to it is itself
  if (amount != std::trunc(amount) || std::abs(amount) > kExact) return std::nullopt;
  return static_cast<std::int64_t>(amount);
}

}  // namespace sbx
