// SPDX-License-Identifier: Apache-2.0
// What libstdc++ has for other locales than "C", for wide characters, money and dates: nothing here
// asks for it, and a static program would have a twelfth of itself for it. A call ends the program.
#include <cstdlib>
#include <locale>

// A locale put together from facets of both its ABIs.
const std::locale::facet* std::locale::facet::_M_sso_shim(const id* /*which*/) const {
  std::abort();
}

const std::locale::facet* std::locale::facet::_M_cow_shim(const id* /*which*/) const {
  std::abort();
}

// Facets that it makes for the locale "C" before anything runs: without their functions. The names
// are those of their tables of functions, each of which is weak in the library.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" const void* const no_functions[16] = {};
#define WITHOUT_FUNCTIONS(facet) \
  extern "C" const void* const facet[16] __attribute__((alias("no_functions")));
WITHOUT_FUNCTIONS(_ZTVNSt7__cxx1110moneypunctIcLb0EEE)
WITHOUT_FUNCTIONS(_ZTVNSt7__cxx1110moneypunctIcLb1EEE)
WITHOUT_FUNCTIONS(_ZTVNSt7__cxx1110moneypunctIwLb0EEE)
WITHOUT_FUNCTIONS(_ZTVNSt7__cxx1110moneypunctIwLb1EEE)
WITHOUT_FUNCTIONS(_ZTVNSt7__cxx117collateIcEE)
WITHOUT_FUNCTIONS(_ZTVNSt7__cxx117collateIwEE)
WITHOUT_FUNCTIONS(_ZTVNSt7__cxx118numpunctIwEE)
WITHOUT_FUNCTIONS(_ZTVNSt7__cxx118time_getIcSt19istreambuf_iteratorIcSt11char_traitsIcEEEE)
WITHOUT_FUNCTIONS(_ZTVNSt7__cxx118time_getIwSt19istreambuf_iteratorIwSt11char_traitsIwEEEE)
WITHOUT_FUNCTIONS(_ZTVNSt7__cxx119money_getIcSt19istreambuf_iteratorIcSt11char_traitsIcEEEE)
WITHOUT_FUNCTIONS(_ZTVNSt7__cxx119money_getIwSt19istreambuf_iteratorIwSt11char_traitsIwEEEE)
WITHOUT_FUNCTIONS(_ZTVNSt7__cxx119money_putIcSt19ostreambuf_iteratorIcSt11char_traitsIcEEEE)
WITHOUT_FUNCTIONS(_ZTVNSt7__cxx119money_putIwSt19ostreambuf_iteratorIwSt11char_traitsIwEEEE)
WITHOUT_FUNCTIONS(_ZTVSt7codecvtIDiDu11__mbstate_tE)
WITHOUT_FUNCTIONS(_ZTVSt7codecvtIDic11__mbstate_tE)
WITHOUT_FUNCTIONS(_ZTVSt7codecvtIDsDu11__mbstate_tE)
WITHOUT_FUNCTIONS(_ZTVSt7codecvtIDsc11__mbstate_tE)
WITHOUT_FUNCTIONS(_ZTVSt7num_getIwSt19istreambuf_iteratorIwSt11char_traitsIwEEE)
WITHOUT_FUNCTIONS(_ZTVSt7num_putIwSt19ostreambuf_iteratorIwSt11char_traitsIwEEE)
WITHOUT_FUNCTIONS(_ZTVSt8time_putIcSt19ostreambuf_iteratorIcSt11char_traitsIcEEE)
WITHOUT_FUNCTIONS(_ZTVSt8time_putIwSt19ostreambuf_iteratorIwSt11char_traitsIwEEE)
WITHOUT_FUNCTIONS(_ZTVSt10moneypunctIcLb0EE)
WITHOUT_FUNCTIONS(_ZTVSt10moneypunctIcLb1EE)
WITHOUT_FUNCTIONS(_ZTVSt10moneypunctIwLb0EE)
WITHOUT_FUNCTIONS(_ZTVSt10moneypunctIwLb1EE)
WITHOUT_FUNCTIONS(_ZTVSt7collateIcE)
WITHOUT_FUNCTIONS(_ZTVSt7collateIwE)
WITHOUT_FUNCTIONS(_ZTVSt8numpunctIwE)
WITHOUT_FUNCTIONS(_ZTVSt8time_getIcSt19istreambuf_iteratorIcSt11char_traitsIcEEE)
WITHOUT_FUNCTIONS(_ZTVSt8time_getIwSt19istreambuf_iteratorIwSt11char_traitsIwEEE)
WITHOUT_FUNCTIONS(_ZTVSt9money_getIcSt19istreambuf_iteratorIcSt11char_traitsIcEEE)
WITHOUT_FUNCTIONS(_ZTVSt9money_getIwSt19istreambuf_iteratorIwSt11char_traitsIwEEE)
WITHOUT_FUNCTIONS(_ZTVSt9money_putIcSt19ostreambuf_iteratorIcSt11char_traitsIcEEE)
WITHOUT_FUNCTIONS(_ZTVSt9money_putIwSt19ostreambuf_iteratorIwSt11char_traitsIwEEE)
// NOLINTEND(bugprone-reserved-identifier)
