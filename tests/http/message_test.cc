// SPDX-License-Identifier: Apache-2.0
#include "http/message.h"

#include <gtest/gtest.h>

namespace sbx::http {
namespace {

Result<Head> request(const std::string& lines) {
  const std::string text = lines + "\r\n";
  const auto size = head_size(text);
  if (!size.ok()) return size.error();
  return read_request(std::string_view(text).substr(0, size.value()));
}

TEST(Message, ReadsARequestAndItsFraming) {
  const auto head = request("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n");
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(head.value().method, "POST");
  EXPECT_EQ(head.value().body, Body::kLength);
  EXPECT_EQ(head.value().length, 12U);
  EXPECT_TRUE(head.value().keeps_alive);
}

TEST(Message, RefusesWhatCouldBeFramedInTwoWays) {
  for (const char* const lines :
       {"GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1,1\r\n",
        "GET / HTTP/1.1\r\nContent-Length: -1\r\n",
        "GET / HTTP/1.1\r\nContent_Length: 1\r\n",
        "GET / HTTP/1.1\r\nTransfer_Encoding: x\r\n",
        "GET / HTTP/1.1\r\nContent.Length: 1\r\n",
        "GET / HTTP/1.1\r\nTransfer~Encoding: x\r\n",
        "GET / HTTP/1.1\r\nX-A: 1\r\nX.a: 2\r\n",
        "GET / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n",
        "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n",
        "GET / HTTP/1.1\r\nA b: c\r\n",
        "GET / HTTP/1.1\r\nA : c\r\n",
        "GET / HTTP/1.1\r\n a\r\n",
        "GET / HTTP/1.1\r\nA\r\n",
        "GET / HTTP/1.1\r\nX-A: 1\r\nX_a: 2\r\n",
        "GET / HTTP/3\r\n",
        "GET /\r\n",
        "G@T / HTTP/1.1\r\n",
        "GET / HTTP/1.1\r\nA: \x01\r\n",
        "GET / HTTP/1.1\r\nContent-Length: \r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1:\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 18446744073709551617\r\n",
        "GET  HTTP/1.1\r\n",
        "GET / HTTP/1.1 x\r\n",
        "\nGET / HTTP/1.1\r\n",
        "\r\nGET / HTTP/1.1\r\n",
        "GET / HTTP/1.1\nA: b\r\n"}) {
    EXPECT_FALSE(request(lines).ok()) << lines;
  }
  std::string fields;
  for (int i = 0; i < 200; ++i) fields += "A: b\r\n";
  EXPECT_TRUE(request("GET / HTTP/1.1\r\n" + fields).ok());
  EXPECT_FALSE(request("GET / HTTP/1.1\r\n" + fields + "A: b\r\n").ok());
}

TEST(Message, KnowsWhichAnswersHaveNoBody) {
  const auto body = [](const std::string& text, const char* method) {
    return read_response(text, method).value().body;
  };
  EXPECT_EQ(body("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "HEAD"), Body::kNone);
  EXPECT_EQ(body("HTTP/1.1 304 Not\r\nContent-Length: 2\r\n\r\n", "GET"), Body::kNone);
  EXPECT_EQ(body("HTTP/1.1 200 OK\r\n\r\n", "GET"), Body::kUntilEnd);
  EXPECT_FALSE(read_response("HTTP/1.1 204 No\r\nContent-Length: 2\r\n\r\n", "GET").ok());
  EXPECT_FALSE(read_response("HTTP/1.1 20 No\r\n\r\n", "GET").ok());
  EXPECT_FALSE(read_response("HTTP/1.1\r\n\r\n", "GET").ok());
  EXPECT_FALSE(read_response("HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n", "GET").ok());
  for (const char* const line : {"HTTP/1.1-200 OK", "HTTP/1.1 2000", "HTTP/1.1 099 OK",
                                 "HTTP/1.1 2x0 OK", "HTTP/2.0 200 OK", "HTTP/1.1 200 O\x01K"}) {
    EXPECT_FALSE(read_response(std::string(line) + "\r\n\r\n", "GET").ok()) << line;
  }
}

TEST(Message, ReadsChunksWhereverTheyAreCut) {
  const std::string text = "3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: v\r\n\r\nrest";
  for (std::size_t step = 1; step < text.size(); ++step) {
    ChunkReader reader;
    std::string data;
    std::string held;
    for (std::size_t at = 0; at < text.size() && !reader.is_done(); at += step) {
      held += text.substr(at, step);
      const auto used = reader.read(held, data, SIZE_MAX);
      ASSERT_TRUE(used.ok());
      held.erase(0, used.value());
    }
    EXPECT_TRUE(reader.is_done());
    EXPECT_EQ(data, "abc0123456789");
    ASSERT_EQ(reader.trailers().size(), 1U);
  }
}

TEST(Message, RefusesChunksThatAreNone) {
  for (const char* const text :
       {"3\r\nabcd\r\n", "g\r\n", "-1\r\n", "3 \r\nabc", "\r\n", "3\nabc\n", "35\nabc", "\n",
        "3;\x01\r\nabc", "1234567890123456\r\n", "0\r\nContent-Length: 1\r\n\r\n",
        "0\r\nX-A: 1\r\nX_A: 2\r\n\r\n", "0\r\nContent_Length: 1\r\n\r\n",
        "0\r\nTrailer: a\r\n\r\n"}) {
    ChunkReader reader;
    std::string data;
    EXPECT_FALSE(reader.read(text, data, SIZE_MAX).ok()) << text;
  }
}

TEST(Message, WaitsForNoEndBeyondWhatALineMayHave) {
  const std::string line(4096, 'x');
  const std::string trailer(16384, 'x');
  for (const std::string& text : {"1;" + line, "1;" + line + "\r\na", "0\r\nA: " + trailer}) {
    std::string data;
    EXPECT_FALSE(ChunkReader().read(text, data, SIZE_MAX).ok());
  }
  EXPECT_FALSE(head_size(std::string(kMostHead + 1, 'x')).ok());
  EXPECT_FALSE(head_size("A: " + std::string(kMostHead, 'x') + "\r\n\r\n").ok());
}

}  // namespace
}  // namespace sbx::http
