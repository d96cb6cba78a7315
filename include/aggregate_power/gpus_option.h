// How messages name the GPUs that should count.
#pragma once

#include <span>
#include <string>

namespace aggregate_power {

// "--gpus 0,2" for devices that are called so, as a shell takes it. Only "--gpus" if there are too
// many to show, or one of the names cannot be given: with a comma in it, or as "0-3".
std::string gpus_option(std::span<const std::string> devices);

}  // namespace aggregate_power
