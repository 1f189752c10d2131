// SPDX-License-Identifier: Apache-2.0
// fmt without floating point, which nothing here formats with it: 20 kB of a program.
#pragma once

#define FMT_USE_FLOAT 0
#define FMT_USE_DOUBLE 0
#define FMT_USE_LONG_DOUBLE 0
#include <fmt/format.h>
