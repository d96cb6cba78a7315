// The environment variables and files that commands use, for the man page and the help page.
#pragma once

#include <span>
#include <string_view>

namespace aggregate_power {

struct Surrounding {
  std::string_view name;
  std::string_view text;  // plain text, no markup
};
std::span<const Surrounding> environment_variables();
std::span<const Surrounding> files();

}  // namespace aggregate_power
