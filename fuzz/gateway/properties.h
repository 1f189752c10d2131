// SPDX-License-Identifier: Apache-2.0
// What must hold of the gateway's parsers for any bytes; shared by the fuzz targets and the tests
// that replay their corpora. Aborts where it does not.
#pragma once

#include <string_view>

namespace sbx {

void check_dns(std::string_view bytes);
void check_client_hello(std::string_view bytes);
void check_plain_http(std::string_view bytes);
void check_resolv_conf(std::string_view bytes);
void check_upstream(std::string_view bytes);

}  // namespace sbx
