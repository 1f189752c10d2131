// SPDX-License-Identifier: Apache-2.0
// A page is UTF-8 without control characters, bounded, and its tags are those of sbx-report, closed
// in the order in which they were opened.
#include "properties.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/utf8.h"
#include "page/assets.h"
#include "page/log_page.h"
#include "page/plan_page.h"

namespace sbx::page {
namespace {

void must(bool holds) {
  if (!holds) abort();
}

const std::set<std::string_view> kTags = {
    "html",   "head",   "meta",     "title",      "style",   "body",  "header",
    "h1",     "h2",     "p",        "main",       "section", "ul",    "li",
    "b",      "span",   "figure",   "figcaption", "svg",     "line",  "text",
    "rect",   "g",      "table",    "thead",      "tbody",   "tr",    "th",
    "td",     "code",   "pre",      "details",    "summary", "div",   "input",
    "button", "output", "noscript", "br",         "small",   "script"};
const std::set<std::string_view> kEmpty = {"meta", "input", "br", "line", "rect"};

void without(std::string& page, std::string_view part) {
  const std::size_t at = page.find(part);
  must(at != std::string::npos);
  page.erase(at, part.size());
}

void check_page(std::string page) {
  must(is_valid_utf8(page));
  must(page.starts_with("<!DOCTYPE html>\n") && page.ends_with("</html>\n"));
  without(page, kStyle);
  without(page, kScript);
  without(page, "<!DOCTYPE html>");
  std::vector<std::string_view> open;
  for (std::size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    const bool is_end = page[at + 1] == '/';
    const std::size_t begin = at + (is_end ? 2 : 1);
    const std::size_t end = page.find_first_of(" />", begin);
    must(end != std::string::npos);
    const auto tag = kTags.find(std::string_view(page).substr(begin, end - begin));
    must(tag != kTags.end());
    if (kEmpty.contains(*tag)) continue;
    if (!is_end) {
      open.push_back(*tag);
      continue;
    }
    must(!open.empty() && open.back() == *tag);
    open.pop_back();
  }
  must(open.empty());
  must(std::none_of(page.begin(), page.end(),
                    [](unsigned char c) { return c < 0x20 && c != '\n'; }));
}

// What `write` writes to the descriptor that it is given.
template <typename Write>
std::string written(Write write) {
  const OwnedFd file(memfd_create("page", MFD_CLOEXEC));
  must(file.is_open());
  write(file.get());
  must(lseek(file.get(), 0, SEEK_SET) == 0);
  return read_up_to(file.get(), std::size_t{64} << 20).value();
}

}  // namespace

void check_log(std::string_view bytes) {
  const OwnedFd file(memfd_create("log", MFD_CLOEXEC));
  must(file.is_open() && write(file.get(), bytes.data(), bytes.size()) >= 0);
  auto log = LineReader::open("/proc/self/fd/" + std::to_string(file.get()));
  must(log.ok());
  const std::string page = written([&](int fd) {
    Html html(fd);
    must(write_log_page(log.value(), "log", html).ok());
  });
  // A record costs a row and its share of the tables.
  must(page.size() < (64 << 10) + 40 * bytes.size());
  check_page(page);
}

void check_plan(std::string_view bytes) {
  bool is_plan = false;
  const std::string page = written([&](int fd) {
    Html html(fd);
    is_plan = write_plan_page(bytes, html).ok();
  });
  if (!is_plan) must(page.empty());
  if (is_plan) check_page(page);
}

}  // namespace sbx::page
