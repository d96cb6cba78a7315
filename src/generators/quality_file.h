// How many answers of a model were correct, by what an evaluation wrote.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/request.h"

namespace aggregate_power::generators {

// Reads results of lm-evaluation-harness, reports of evalscope, accuracy.txt of MLPerf's scripts,
// and lines of JSON as OpenAI's evals writes them. Throws FileError, and Error for anything else
// and for scores that are not shares of correct answers, such as ROUGE. Questions without an answer
// are not answered correctly, and a warning.
AnswerQuality read_quality(const std::string& path, std::vector<std::string>& warnings);

// Why so many questions cannot have that share of correct answers, as it is rounded, for people;
// empty: they can.
std::string impossible_share(double share, std::int64_t questions);

// Whether two names are of one model: what follows their last slash is the same.
bool is_same_model(std::string_view a, std::string_view b);

}  // namespace aggregate_power::generators
