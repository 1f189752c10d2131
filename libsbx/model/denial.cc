// SPDX-License-Identifier: Apache-2.0
// The ledger: look for one that is alike, else there is a new one, else it is one of the others.
#include "model/denial.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace sbx {
namespace {

bool is_alike(const Denial& a, const Denial& b) {
  return a.target == b.target && a.program == b.program && a.operation == b.operation &&
         a.layer == b.layer && a.grant == b.grant;
}

// False: there is none yet.
bool count_in(std::vector<Denial>& entries, const Denial& denial) {
  const auto known = std::find_if(entries.begin(), entries.end(),
                                  [&](const Denial& entry) { return is_alike(entry, denial); });
  if (known == entries.end()) return false;
  known->count += denial.count;
  return true;
}

void cut(Denial& denial) {
  for (std::string* const text :
       {&denial.operation, &denial.target, &denial.program, &denial.grant}) {
    if (text->size() > DenialLedger::kMostText) text->resize(DenialLedger::kMostText);
  }
}

}  // namespace

void make_printable(Denial& denial) {
  for (std::string* const text :
       {&denial.operation, &denial.target, &denial.program, &denial.grant}) {
    *text = escape_control_bytes(*text);
  }
}

void DenialLedger::count(Denial denial) {
  cut(denial);
  if (count_in(entries_, denial)) return;
  const auto of_layer = std::count_if(entries_.begin(), entries_.end(), [&](const Denial& entry) {
    return entry.layer == denial.layer;
  });
  if (static_cast<std::size_t>(of_layer) < kMostOfALayer) {
    entries_.push_back(std::move(denial));
    return;
  }
  const Denial others{denial.layer, denial.operation, std::string(kOthers), denial.count, "", ""};
  if (!count_in(others_, others)) others_.push_back(others);
}

void DenialLedger::add(Denial denial) {
  cut(denial);
  if (!count_in(entries_, denial)) entries_.push_back(std::move(denial));
}

std::vector<Denial> DenialLedger::entries() const {
  std::vector<Denial> all = entries_;
  all.insert(all.end(), others_.begin(), others_.end());
  return all;
}

}  // namespace sbx
