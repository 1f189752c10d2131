// SPDX-License-Identifier: Apache-2.0
#include "http/frames.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "http/redactor.h"

namespace sbx::http {
namespace {

std::string frame(int first, const std::string& payload, const std::string& key = "") {
  std::string out{static_cast<char>(first)};
  const int mask = key.empty() ? 0 : 0x80;
  if (payload.size() < 126) {
    out += static_cast<char>(mask | static_cast<int>(payload.size()));
  } else {
    out += static_cast<char>(mask | 126);
    out += static_cast<char>(payload.size() >> 8);
    out += static_cast<char>(payload.size() & 0xff);
  }
  out += key;
  for (std::size_t i = 0; i < payload.size(); ++i) {
    out += key.empty() ? payload[i] : static_cast<char>(payload[i] ^ key[i % key.size()]);
  }
  return out;
}

struct Read {
  std::vector<std::pair<std::string, Frames::Part>> parts;
  std::string out;
};

Read read(std::string_view bytes, std::size_t step = SIZE_MAX) {
  Read got;
  Frames frames;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(step, bytes.size()))) {
    const Status status = frames.feed(bytes.substr(0, step), got.out, [&](auto payload, auto part) {
      if (!payload.empty() || part != Frames::Part::kPiece) got.parts.emplace_back(payload, part);
      return Result<std::string>(std::string(payload));
    });
    EXPECT_TRUE(status.ok());
  }
  return got;
}

using Part = Frames::Part;
using Parts = std::vector<std::pair<std::string, Part>>;

TEST(Frames, AreMessagesAndControlsBetween) {
  const std::string bytes = frame(0x01, "he") + frame(0x89, "ping") + frame(0x00, "") +
                            frame(0x80, "llo", "k\x01y!") + frame(0x82, "");
  const Read got = read(bytes);
  EXPECT_EQ(got.parts, (Parts{{"he", Part::kPiece},
                              {"ping", Part::kControl},
                              {"llo", Part::kLast},
                              {"", Part::kLast}}));
  EXPECT_EQ(got.out, frame(0x01, "he") + frame(0x89, "ping") + frame(0x80, "llo", "k\x01y!") +
                         frame(0x82, ""));
}

TEST(Frames, OfAnyLengthGoOnAsTheyCame) {
  for (const std::size_t size : {0, 1, 125, 126, 127, 1000, 65535}) {
    for (const char* const key : {"", "abcd"}) {
      const std::string bytes = frame(0x81, std::string(size, 'x'), key);
      EXPECT_EQ(read(bytes).out, bytes) << size;
    }
  }
  std::string large{'\x82', '\x7f', 0, 0, 0, 0, 0, 1, 0, 1};
  large += std::string(65537, 'x');
  EXPECT_EQ(read(large).out, large);
}

TEST(Frames, AWordIsFoundWhereverTheyCutIt) {
  const std::vector<Replacement> words = {{"secret-value", "placeholder!"}};
  const std::string bytes =
      frame(0x01, "<sec") + frame(0x8a, "x") + frame(0x00, "ret-v") + frame(0x80, "alue>");
  for (const std::size_t step : {std::size_t{1}, std::size_t{3}, bytes.size()}) {
    Frames frames;
    Redactor redactor(words);
    std::string out;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      ASSERT_TRUE(frames
                      .feed(std::string_view(bytes).substr(at, step), out,
                            [&](auto payload, auto part) {
                              if (part == Part::kControl)
                                return Result<std::string>(std::string(payload));
                              std::string passed = redactor.feed(payload);
                              if (part == Part::kLast) passed += redactor.finish();
                              return Result<std::string>(std::move(passed));
                            })
                      .ok());
    }
    std::string message;
    for (const auto& [payload, part] : read(out).parts) {
      if (part != Part::kControl) message += payload;
    }
    EXPECT_EQ(message, "<placeholder!>") << step;
  }
}

// A bit of an extension hides nothing.
TEST(Frames, AControlIsOneWhereverItIsCut) {
  const std::string bytes = frame(0x89, "a ping", "abcd") + frame(0x8a, "a pong");
  for (std::size_t step = 1; step < bytes.size(); ++step) {
    const Read got = read(bytes, step);
    EXPECT_EQ(got.parts, (Parts{{"a ping", Part::kControl}, {"a pong", Part::kControl}})) << step;
    EXPECT_EQ(got.out, bytes) << step;
  }
}

TEST(Frames, OfAnExtensionAreLookedAtLikeOthers) {
  for (const int bit : {0x40, 0x20, 0x10}) {
    const std::string bytes = frame(0x81 | bit, "a") + frame(0x81, "b");
    const Read got = read(bytes);
    EXPECT_EQ(got.parts, (Parts{{"a", Part::kLast}, {"b", Part::kLast}}));
    EXPECT_EQ(got.out, bytes);
  }
}

TEST(Frames, FromWhatIsNoneOnAllIsOneMessage) {
  for (const std::string& wrong :
       {frame(0x83, "a"), frame(0x80, "a"), frame(0x09, "a"), frame(0x8b, "a"),
        frame(0x89, std::string(126, 'a')), std::string("GET /"),
        frame(0x01, "").append(frame(0x81, "a"))}) {
    const Read got = read(frame(0x81, "good") + wrong + frame(0x81, "b"));
    EXPECT_EQ(got.parts.front(), (std::pair<std::string, Part>("good", Part::kLast)));
    EXPECT_TRUE(got.out.ends_with(wrong.substr(wrong.size() / 2) + frame(0x81, "b")));
    EXPECT_EQ(got.parts.back().second, Part::kPiece);
  }
}

TEST(Frames, AnErrorOfWhoLooksAtThemEndsThem) {
  Frames frames;
  std::string out;
  EXPECT_FALSE(frames
                   .feed(frame(0x81, "a"), out,
                         [](auto, auto) {
                           return Result<std::string>(Error{ErrorCode::kBadValue, "no", "", ""});
                         })
                   .ok());
  EXPECT_EQ(out, "");
}

}  // namespace
}  // namespace sbx::http
