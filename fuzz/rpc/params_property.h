// SPDX-License-Identifier: Apache-2.0
// What must hold for any bytes as the params of a run. Shared by the fuzz target and its replay.
#pragma once

#include <string_view>

bool params_hold(std::string_view text);
