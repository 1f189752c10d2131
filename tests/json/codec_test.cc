// SPDX-License-Identifier: Apache-2.0
// A struct and its rows: what is decoded, what is written back, what a digest covers.
#include "json/codec.h"

#include <gtest/gtest.h>

#include <array>

namespace sbx {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

enum class Colour : std::uint8_t { kRed, kBlue };

struct Inner {
  std::string path;
  bool hidden = false;
};
struct Outer {
  std::string name;
  std::optional<std::int64_t> count;
  Colour colour = Colour::kRed;
  std::vector<Inner> items;
  Inner one;
};

constexpr auto kColours = std::to_array<std::string_view>({"red", "blue"});
constexpr auto kInnerRows = std::to_array<FieldSpec>({
    required(field<&Inner::path>("path", "", {.kind = Kind::kText})),
    brief(field<&Inner::hidden>("hidden", "", {.kind = Kind::kBool})),
});
constexpr ObjectSpec kInner = {kInnerRows};
constexpr ValueSpec kItem = {.kind = Kind::kTextOrObject, .object = &kInner};
constexpr auto kOuterRows = std::to_array<FieldSpec>({
    {"$schema", "", {.kind = Kind::kText}},
    field<&Outer::name>("name", "", {.kind = Kind::kText, .nullable = true}),
    field<&Outer::count>("count", "", {.kind = Kind::kCount, .nullable = true, .max = 9}),
    not_in_digest(field<&Outer::colour>("colour", "", {.kind = Kind::kEnum, .names = kColours})),
    field<&Outer::items>("items", "", {.kind = Kind::kList, .item = &kItem}),
    field<&Outer::one>("one", "", {.kind = Kind::kObject, .object = &kInner}),
});
constexpr ObjectSpec kOuter = {kOuterRows, true};

void lay_over(Outer& outer, const char* text) {
  const json document = json::parse(text);
  EXPECT_TRUE(check_fields(document, kOuter, "").empty()) << text;
  std::vector<Error> errors;
  decode_object(kOuter, document, &outer, "", errors);
  EXPECT_TRUE(errors.empty()) << text;
}

Outer decode(const char* text) {
  Outer outer;
  lay_over(outer, text);
  return outer;
}

TEST(Codec, WritesBackWhatItRead) {
  const char* const text =
      R"({"name":"n","count":3,"colour":"blue","items":["a",{"path":"b","hidden":true}],)"
      R"("one":{"path":"c"}})";
  const Outer outer = decode(text);
  ordered_json written;
  encode_object(kOuter, &outer, written);
  EXPECT_EQ(written.dump(), text);
}

TEST(Codec, LeavesWhatTheDocumentDoesNotName) {
  Outer outer = decode(R"({"name": "n", "one": {"path": "p", "hidden": true}, "items": ["a"]})");
  lay_over(outer, R"({"one": {"path": "q"}, "+items": ["b"]})");
  EXPECT_EQ(outer.name, "n");
  EXPECT_EQ(outer.one.path, "q");
  EXPECT_TRUE(outer.one.hidden);
  ASSERT_EQ(outer.items.size(), 2U);
  EXPECT_EQ(outer.items[1].path, "b");
}

TEST(DigestText, DiffersWhereAnyRowDoesButThoseLeftOut) {
  const auto text = [](const char* document) {
    const Outer outer = decode(document);
    return digest_text(kOuter, &outer);
  };
  EXPECT_EQ(text("{}"), text(R"({"colour": "blue"})"));
  EXPECT_NE(text("{}"), text(R"({"count": 0})"));
  EXPECT_NE(text("{}"), text(R"({"one": {"path": "", "hidden": true}})"));
  EXPECT_NE(text(R"({"items": ["a", "b"]})"), text(R"({"items": ["ab"]})"));
  EXPECT_NE(text(R"({"items": ["a", "b"]})"), text(R"({"items": ["b", "a"]})"));
}

TEST(DigestText, TellsApartBytesThatAreNotUtf8) {
  Outer one;
  one.name = "\xff";
  Outer two;
  two.name = "\xfe";
  EXPECT_NE(digest_text(kOuter, &one), digest_text(kOuter, &two));
}

}  // namespace
}  // namespace sbx
