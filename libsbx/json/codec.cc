// SPDX-License-Identifier: Apache-2.0
// The walk over the rows, and the codecs of the plain types.
#include "json/codec.h"

#include <utility>

#include "json/reader.h"

namespace sbx {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

void* member_of(const FieldSpec& field, void* object) { return field.member.of(object); }
const void* member_of(const FieldSpec& field, const void* object) {
  return field.member.of(const_cast<void*>(object));  // NOLINT(*-const-cast): only an address
}

bool is_first_value(const ValueSpec& spec, const ordered_json& value) {
  return spec.kind == Kind::kEnum ? value == spec.names.front() : value == false;
}

// Every value with its kind and its length before it.
void append_canonical(std::string& out, const ordered_json& value) {
  const auto append = [&](char kind, std::string_view bytes) {
    out += kind;
    out += std::to_string(bytes.size());
    out += ':';
    out += bytes;
  };
  if (value.is_string()) {
    append('s', value.get_ref<const std::string&>());
  } else if (value.is_structured()) {
    append(value.is_object() ? 'o' : 'a', std::to_string(value.size()));
    for (const auto& [key, item] : value.items()) {
      append('k', key);
      append_canonical(out, item);
    }
  } else {
    append('v', value.dump());
  }
}

}  // namespace

const FieldSpec* ObjectSpec::find(std::string_view key) const {
  const auto at = std::find_if(fields.begin(), fields.end(),
                               [&](const FieldSpec& field) { return field.name == key; });
  return at == fields.end() ? nullptr : &*at;
}

void decode_object(const ObjectSpec& spec, const json& document, void* object,
                   const std::string& pointer, std::vector<Error>& errors) {
  for (const auto& [key, value] : document.get_ref<const json::object_t&>()) {
    const bool append = spec.appendable && key.starts_with('+');
    const FieldSpec* row = spec.find(append ? std::string_view(key).substr(1) : key);
    if (row == nullptr || row->member.codec == nullptr || row->member.codec->decode == nullptr) {
      continue;
    }
    if (row->value.kind == Kind::kObject && value.is_object()) {
      std::string below = pointer;
      append_to_pointer(below, key);
      decode_object(*row->value.object, value, member_of(*row, object), below, errors);
    } else if (!row->member.codec->decode(row->value, value, member_of(*row, object), append)) {
      Error error{ErrorCode::kBadValue,
                  "the parent has no list to append to: null means everything", pointer,
                  "write the whole list, without the +"};
      append_to_pointer(error.where, key);
      errors.push_back(std::move(error));
    }
  }
}

void encode_object(const ObjectSpec& spec, const void* object, ordered_json& to) {
  to = ordered_json::object();
  for (const FieldSpec& row : spec.fields) {
    if (row.member.codec == nullptr || row.member.codec->encode == nullptr) continue;
    ordered_json value;
    row.member.codec->encode(row.value, member_of(row, object), value);
    if (row.brief && is_first_value(row.value, value)) continue;
    to[std::string(row.name)] = std::move(value);
  }
}

ordered_json digest_json(const ObjectSpec& spec, const void* object) {
  ordered_json out = ordered_json::object();
  for (const FieldSpec& row : spec.fields) {
    if (!row.in_digest || row.member.codec == nullptr || row.member.codec->encode == nullptr) {
      continue;
    }
    ordered_json& value = out[std::string(row.name)];
    if (row.value.kind == Kind::kObject && !row.value.nullable) {
      value = digest_json(*row.value.object, member_of(row, object));
    } else {
      row.member.codec->encode(row.value, member_of(row, object), value);
    }
  }
  return out;
}

std::string digest_text(const ObjectSpec& spec, const void* object) {
  std::string text;
  append_canonical(text, digest_json(spec, object));
  return text;
}

bool StructCodec::decode(const ValueSpec& spec, const json& from, void* to, bool) {
  if (from.is_string()) {
    const FieldSpec& first = spec.object->fields.front();
    return first.member.codec->decode(first.value, from, member_of(first, to), false);
  }
  std::vector<Error> none;  // only an object that is appendable has any
  decode_object(*spec.object, from, to, "", none);
  return true;
}

void StructCodec::encode(const ValueSpec& spec, const void* from, ordered_json& to) {
  encode_object(*spec.object, from, to);
  if (spec.kind != Kind::kTextOrObject || to.size() != 1) return;
  ordered_json first = std::move(to.front());
  to = std::move(first);
}

bool ValueCodec<bool>::decode(const ValueSpec& spec, const json& from, void* to, bool) {
  if (!from.is_null()) {
    *static_cast<bool*>(to) =
        spec.kind == Kind::kEnum ? name_index(spec, from) != 0 : from.get<bool>();
  }
  return true;
}
void ValueCodec<bool>::encode(const ValueSpec& spec, const void* from, ordered_json& to) {
  const bool value = *static_cast<const bool*>(from);
  to = spec.kind == Kind::kEnum ? ordered_json(spec.names[value ? 1 : 0]) : ordered_json(value);
}

bool ValueCodec<std::int64_t>::decode(const ValueSpec&, const json& from, void* to, bool) {
  auto& value = *static_cast<std::int64_t*>(to);
  value = whole_number(from).value_or(value);
  return true;
}
void ValueCodec<std::int64_t>::encode(const ValueSpec&, const void* from, ordered_json& to) {
  to = *static_cast<const std::int64_t*>(from);
}

bool ValueCodec<int>::decode(const ValueSpec&, const json& from, void* to, bool) {
  auto& value = *static_cast<int*>(to);
  value = static_cast<int>(whole_number(from).value_or(value));
  return true;
}
void ValueCodec<int>::encode(const ValueSpec&, const void* from, ordered_json& to) {
  to = *static_cast<const int*>(from);
}

bool ValueCodec<std::string>::decode(const ValueSpec&, const json& from, void* to, bool) {
  auto& value = *static_cast<std::string*>(to);
  value = from.is_null() ? std::string() : from.get_ref<const std::string&>();
  return true;
}
void ValueCodec<std::string>::encode(const ValueSpec& spec, const void* from, ordered_json& to) {
  const auto& value = *static_cast<const std::string*>(from);
  if (!value.empty() || !spec.nullable) to = value;
}

bool ValueCodec<std::map<std::string, std::string>>::decode(const ValueSpec&, const json& from,
                                                            void* to, bool) {
  auto& map = *static_cast<std::map<std::string, std::string>*>(to);
  if (from.is_null()) return true;
  for (const auto& [key, value] : from.get_ref<const json::object_t&>()) {
    map.insert_or_assign(key, value.get_ref<const std::string&>());
  }
  return true;
}
void ValueCodec<std::map<std::string, std::string>>::encode(const ValueSpec&, const void* from,
                                                            ordered_json& to) {
  to = ordered_json::object();
  for (const auto& [key, value] : *static_cast<const std::map<std::string, std::string>*>(from)) {
    to[key] = value;
  }
}

std::size_t name_index(const ValueSpec& spec, const json& name) {
  const auto at =
      std::find(spec.names.begin(), spec.names.end(), name.get_ref<const std::string&>());
  return static_cast<std::size_t>(at - spec.names.begin());
}

}  // namespace sbx
