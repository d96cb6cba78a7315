// Finds the names of GPUs' models in recordings and in the files beside them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace aggregate_power {

// "NVIDIA H100 80GB HBM3", "MI300X": the kind of a GPU, not its identity.
bool is_model_name(std::string_view text);

// Whether it names a board of a data centre that draws 20 W and more when it is idle.
bool is_large_gpu(std::string_view model);

// Whether it names the GPU of a module whose energy counter also has the processor and the memory.
bool is_module_gpu(std::string_view model);

// The models that labels (modelName="NVIDIA H100") and members of JSON objects ("market_name":
// "AMD Instinct MI355X") of `text` name, each once, in the order of the text.
std::vector<std::string> gpu_models_in(std::string_view text);

// Adds a model that is not yet in the list.
void note_model(std::string_view model, std::vector<std::string>& models);

}  // namespace aggregate_power
