// SPDX-License-Identifier: Apache-2.0
// What `sbx-run explain --json` prints → a page: the view as a tree, layers, filter, network.
#pragma once

#include <string_view>

#include "base/result.h"
#include "html.h"

namespace sbx::page {

// Errors: those of reading JSON, of which nothing is written; kOutputUnwritable.
Status write_plan_page(std::string_view json, Html& html);

}  // namespace sbx::page
