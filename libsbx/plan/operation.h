// SPDX-License-Identifier: Apache-2.0
// Op: one step of a plan, a small struct of plain data (plan/operations.h, bwrap/operations.h)
// behind the row of its three functions: the rule of order that it keeps, its words, and what the
// child does. Nothing lists the operations: a struct that can be put into a plan has all three.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <type_traits>

#include "plan/order.h"

namespace sbx {

struct ChildContext;  // launch/child.h
struct LaunchPlan;

inline constexpr std::size_t kOpBytes = 32;
inline constexpr std::size_t kOpAlignment = 8;

template <class T>
concept HasWords = (std::is_empty_v<T> &&
                    requires {
                      { T::kWords } -> std::convertible_to<const char*>;
                    }) ||
                   requires(const T& operation, const LaunchPlan& plan) {
  { operation.describe(plan) } -> std::same_as<std::string>;
};

// `execute` runs in the child and returns 0 or an errno: no heap, no exceptions, no formatting. It
// is declared with the struct and defined in the room that walks the plan, so planning needs none.
template <class T>
concept Operation = std::is_trivially_copyable_v<T> && sizeof(T) <= kOpBytes &&
                    alignof(T) <= kOpAlignment&& HasWords<T>&& requires(T& operation,
                                                                        ChildContext& context) {
  { T::kOrder } -> std::convertible_to<OrderRule>;
  { operation.execute(context) }
  noexcept->std::same_as<int>;
};

struct OpRow {
  OrderRule order;
  std::string (*describe)(const void* operation, const LaunchPlan& plan);
  int (*execute)(void* operation, ChildContext& context) noexcept;
};

template <Operation T>
std::string describe_as(const void* operation, const LaunchPlan& plan) {
  if constexpr (requires { T::kWords; })
    return T::kWords;
  else
    return static_cast<const T*>(operation)->describe(plan);
}
template <Operation T>
int execute_as(void* operation, ChildContext& context) noexcept {
  return static_cast<T*>(operation)->execute(context);
}
template <Operation T>
inline constexpr OpRow kRowOf = {T::kOrder, describe_as<T>, execute_as<T>};

inline constexpr std::uint8_t kNoLayer = 0xff;

class Op {
 public:
  template <Operation T>
  explicit Op(const T& operation) : row_(&kRowOf<T>) {
    new (bytes_) T(operation);
  }

  template <Operation T>
  bool is() const {
    return row_ == &kRowOf<T>;
  }
  // Null where it is another.
  template <Operation T>
  const T* as() const {
    return is<T>() ? std::launder(reinterpret_cast<const T*>(bytes_)) : nullptr;
  }
  template <Operation T>
  T* as() {
    return is<T>() ? std::launder(reinterpret_cast<T*>(bytes_)) : nullptr;
  }

  const OpRow* row() const { return row_; }
  // One line, for people, golden files and error messages.
  std::string describe(const LaunchPlan& plan) const { return row_->describe(bytes_, plan); }
  int execute(ChildContext& context) noexcept { return row_->execute(bytes_, context); }

  std::uint8_t layer = kNoLayer;     // the layer that fails when this step fails
  std::uint8_t confirms = kNoLayer;  // the layer that is in force once this step is done

 private:
  const OpRow* row_;
  alignas(kOpAlignment) std::byte bytes_[kOpBytes] = {};
};
static_assert(std::is_trivially_copyable_v<Op>);

}  // namespace sbx
