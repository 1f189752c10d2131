// SPDX-License-Identifier: Apache-2.0
// The evaluator. Every step is bounded by the program's length, since BPF only jumps forwards.
#include "support/bpf_eval.h"

#include <cstddef>
#include <cstring>
#include <optional>

namespace sbx {
namespace {

constexpr std::uint16_t kLoad = BPF_LD | BPF_W | BPF_ABS;
constexpr std::uint16_t kMask = BPF_ALU | BPF_AND | BPF_K;
constexpr std::uint16_t kReturn = BPF_RET | BPF_K;
constexpr std::uint16_t kJump = BPF_JMP | BPF_JA;

bool is_conditional(std::uint16_t code) {
  return code == (BPF_JMP | BPF_JEQ | BPF_K) || code == (BPF_JMP | BPF_JGE | BPF_K) ||
         code == (BPF_JMP | BPF_JGT | BPF_K) || code == (BPF_JMP | BPF_JSET | BPF_K);
}

bool holds(const sock_filter& instruction, std::uint32_t accumulator) {
  switch (BPF_OP(instruction.code)) {
    case BPF_JEQ:
      return accumulator == instruction.k;
    case BPF_JGE:
      return accumulator >= instruction.k;
    case BPF_JGT:
      return accumulator > instruction.k;
    default:
      return (accumulator & instruction.k) != 0;
  }
}

std::string at(std::size_t pc, const char* what) {
  return "instruction " + std::to_string(pc) + ": " + what;
}

std::string instruction_fault(const sock_filter& instruction, std::size_t pc, std::size_t length) {
  const std::uint64_t next = pc + 1;
  if (instruction.code == kReturn || instruction.code == kMask) {
    if (instruction.code == kMask && next >= length) return at(pc, "falls off the end");
    return "";
  }
  if (instruction.code == kLoad) {
    if (instruction.k % 4 != 0) return at(pc, "unaligned load");
    if (instruction.k > sizeof(seccomp_data) - 4) return at(pc, "load outside seccomp_data");
    return next < length ? "" : at(pc, "falls off the end");
  }
  if (instruction.code == kJump) {
    return next + instruction.k < length ? "" : at(pc, "jumps out of the program");
  }
  if (!is_conditional(instruction.code)) return at(pc, "unknown instruction");
  const bool inside = next + instruction.jt < length && next + instruction.jf < length;
  return inside ? "" : at(pc, "jumps out of the program");
}

}  // namespace

std::string bpf_fault(std::span<const sock_filter> program) {
  if (program.empty()) return "empty program";
  if (program.size() > BPF_MAXINSNS) return "too many instructions";
  for (std::size_t pc = 0; pc < program.size(); ++pc) {
    std::string fault = instruction_fault(program[pc], pc, program.size());
    if (!fault.empty()) return fault;
  }
  return "";
}

BpfOutcome evaluate_bpf(std::span<const sock_filter> program, const seccomp_data& data) {
  BpfOutcome outcome;
  if (program.empty()) outcome.fault = "empty program";
  if (program.size() > BPF_MAXINSNS) outcome.fault = "too many instructions";
  std::optional<std::uint32_t> accumulator;
  std::size_t pc = 0;
  while (outcome.fault.empty()) {
    const sock_filter& instruction = program[pc];
    outcome.fault = instruction_fault(instruction, pc, program.size());
    if (!outcome.fault.empty()) break;
    ++outcome.steps;
    ++pc;
    if (instruction.code == kReturn) {
      outcome.ret = instruction.k;
      break;
    }
    if (instruction.code == kJump) {
      pc += instruction.k;
    } else if (instruction.code == kLoad) {
      std::uint32_t word = 0;
      std::memcpy(&word, reinterpret_cast<const char*>(&data) + instruction.k, sizeof word);
      accumulator = word;
    } else if (!accumulator) {
      outcome.fault = at(pc - 1, "tests a value that was never loaded");
    } else if (instruction.code == kMask) {
      accumulator = *accumulator & instruction.k;
    } else {
      pc += holds(instruction, *accumulator) ? instruction.jt : instruction.jf;
    }
  }
  return outcome;
}

}  // namespace sbx
