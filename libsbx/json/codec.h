// SPDX-License-Identifier: Apache-2.0
// Between a JSON document and a struct, by the rows of field.h:
//
//   constexpr auto kRows = std::to_array<FieldSpec>({
//       field<&Limits::pids>("pids", "Processes at one time.", {.kind = Kind::kCount, .max = 9}),
//   });
//   constexpr ObjectSpec kLimits = {kRows};
//   decode_object(kLimits, document, &limits, "/limits", errors);
//
// A room with a type of its own specialises ValueCodec for it. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "json/check.h"
#include "json/field.h"

namespace sbx {

// `document` has passed check_fields() with `spec`, and `object` is the struct that `spec`'s rows
// name. Keys that are absent leave what there is: objects and maps merge, lists and all else
// replace. Errors: kBadValue, for a "+KEY" whose list is null; `pointer` is put before `where`.
void decode_object(const ObjectSpec& spec, const nlohmann::json& document, void* object,
                   const std::string& pointer, std::vector<Error>& errors);

// Every row with its value, in the table's order; decodes to the same struct.
void encode_object(const ObjectSpec& spec, const void* object, nlohmann::ordered_json& to);

// All that the rows say of `object`, but for those that are not in the digest: what a person is
// shown of what a digest covers.
nlohmann::ordered_json digest_json(const ObjectSpec& spec, const void* object);
// The same as a text in which two structs read alike only where they are. Any bytes.
std::string digest_text(const ObjectSpec& spec, const void* object);

template <typename T>
struct ValueCodec;

// A struct: a nested object, or a string that stands for its first row.
struct StructCodec {
  static bool decode(const ValueSpec& spec, const nlohmann::json& from, void* to, bool append);
  static void encode(const ValueSpec& spec, const void* from, nlohmann::ordered_json& to);
};

template <typename T>
requires std::is_class_v<T>
struct ValueCodec<T> : StructCodec {
};

template <>
struct ValueCodec<bool> {
  static bool decode(const ValueSpec& spec, const nlohmann::json& from, void* to, bool append);
  static void encode(const ValueSpec& spec, const void* from, nlohmann::ordered_json& to);
};

template <>
struct ValueCodec<std::int64_t> {
  static bool decode(const ValueSpec& spec, const nlohmann::json& from, void* to, bool append);
  static void encode(const ValueSpec& spec, const void* from, nlohmann::ordered_json& to);
};

template <>
struct ValueCodec<int> {
  static bool decode(const ValueSpec& spec, const nlohmann::json& from, void* to, bool append);
  static void encode(const ValueSpec& spec, const void* from, nlohmann::ordered_json& to);
};

// Null is the empty string.
template <>
struct ValueCodec<std::string> {
  static bool decode(const ValueSpec& spec, const nlohmann::json& from, void* to, bool append);
  static void encode(const ValueSpec& spec, const void* from, nlohmann::ordered_json& to);
};

template <>
struct ValueCodec<std::map<std::string, std::string>> {
  static bool decode(const ValueSpec& spec, const nlohmann::json& from, void* to, bool append);
  static void encode(const ValueSpec& spec, const void* from, nlohmann::ordered_json& to);
};

// The place of `name` in the spec's names, which the check has found there.
std::size_t name_index(const ValueSpec& spec, const nlohmann::json& name);

template <typename E>
requires std::is_enum_v<E>
struct ValueCodec<E> {
  static bool decode(const ValueSpec& spec, const nlohmann::json& from, void* to, bool) {
    *static_cast<E*>(to) = static_cast<E>(name_index(spec, from));
    return true;
  }
  static void encode(const ValueSpec& spec, const void* from, nlohmann::ordered_json& to) {
    to = spec.names[static_cast<std::size_t>(*static_cast<const E*>(from))];
  }
};

// Null is nullopt.
template <typename T>
struct ValueCodec<std::optional<T>> {
  static bool decode(const ValueSpec& spec, const nlohmann::json& from, void* to, bool append) {
    auto& value = *static_cast<std::optional<T>*>(to);
    if (append && !value) return false;
    if (from.is_null()) {
      value.reset();
      return true;
    }
    return ValueCodec<T>::decode(inner(spec), from, &(value ? *value : value.emplace()), append);
  }
  static void encode(const ValueSpec& spec, const void* from, nlohmann::ordered_json& to) {
    const auto& value = *static_cast<const std::optional<T>*>(from);
    if (value) ValueCodec<T>::encode(inner(spec), &*value, to);
  }
  static ValueSpec inner(ValueSpec spec) {
    spec.nullable = false;
    return spec;
  }
};

template <typename T>
struct ValueCodec<std::vector<T>> {
  static bool decode(const ValueSpec& spec, const nlohmann::json& from, void* to, bool append) {
    auto& list = *static_cast<std::vector<T>*>(to);
    if (!append) list.clear();
    for (const nlohmann::json& item : from) {
      ValueCodec<T>::decode(*spec.item, item, &list.emplace_back(), false);
    }
    return true;
  }
  static void encode(const ValueSpec& spec, const void* from, nlohmann::ordered_json& to) {
    to = nlohmann::ordered_json::array();
    for (const T& item : *static_cast<const std::vector<T>*>(from)) {
      ValueCodec<T>::encode(*spec.item, &item, to.emplace_back());
    }
  }
};

template <typename T>
inline constexpr Codec kCodec = {ValueCodec<T>::decode, ValueCodec<T>::encode};

template <auto kMember>
struct MemberOf;
template <typename Struct, typename T, T Struct::*kMember>
struct MemberOf<kMember> {
  using Type = T;
  using Part = Struct;
  template <typename Object>
  static void* of(void* object) {
    return &(static_cast<Object*>(object)->*kMember);
  }
};

// Stands for a type: a constant expression under sanitizers as well, which an address is not.
template <typename Part>
constexpr std::string_view part_name() {
  return __PRETTY_FUNCTION__;
}

// A row that is the member, with a form of its own where `codec` is given. A member of a base needs
// the object that has it.
template <auto kMember, typename Object = typename MemberOf<kMember>::Part>
constexpr FieldSpec field(std::string_view name, std::string_view description,
                          const ValueSpec& value,
                          const Codec& codec = kCodec<typename MemberOf<kMember>::Type>) {
  using Of = MemberOf<kMember>;
  using Part = typename Of::Part;
  return {.name = name,
          .description = description,
          .value = value,
          .member = {Of::template of<Object>, &codec, Of::template of<Part>, part_name<Part>()}};
}

// A row that is a base of the object's.
template <typename Part, typename Object>
constexpr FieldSpec part(std::string_view name, std::string_view description,
                         const ValueSpec& value) {
  constexpr auto of = [](void* object) -> void* {
    return static_cast<Part*>(static_cast<Object*>(object));
  };
  return {.name = name, .description = description, .value = value, .member = {of, &kCodec<Part>}};
}

// Of an object's rows those whose member a base declares, as rows of that base.
template <typename Part, const auto& kRows>
constexpr auto rows_of_part() {
  constexpr auto is_own = [](const FieldSpec& row) { return row.member.part == part_name<Part>(); };
  std::array<FieldSpec, std::count_if(kRows.begin(), kRows.end(), is_own)> own{};
  std::copy_if(kRows.begin(), kRows.end(), own.begin(), is_own);
  for (FieldSpec& row : own) row.member.of = row.member.of_part;
  return own;
}

constexpr FieldSpec required(FieldSpec field) {
  field.required = true;
  return field;
}
constexpr FieldSpec brief(FieldSpec field) {
  field.brief = true;
  return field;
}
constexpr FieldSpec not_in_digest(FieldSpec field) {
  field.in_digest = false;
  return field;
}

}  // namespace sbx
