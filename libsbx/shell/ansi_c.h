// SPDX-License-Identifier: Apache-2.0
// ANSI-C escapes, as in $'…' and printf: text → the bytes that it stands for. Pure.
#pragma once

#include <string>
#include <string_view>

namespace sbx::shell {

// As $'…' reads them; ends at \0, as the shell's strings do.
std::string decode_ansi_c(std::string_view text);
// As printf's format and %b, and echo -e, read them: \NNN and \0NNN are octal.
std::string decode_printf(std::string_view text);

}  // namespace sbx::shell
