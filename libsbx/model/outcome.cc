// SPDX-License-Identifier: Apache-2.0
#include "model/outcome.h"

namespace sbx {
namespace {

constexpr std::size_t kMostMethod = 64;
constexpr std::size_t kMostPath = 512;

void cut(std::string& text, std::size_t most) {
  if (text.size() <= most) return;
  const std::size_t more = text.size() - most;
  text.resize(most);
  text += "… (" + std::to_string(more) + " bytes more)";
}

}  // namespace

void cut(HttpExchange& exchange) {
  cut(exchange.method, kMostMethod);
  cut(exchange.path, kMostPath);
}

}  // namespace sbx
