// SPDX-License-Identifier: Apache-2.0
// First what all records come to, then each of the last ones, as long as the page has room.
#include "log_page.h"

#include <algorithm>
#include <cerrno>

#include "plot.h"
#include "record.h"
#include "report/json_parts.h"
#include "summary.h"

namespace sbx::page {
namespace {

constexpr std::uint64_t kMostRows = 100'000;
constexpr std::size_t kRoomForRows = std::size_t{42} << 20;
constexpr std::size_t kMostNames = 40;

// "2026-01-31 12:00:00".
std::string time_text(std::int64_t time_ms) {
  std::string text = utc_time(time_ms).substr(0, 19);
  text[10] = ' ';
  return text;
}

// See(record) or see_bad(why), a line after another. Errors: kPathRefused.
template <typename See, typename SeeBad>
Status each_record(LineReader& log, See see, SeeBad see_bad) {
  while (log.next()) {
    const std::string_view line = log.line();
    if (log.is_too_long()) {
      see_bad("longer than " + bytes_text(LineReader::kMostLine));
    } else if (line.find_first_not_of(" \t\r") != line.npos) {
      Reading reading = read_record(line);
      if (reading.failure.empty()) {
        see(reading.record);
      } else {
        see_bad(std::move(reading.failure));
      }
    }
  }
  if (log.failure() == 0) return {};
  return Error{ErrorCode::kPathRefused,
               "the audit log cannot be read on: " + errno_text(log.failure()), "AUDIT.jsonl", "",
               log.failure()};
}

void tile(Html& html, std::string_view name, std::string_view value) {
  html << "<li><b>";
  html.text(value) << "</b>";
  html.text(name) << "</li>";
}

void tile(Html& html, std::string_view name, std::uint64_t count) {
  html << "<li><b>";
  html.count(count) << "</b>";
  html.text(name) << "</li>";
}

void write_tiles(Html& html, const Summary& summary) {
  html << "<ul class=\"tiles\">";
  tile(html, "runs", summary.records);
  for (int kind = 0; kind < kKinds; ++kind) {
    tile(html, kind_words(static_cast<Kind>(kind)), summary.kinds[static_cast<std::size_t>(kind)]);
  }
  tile(html, "refusals", summary.refusals);
  tile(html, "redactions", summary.redactions);
  tile(html, "run time together", duration_text(summary.duration_ms));
  tile(html, "output", bytes_text(summary.output_bytes));
  html << "</ul>\n";
}

void write_bad_lines(Html& html, const Summary& summary) {
  if (summary.bad == 0) return;
  html << "<section id=\"bad\"><h2>Bad lines: ";
  html.count(summary.bad) << "</h2><p>They are no record, and count nowhere else.</p><ul>";
  for (const BadLine& bad : summary.bad_lines) {
    html << "<li>line ";
    html.count(bad.number) << ": ";
    html.text(bad.why, 200) << "</li>";
  }
  html << "</ul>";
  if (summary.bad > summary.bad_lines.size()) {
    html << "<p>and ";
    html.count(summary.bad - summary.bad_lines.size()) << " more</p>";
  }
  html << "</section>\n";
}

void write_legend(Html& html) {
  html << "<ul class=\"legend\">";
  for (int kind = 0; kind < kKinds; ++kind) {
    html << "<li><span class=\"";
    html.text(kind_class(static_cast<Kind>(kind))) << "\">■</span> ";
    html.text(kind_words(static_cast<Kind>(kind))) << "</li>";
  }
  html << "</ul>";
}

std::vector<Column> time_columns(const Timeline& timeline) {
  std::vector<Column> columns;
  if (timeline.columns().empty()) return columns;
  const std::int64_t first = timeline.columns().begin()->first;
  const std::int64_t last = timeline.columns().rbegin()->first;
  const bool is_by_day = timeline.width_ms() >= 86'400'000;
  const bool is_by_hour = timeline.width_ms() >= 300'000;
  const std::int64_t between = std::max<std::int64_t>((last - first + 1) / 6, 1);
  for (std::int64_t at = first; at <= last; ++at) {
    Column column;
    const auto found = timeline.columns().find(at);
    if (found != timeline.columns().end()) column.counts = found->second;
    const std::string time = time_text(at * timeline.width_ms());
    if ((at - first) % between == 0)
      column.label = time.substr(is_by_day    ? 0
                                 : is_by_hour ? 5
                                              : 11,
                                 is_by_day    ? 10
                                 : is_by_hour ? 11
                                              : 8);
    column.words = time;
    for (int kind = 0; kind < kKinds; ++kind) {
      const std::uint64_t count = column.counts[static_cast<std::size_t>(kind)];
      if (count == 0) continue;
      column.words += ", " + std::to_string(count) + " " + kind_words(static_cast<Kind>(kind));
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

std::string step_text(double ms) {
  const std::string text = duration_text(ms);
  const std::size_t zero = text.find(".0");
  return zero == text.npos ? text : text.substr(0, zero) + text.substr(zero + 2);
}

std::vector<Column> duration_columns(const Summary& summary) {
  std::size_t first = 0, last = summary.durations.size();
  while (first + 1 < last && summary.durations[first] == 0) ++first;
  while (last > first + 1 && summary.durations[last - 1] == 0) --last;
  std::vector<Column> columns;
  for (std::size_t i = first; i < last; ++i) {
    Column column;
    column.is_plain = true;
    column.counts[0] = summary.durations[i];
    const bool is_last = i == kDurationSteps.size();
    const std::string bound = step_text(is_last ? kDurationSteps.back() : kDurationSteps[i]);
    if ((i - first) % 3 == 0) column.label = (is_last ? "> " : "≤ ") + bound;
    column.words =
        (is_last ? "longer than " : "up to ") + bound + ": " + std::to_string(summary.durations[i]);
    columns.push_back(std::move(column));
  }
  return columns;
}

std::vector<Bar> bars_of(const Totals& totals) {
  std::vector<Bar> bars;
  for (const auto& [name, total] : totals.largest_first()) {
    if (bars.size() == 12) break;
    bars.push_back({name, total.count});
  }
  return bars;
}

void write_plots(Html& html, const Summary& summary) {
  html
      << "<section class=\"plots\"><figure id=\"over-time\"><figcaption>Runs over time</figcaption>"
         "<p class=\"soft\">UTC, one column: ";
  html.text(step_text(static_cast<double>(summary.timeline.width_ms()))) << "</p>";
  draw_columns(html, "Runs over time", time_columns(summary.timeline));
  write_legend(html);
  html << "</figure><figure id=\"durations\"><figcaption>Durations</figcaption>"
          "<p class=\"soft\">runs by how long they took</p>";
  draw_columns(html, "Durations", duration_columns(summary));
  html << "</figure>";
  const std::vector<Bar> refusals = bars_of(summary.refusal_kinds);
  if (!refusals.empty()) {
    html << "<figure id=\"refusal-kinds\"><figcaption>Refusals by kind</figcaption>";
    draw_bars(html, "Refusals by kind", refusals);
    html << "</figure>";
  }
  const std::vector<Bar> programs = bars_of(summary.refusal_programs);
  if (!programs.empty()) {
    html << "<figure id=\"refusal-programs\"><figcaption>Refusals by program</figcaption>";
    draw_bars(html, "Refusals by program", programs);
    html << "</figure>";
  }
  html << "</section>\n";
}

// A table of names and counts; the largest of them.
void write_totals(Html& html, Markup head, const Totals& totals, bool with_bytes) {
  const auto rows = totals.largest_first();
  if (rows.empty()) return;
  html << "<section><h2>" << head
       << "</h2><table><thead><tr><th>name</th><th class=\"number\">count</th>";
  if (with_bytes) html << "<th class=\"number\">sent</th><th class=\"number\">received</th>";
  html << "</tr></thead><tbody>\n";
  for (std::size_t i = 0; i < std::min(rows.size(), kMostNames); ++i) {
    html << "<tr><td>";
    html.text(rows[i].first.empty() ? "(not known)" : rows[i].first, 400)
        << "</td><td class=\"number\">";
    html.count(rows[i].second.count) << "</td>";
    if (with_bytes) {
      html << "<td class=\"number\">";
      html.bytes(rows[i].second.bytes_out) << "</td><td class=\"number\">";
      html.bytes(rows[i].second.bytes_in) << "</td>";
    }
    html << "</tr>\n";
  }
  html << "</tbody></table>";
  if (rows.size() > kMostNames) {
    html << "<p class=\"soft\">and ";
    html.count(rows.size() - kMostNames) << " more</p>";
  }
  html << "</section>\n";
}

void write_slowest(Html& html, const Summary& summary) {
  if (summary.slowest.empty()) return;
  html << "<section id=\"slowest\"><h2>Slowest commands</h2><table><thead><tr>"
          "<th class=\"number\">duration</th><th>command</th><th>ended</th><th>started</th>"
          "<th class=\"number\">line</th></tr></thead><tbody>\n";
  for (const Slow& slow : summary.slowest) {
    html << "<tr><td class=\"number\">";
    html.duration(slow.duration_ms) << "</td><td><code>";
    html.lines(slow.command, 300) << "</code></td><td class=\"short\">";
    html.text(slow.how, 60) << "</td><td class=\"short\">";
    html.text(time_text(slow.time_ms)) << "</td><td class=\"number\">";
    html.count(slow.line) << "</td></tr>\n";
  }
  html << "</tbody></table></section>\n";
}

void write_search(Html& html, const Summary& summary) {
  html << "<div class=\"find\"><input type=\"search\" id=\"search\" placeholder=\"Search\" "
          "aria-label=\"Search the runs\" autocomplete=\"off\">";
  const auto statuses = summary.statuses.largest_first();
  for (std::size_t i = 0; i < std::min<std::size_t>(statuses.size(), 10); ++i) {
    html << "<button type=\"button\" data-find=\"";
    html.text(statuses[i].first, 60) << "\">";
    html.text(statuses[i].first, 60) << " ";
    html.count(statuses[i].second.count) << "</button>";
  }
  html << "<button type=\"button\" data-find=\"\">all</button>"
          "<output id=\"found\" for=\"search\"></output>"
          "<noscript>The search needs JavaScript; everything else is here without it.</noscript>"
          "</div>\n";
}

// What a row says below the command: refusals, hosts, the error.
std::vector<std::string> notes_of(const Record& record) {
  std::vector<std::string> notes;
  if (!record.error.empty()) notes.push_back(record.error);
  for (const Refusal& refusal : record.refusals) {
    notes.push_back("refused: " + refusal.operation + " " + refusal.target +
                    (refusal.grant.empty() ? "" : "; allow it with " + refusal.grant));
  }
  for (const Connection& connection : record.connections) {
    notes.push_back("connected: " + connection.host + ":" + std::to_string(connection.port));
    for (const Request& request : connection.requests) {
      notes.push_back(request.method + " " + request.host + request.path + ": " +
                      std::to_string(request.status));
    }
  }
  if (!record.description.empty()) notes.push_back(record.description);
  if (!record.session.empty()) notes.push_back("session " + record.session);
  if (!record.profile.empty()) notes.push_back("profile " + record.profile);
  return notes;
}

// Escaped, a character takes six bytes at the most, and most take one: what a text costs.
std::size_t cost_of(std::string_view text) {
  std::size_t cost = 0;
  for (const char c : text) {
    const bool is_special = static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '<' ||
                            c == '>' || c == '&' || c == '"' || c == '\'';
    cost += is_special ? 6 : 1;
  }
  return cost;
}

// So many bytes of it that they cost no more than the room, which becomes less.
std::size_t take_room(std::string_view text, std::size_t& room) {
  std::size_t size = std::min(text.size(), room);
  while (size > 0 && cost_of(text.substr(0, size)) > room)
    size -= std::max<std::size_t>(size / 8, 1);
  room -= std::min(room, cost_of(text.substr(0, size)));
  return size;
}

void write_row(Html& html, const Record& record, std::uint64_t line, std::size_t room) {
  constexpr std::size_t kShown = 160;
  html << "<tr data-row><td class=\"number\">";
  html.count(line) << "</td><td>";
  html.text(time_text(record.time_ms)) << "</td><td class=\"";
  html.text(kind_class(kind_of(record))) << "\">";
  html.text(how_it_ended(record), 60) << "</td><td class=\"number\">";
  html.duration(record.duration_ms) << "</td><td>";
  const std::vector<std::string> notes = notes_of(record);
  std::size_t for_notes = notes.empty() ? 0 : room / 3;
  room -= for_notes;
  const std::size_t shown = take_room(record.command, room);
  const std::string_view command = std::string_view(record.command).substr(0, shown);
  const bool is_long = command.size() > kShown || command.find('\n') != command.npos;
  html << (is_long ? Markup("<details><summary><code>") : Markup("<code>"));
  html.text(record.command, std::min({kShown, shown, record.command.find('\n')}));
  if (is_long) {
    html << "</code></summary><pre>";
    html.lines(record.command, shown) << "</pre></details>";
  } else {
    html << "</code>";
  }
  for (const std::string& note : notes) {
    if (for_notes < 24) break;
    html << "<br><small>";
    for_notes -= 24;
    html.text(note, take_room(note, for_notes)) << "</small>";
  }
  html << "</td></tr>\n";
}

Status write_rows(LineReader& log, const Summary& summary, Html& html) {
  const std::uint64_t listed = std::min(summary.records, kMostRows);
  const std::uint64_t first = summary.records - listed;
  constexpr std::size_t kMarkup = 200;
  const std::size_t room =
      std::clamp<std::size_t>(kRoomForRows / std::max<std::uint64_t>(listed, 1), kMarkup, 8192) -
      kMarkup;
  html << "<section><h2>Runs</h2>";
  if (first > 0) {
    html << "<p class=\"soft\">The last ";
    html.count(listed) << "; the ";
    html.count(first) << " before them count above and are not listed.</p>";
  }
  write_search(html, summary);
  html << "<table id=\"rows\"><thead><tr><th class=\"number long\">line</th><th "
          "class=\"when\">started (UTC)"
          "</th><th class=\"how\">ended</th><th class=\"number "
          "long\">duration</th><th>command</th></tr>"
          "</thead><tbody>\n";
  std::uint64_t at = 0;
  log.rewind();
  SBX_CHECK_OK(each_record(
      log,
      [&](const Record& record) {
        // The log may have changed since it was counted.
        if (at >= first && at < summary.records) write_row(html, record, log.number(), room);
        ++at;
      },
      [](const std::string&) {}));
  html << "</tbody></table></section>\n";
  return {};
}

void write_head(Html& html, const std::string& name, const Summary& summary) {
  html.begin("Runs in " + name);
  html << "<header><h1>Runs in ";
  html.text(name, 400) << "</h1>";
  if (summary.records > 0) {
    html << "<p class=\"soft\">";
    html.text(time_text(summary.first_ms)) << " to ";
    html.text(time_text(summary.last_ms)) << " UTC</p>";
  } else {
    html << "<p>The log holds no record.</p>";
  }
  html << "</header>\n<main>\n";
}

void write_unlisted(Html& html, std::uint64_t count, Markup what) {
  if (count == 0) return;
  html << "<p class=\"soft\">";
  html.count(count) << " more " << what << " are counted, not named here.</p>\n";
}

}  // namespace

Status write_log_page(LineReader& log, const std::string& name, Html& html) {
  Summary summary;
  SBX_CHECK_OK(each_record(
      log, [&](const Record& record) { summary.add(record, log.number()); },
      [&](std::string why) { summary.add_bad(log.number(), std::move(why)); }));
  write_head(html, name, summary);
  write_tiles(html, summary);
  write_bad_lines(html, summary);
  if (summary.records > 0) write_plots(html, summary);
  write_totals(html, "Limits hit", summary.limits, false);
  write_totals(html, "What was refused", summary.refusal_targets, false);
  write_totals(html, "Hosts", summary.hosts, true);
  write_unlisted(html, summary.unlisted_connections, "connections");
  write_totals(html, "Requests", summary.requests, false);
  write_unlisted(html, summary.unlisted_requests, "requests");
  write_slowest(html, summary);
  SBX_CHECK_OK(write_rows(log, summary, html));
  html << "</main>\n";
  if (html.end()) return {};
  return call_failed(ErrorCode::kOutputUnwritable, "the page cannot be written", "write");
}

}  // namespace sbx::page
