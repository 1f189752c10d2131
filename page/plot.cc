// SPDX-License-Identifier: Apache-2.0
// Colours are classes of the style, so that they follow light and dark.
#include "plot.h"

#include <algorithm>
#include <numeric>

namespace sbx::page {
namespace {

constexpr double kWidth = 600;
constexpr double kLeft = 44;
constexpr double kBottom = 172;
constexpr double kTop = 8;

// 1, 2 or 5 times a power of ten, not below.
std::uint64_t round_up(std::uint64_t most) {
  std::uint64_t step = 1;
  while (step < most && step < UINT64_MAX / 100) {
    if (step * 2 >= most) return step * 2;
    if (step * 5 >= most) return step * 5;
    step *= 10;
  }
  return std::max(step, most);
}

std::uint64_t sum_of(const Column& column) {
  return std::accumulate(column.counts.begin(), column.counts.end(), std::uint64_t{0});
}

void draw_axis(Html& html, std::uint64_t top) {
  const bool is_odd = top < 2;
  for (const int half : {0, 1, 2}) {
    if (half == 1 && (is_odd || top % 2 != 0)) continue;
    const double y = kBottom - (kBottom - kTop) * half / 2;
    html << "<line class=\"axis\" x1=\"44\" x2=\"600\" y1=\"";
    html.decimal(y) << "\" y2=\"";
    html.decimal(y) << "\"/><text x=\"40\" text-anchor=\"end\" y=\"";
    html.decimal(y + 4) << "\">";
    html.count(top * static_cast<std::uint64_t>(half) / 2) << "</text>";
  }
}

void draw_part(Html& html, const char* colour, double x, double y, double width, double height) {
  html << "<rect class=\"";
  html.text(colour) << "\" x=\"";
  html.decimal(x) << "\" y=\"";
  html.decimal(y) << "\" width=\"";
  html.decimal(width) << "\" height=\"";
  html.decimal(height) << "\"/>";
}

}  // namespace

void draw_columns(Html& html, const std::string& what, const std::vector<Column>& columns) {
  std::uint64_t most = 1;
  for (const Column& column : columns) most = std::max(most, sum_of(column));
  const std::uint64_t top = round_up(most);
  const double scale = (kBottom - kTop) / static_cast<double>(top);
  const double step =
      (kWidth - kLeft) / static_cast<double>(std::max<std::size_t>(columns.size(), 1));
  html << "<svg viewBox=\"0 0 600 200\" role=\"img\" aria-label=\"";
  html.text(what) << "\">";
  draw_axis(html, top);
  double x = kLeft;
  for (const Column& column : columns) {
    html << "<g><title>";
    html.text(column.words) << "</title>";
    double y = kBottom;
    for (std::size_t kind = 0; kind < column.counts.size(); ++kind) {
      if (column.counts[kind] == 0) continue;
      // Never thinner than can be seen.
      const double height = std::max(static_cast<double>(column.counts[kind]) * scale, 0.75);
      y -= height;
      draw_part(html, column.is_plain ? "bar" : kind_class(static_cast<Kind>(kind)), x + step * 0.1,
                y, step * 0.8, height);
    }
    if (!column.label.empty()) {
      html << "<text text-anchor=\"middle\" y=\"188\" x=\"";
      html.decimal(std::clamp(x + step / 2, kLeft + 20, kWidth - 30)) << "\">";
      html.text(column.label) << "</text>";
    }
    html << "</g>";
    x += step;
  }
  html << "</svg>";
}

void draw_bars(Html& html, const std::string& what, const std::vector<Bar>& bars) {
  constexpr unsigned kRow = 22;
  std::uint64_t most = 1;
  for (const Bar& bar : bars) most = std::max(most, bar.count);
  html << "<svg role=\"img\" viewBox=\"0 0 600 ";
  html.count(bars.size() * kRow + 4) << "\" aria-label=\"";
  html.text(what) << "\">";
  unsigned y = 2;
  for (const Bar& bar : bars) {
    const double width =
        std::max(300 * static_cast<double>(bar.count) / static_cast<double>(most), 1.0);
    html << "<g><title>";
    html.text(bar.name, 200) << "</title><text text-anchor=\"end\" x=\"214\" y=\"";
    html.count(y + 14) << "\">";
    html.text(bar.name, 36) << "</text>";
    draw_part(html, "bar", 220, y + 2, width, kRow - 6);
    html << "<text x=\"";
    html.decimal(224 + width) << "\" y=\"";
    html.count(y + 14) << "\">";
    html.count(bar.count) << "</text></g>";
    y += kRow;
  }
  html << "</svg>";
}

}  // namespace sbx::page
