// SPDX-License-Identifier: Apache-2.0
// What holds for any bytes that the supervisor reads of a command's files and processes: for the
// fuzz targets, and for the tests that replay their corpora.
#pragma once

#include <string_view>

namespace sbx {

// As git's configuration, and as an index with either length of ids.
bool git_files_hold(std::string_view bytes);
// As /proc/PID/maps of nobody.
bool maps_hold(std::string_view bytes);

}  // namespace sbx
