// SPDX-License-Identifier: Apache-2.0
// What must hold of sbx-report's pages for any bytes; shared by the fuzz targets and the test that
// replays their corpora. Aborts where it does not.
#pragma once

#include <string_view>

namespace sbx::page {

// An audit log.
void check_log(std::string_view bytes);
// A plan.
void check_plan(std::string_view bytes);

}  // namespace sbx::page
