// SPDX-License-Identifier: Apache-2.0
// Fields: what a JSON document may hold, and which member of a struct each key is, as constant
// tables. check.h walks them over a document, schema.h prints them as JSON Schema, codec.h carries
// values between document and struct: one row a key, so that none of these can disagree. No word
// of profiles here: requests and tool parameters are described the same way.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

namespace sbx {

// The form of a string, twice: as the check's predicate and as the schema's pattern (ECMA 262).
// A test feeds both the same strings. Patterns end in (?![\s\S]) instead of $, which in some
// engines also matches before a last newline.
struct TextForm {
  bool (*matches)(std::string_view);
  const char* pattern;
  const char* expected;  // after "must be", such as "an absolute path"
};

enum class Kind : std::uint8_t {
  kBool,
  kCount,         // a whole number from min to max
  kNumber,        // any number from min to max
  kText,          // a string of `form`; any string where form is null
  kEnum,          // one of `names`
  kList,          // of `item`, at least `min`
  kMap,           // keys of `form`, values of `item`
  kObject,        // of `object`
  kTextOrObject,  // a string of `form`, or an `object`
  kTextOrList,    // a string of `form`, or a list of `item`
};

struct ObjectSpec;

// As a maximum: one that no schema of a tool prints, and none at all for a kNumber.
inline constexpr std::int64_t kUnbounded = std::int64_t{1} << 53;

struct ValueSpec {
  Kind kind = Kind::kBool;
  bool nullable = false;
  std::int64_t min = 0;
  std::int64_t max = 0;
  const TextForm* form = nullptr;
  std::span<const std::string_view> names = {};
  const ValueSpec* item = nullptr;
  const ObjectSpec* object = nullptr;
};

// How values of one type of member are read and written. codec.h has them.
struct Codec {
  // A checked value → `to`. With `append` (the key was written "+KEY"), a list behind what `to`
  // has. False: there is no list to append to. Null: nothing is read.
  bool (*decode)(const ValueSpec& spec, const nlohmann::json& from, void* to,
                 bool append) = nullptr;
  // Null: nothing is written.
  void (*encode)(const ValueSpec& spec, const void* from, nlohmann::ordered_json& to) = nullptr;
};

// The member that a row is about, in the struct that its object describes. Without one the row is
// only checked, such as $schema.
struct Member {
  void* (*of)(void* object) = nullptr;
  const Codec* codec = nullptr;
  // The same in the base that declares the member, where the object has bases; see rows_of_part().
  void* (*of_part)(void* part) = nullptr;
  std::string_view part = {};  // its name
};

struct FieldSpec {
  std::string_view name;
  std::string_view description;
  ValueSpec value;
  bool required = false;
  bool brief = false;     // not written where it is false, or the first of its names
  bool in_digest = true;  // an approval's digest changes with it
  Member member = {};
};

struct ObjectSpec {
  std::span<const FieldSpec> fields;
  bool appendable = false;  // a list field KEY may also be written "+KEY": appended to a parent's

  // Null where there is none.
  const FieldSpec* find(std::string_view key) const;
};

}  // namespace sbx
