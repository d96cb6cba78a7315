// Completions of command lines for bash, zsh and fish, generated from the options of all commands.
#pragma once

#include <string>

namespace aggregate_power {

std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

}  // namespace aggregate_power
