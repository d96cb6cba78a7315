// Results that llm-d and guidellm may write as YAML: the message says to convert them.
#pragma once

#include <vector>

#include "core/load/load_files.h"
#include "core/load/result_head.h"

namespace aggregate_power {

double fits_yaml(const ResultHead& head);
std::vector<LoadReading> read_yaml(const LoadFiles& files);
// llm-d writes its benchmark reports as YAML.
double fits_llmd_yaml(const ResultHead& head);
std::vector<LoadReading> read_llmd_yaml(const LoadFiles& files);

}  // namespace aggregate_power
