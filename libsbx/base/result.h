// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value or an Error. The one error convention of the project; no exception crosses a
// room. `SBX_TRY(name, expression)` binds the value or returns the error to the caller.
#pragma once

#include <cassert>
#include <optional>
#include <utility>
#include <variant>

#include "base/error.h"

namespace sbx {

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return state_.index() == 0; }
  T& value() & {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    assert(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  Error& error() {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }
  const Error& error() const {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

// A Result with nothing in it: default construction is success.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return !error_.has_value(); }
  Error& error() { return *error_; }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace sbx

// NOLINTBEGIN(bugprone-macro-parentheses): `decl` is a declaration, not an expression
#define SBX_CONCAT_INNER(a, b) a##b
#define SBX_CONCAT(a, b) SBX_CONCAT_INNER(a, b)
#define SBX_TRY_NAMED(tmp, decl, expr)          \
  auto tmp = (expr);                            \
  if (!tmp.ok()) return std::move(tmp.error()); \
  decl = std::move(tmp).value()
#define SBX_TRY(decl, expr) SBX_TRY_NAMED(SBX_CONCAT(sbx_try_, __LINE__), decl, expr)
#define SBX_CHECK_OK(expr) \
  if (auto status = (expr); !status.ok()) return std::move(status.error())
// NOLINTEND(bugprone-macro-parentheses)
