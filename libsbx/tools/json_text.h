// SPDX-License-Identifier: Apache-2.0
// A JSON document → its text: valid UTF-8 on one line, whatever bytes its strings hold, and nothing
// in it that moves a terminal. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace sbx {

std::string json_text(const nlohmann::ordered_json& value);

}  // namespace sbx
