// SPDX-License-Identifier: Apache-2.0
// What must hold of the output room for any bytes: checked by the fuzz targets, and by the tests
// on the corpora. Each function answers whether the property holds for one input.
#pragma once

#include <string_view>

namespace sbx {

// Repair gives valid UTF-8, is idempotent, leaves what is valid alone, and agrees with itself on
// the prefix that is valid.
bool utf8_repair_holds(std::string_view input);

// The first bytes choose limits and chunk sizes, the rest is a stream: any chunking gives what one
// append gives; what is kept is bounded; head + left out + tail is the whole.
bool capture_holds(std::string_view input);

// The first bytes choose chunk sizes and an exact value, the rest is a stream: what comes out and
// what is counted do not depend on the chunks; nothing but replaced text is lost; the exact value
// does not come out; and where unfinished lines are shown, no more than 7 bytes of a secret do.
bool redactor_holds(std::string_view input);

// The first byte chooses the chunk size: the result line found does not depend on the chunks, and
// it is valid as the finder's own check says.
bool result_line_holds(std::string_view input);

// The first byte chooses the chunk size and the kind of place: what comes out does not depend on
// the chunks, never holds the account's mark, and toward a terminal nothing but valid text,
// colours, and an end to them.
bool terminal_text_holds(std::string_view input);

}  // namespace sbx
