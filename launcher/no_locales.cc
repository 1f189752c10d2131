// SPDX-License-Identifier: Apache-2.0
// What libstdc++ asks of a locale put together from facets of both its ABIs, and nothing here makes
// one: its own would bring 50 KB into a static program, most of it for wide characters. A call ends
// the program.
#include <cstdlib>
#include <locale>

const std::locale::facet* std::locale::facet::_M_sso_shim(const id* /*which*/) const {
  std::abort();
}

const std::locale::facet* std::locale::facet::_M_cow_shim(const id* /*which*/) const {
  std::abort();
}
