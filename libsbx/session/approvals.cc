// SPDX-License-Identifier: Apache-2.0
// What a digest covers: every row of the tables of Policy and Request.
#include "session/approvals.h"

#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "base/hex.h"
#include "base/sha256.h"
#include "json/codec.h"
#include "policy/fields.h"

namespace sbx {
namespace {

// With its length before it, so that no two lists of texts read alike.
void add(std::string& bytes, std::string_view text) {
  bytes += std::to_string(text.size());
  bytes += ';';
  bytes += text;
}

}  // namespace

std::string approval_digest(const Policy& policy, const Request& request, const std::string& cwd,
                            const guard::Judgement& judgement) {
  std::string bytes;
  add(bytes, "sbx approval 2");
  add(bytes, digest_text(kPolicySpec, &policy));
  add(bytes, digest_text(kRequestSpec, &request));
  add(bytes, cwd);
  for (const Finding& finding : judgement.findings) {
    add(bytes, finding.id);
    add(bytes, std::to_string(finding.span.begin));
    add(bytes, std::to_string(finding.span.end));
  }
  return sha256_hex(bytes);
}

namespace {

constexpr std::size_t kNumberDigits = 16;  // of the time, and of the nonce
constexpr std::size_t kHashDigits = 32;

// Everything is of a fixed length, so no two read alike.
std::string hash_of(std::string_view time_and_nonce, std::string_view request) {
  std::string text = "sbx approval ";
  text += time_and_nonce;
  text += request;
  return sha256_hex(text).substr(0, kHashDigits);
}

bool is_of(std::string_view digest, std::string_view request) {
  const std::string_view stamp = digest.substr(0, 2 * kNumberDigits);
  return digest.substr(stamp.size()) == hash_of(stamp, request);
}

std::string hex(std::uint64_t number) {
  std::string digits(kNumberDigits, '0');
  for (std::size_t at = kNumberDigits; number != 0; number >>= 4) {
    digits[--at] = kHexDigits[number & 15];
  }
  return digits;
}

}  // namespace

std::string stamp_approval(std::string_view request, Approvals::Clock::time_point now,
                           std::uint64_t nonce) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch());
  const std::string stamp = hex(static_cast<std::uint64_t>(ms.count())) + hex(nonce);
  return stamp + hash_of(stamp, request);
}

std::optional<Approvals::Clock::time_point> approval_time(std::string_view digest) {
  const bool is_digest = digest.size() == 2 * kNumberDigits + kHashDigits && is_hex(digest);
  std::int64_t ms = 0;
  if (!is_digest) return std::nullopt;
  const auto end = digest.data() + kNumberDigits;
  // In nanoseconds, as a clock counts, what is later than the year 2262 would overflow.
  constexpr std::int64_t kLatest = std::int64_t{1} << 43;
  if (std::from_chars(digest.data(), end, ms, 16).ec != std::errc() || ms > kLatest) {
    return std::nullopt;
  }
  return Approvals::Clock::time_point(std::chrono::milliseconds(ms));
}

bool Approvals::is_current(std::string_view digest) const {
  const auto made = approval_time(digest);
  const Clock::time_point now = now_();
  return made && *made <= now && now - *made < kLifetime;
}

void Approvals::grant(std::string_view digest) {
  close(digest);
  if (!is_current(digest)) return;
  if (granted_.size() >= kMaxOpen) granted_.erase(granted_.begin());
  granted_.emplace(digest);
}

Result<bool> Approvals::take(std::string_view named, std::string_view request) {
  std::erase_if(granted_, [&](const std::string& digest) { return !is_current(digest); });
  for (auto entry = granted_.begin(); entry != granted_.end();) {
    const auto next = std::next(entry);
    if ((named.empty() || *entry == named) && is_of(*entry, request)) {
      const std::string digest = std::move(granted_.extract(entry).value());
      SBX_TRY(const bool is_first, record_(digest));
      if (is_first) return true;
    }
    entry = next;
  }
  return false;
}

namespace {

std::size_t size_of(const Question& question) {
  const auto& [digest, policy, request, cwd, rules] = question;
  std::size_t bytes = request.command.size() + cwd.size();
  for (const std::string& word : request.argv) bytes += word.size();
  for (const auto& [name, value] : request.env) bytes += name.size() + value.size();
  for (const RequestFile& file : request.files) bytes += file.path.size() + file.content.size();
  return bytes + (request.stdin_text ? request.stdin_text->size() : 0);
}

}  // namespace

void Approvals::note(Question question) {
  questions_.push_back(std::move(question));
  std::size_t bytes = 0;
  for (auto at = questions_.rbegin(); at != questions_.rend(); ++at) bytes += size_of(*at);
  while (questions_.size() > kMostQuestions ||
         (bytes > kMostQuestionBytes && !questions_.empty())) {
    bytes -= size_of(questions_.front());
    questions_.pop_front();
  }
}

const std::deque<Question>& Approvals::questions() {
  std::erase_if(questions_, [&](const Question& asked) { return !is_current(asked.digest); });
  return questions_;
}

bool Approvals::close(std::string_view digest) {
  return std::erase_if(questions_, [&](const Question& it) { return it.digest == digest; }) != 0;
}

}  // namespace sbx
