// SPDX-License-Identifier: Apache-2.0
// sbx-pages, for the build alone: `sbx-pages PART` prints a part of the man page or of a shell's
// completions (cmake/pages.cmake puts it in its place), `sbx-pages man DIRECTORY` writes a page for
// each verb, `sbx-pages apparmor PROGRAM` prints a profile.
#include <cstdio>
#include <string>
#include <string_view>

#include "host/doctor.h"
#include "pages.h"

namespace {

bool write_file(const std::string& path, const std::string& text) {
  std::FILE* const file = std::fopen(path.c_str(), "we");
  if (file == nullptr) return false;
  const bool is_whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && is_whole;
}

int write_pages(const std::string& directory) {
  for (const sbx::Verb& verb : sbx::kVerbs) {
    if (verb.summary == nullptr) continue;
    if (!write_file(directory + "/sbx-run-" + verb.name + ".1", sbx::man_page(verb))) return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  static constexpr std::pair<std::string_view, std::string (*)()> kParts[] = {
      {"bash", sbx::bash_completion},  {"zsh", sbx::zsh_completion}, {"fish", sbx::fish_completion},
      {"synopsis", sbx::man_synopsis}, {"verbs", sbx::man_verbs},    {"options", sbx::man_options},
      {"seealso", sbx::man_see_also}};
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "man" && argc == 3) return write_pages(argv[2]);
  if (what == "apparmor" && argc == 3) {
    return std::fputs(sbx::apparmor_profile_text(argv[2]).c_str(), stdout) < 0 ? 1 : 0;
  }
  for (const auto& [name, make] : kParts) {
    if (what != name) continue;
    const std::string text = make();
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? 0 : 1;
  }
  std::fputs("sbx-pages PART | sbx-pages man DIRECTORY | sbx-pages apparmor PROGRAM\n", stderr);
  return 2;
}
