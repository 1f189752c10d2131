// SPDX-License-Identifier: Apache-2.0
// What must hold of sbx-http's parsers for any bytes; shared by the fuzz targets and the test that
// replays their corpora. Aborts where it does not.
#pragma once

#include <string_view>

namespace sbx::http {

// A stream of requests, and the same as a stream of answers.
void check_message(std::string_view bytes);
// A request's target.
void check_target(std::string_view bytes);
// A direction of a WebSocket, whole and byte by byte.
void check_frames(std::string_view bytes);
// The first line is the secret, the rest a stream; also cut into pieces.
void check_redactor(std::string_view bytes);

}  // namespace sbx::http
