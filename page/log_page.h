// SPDX-License-Identifier: Apache-2.0
// An audit log → a page: what it comes to, and its records, to be searched.
#pragma once

#include <string>

#include "base/result.h"
#include "html.h"
#include "line_reader.h"

namespace sbx::page {

// Reads the log twice. `name` is what it is called. Errors: kPathRefused, where it cannot be read
// on; kOutputUnwritable.
Status write_log_page(LineReader& log, const std::string& name, Html& html);

}  // namespace sbx::page
