// Finds the share of correct answers in each form.
#include "generators/quality_file.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/decompress.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "base/text/json_value.h"

namespace aggregate_power::generators {
namespace {

constexpr const char* kForms =
    "expected results of lm-evaluation-harness, a report of evalscope, accuracy.txt of MLPerf, or lines of JSON with \"correct\"; or state --accuracy and --questions";

struct Evaluation : AnswerQuality {
  std::int64_t unanswered = 0;  // of its questions, without a verdict
};

struct Answers {
  double correct = 0;
  std::int64_t questions = 0;
};

double correct_share(const JsonValue& value, const std::string& name) {
  const double share = value.is_finite_number() ? value.as_double() : -1;
  if (share >= 0 && share <= 1) return share;
  throw Error(fmt::format("{}: expected a share of correct answers from 0 to 1, and it is {}", name,
                          value.shown()));
}

void require_whole(double share, std::int64_t questions, std::string_view name) {
  const std::string why = impossible_share(share, questions);
  if (!why.empty()) throw Error(fmt::format("{}: {}", printable(name, 60), why));
}

// ---- lm-evaluation-harness: EleutherAI/lm-evaluation-harness, lm_eval/evaluator.py

// The metrics that count correct answers, the first one counts.
constexpr std::string_view kCounted[] = {"exact_match,strict-match", "exact_match", "acc", "pass@1",
                                         "acc_norm"};

const JsonValue::Member* counted_metric(const JsonValue& task) {
  for (const std::string_view metric : kCounted) {
    for (const JsonValue::Member& member : task.members) {
      const std::string_view key = member.first;
      const bool is_it = key == metric || key.substr(0, key.find(',')) == metric;
      if (is_it && member.second.is_number()) return &member;
    }
  }
  return nullptr;
}

// A group has subtasks, whose answers count.
bool is_group(const JsonValue& content, const std::string& task) {
  return content.at("groups").find(task) != nullptr ||
         !content.at("group_subtasks").at(task).items.empty();
}

// "pretrained=org/model,dtype=auto", or an object with the same members.
std::string model_in_args(const JsonValue& stated) {
  for (const char* key : {"pretrained", "model"}) {
    if (!stated.at(key).text.empty()) return stated.at(key).text;
  }
  std::string_view args = stated.text;
  for (const std::string_view key : {"pretrained=", "model="}) {
    const std::size_t at = args.find(key);
    if (at == args.npos) continue;
    args.remove_prefix(at + key.size());
    return std::string(args.substr(0, args.find(',')));
  }
  return {};
}

AnswerQuality harness_quality(const JsonValue& content) {
  AnswerQuality quality{.evaluator = "lm-evaluation-harness"};
  Answers all;
  std::vector<std::string> tasks;
  std::vector<std::string> metrics;
  for (const auto& [task, results] : content.at("results").members) {
    if (is_group(content, task)) continue;
    const JsonValue::Member* const found = counted_metric(results);
    if (found == nullptr) {
      throw Error(fmt::format("task {}: no metric of it counts correct answers: known are {}",
                              printable(task, 60), fmt::join(kCounted, ", ")));
    }
    const std::string& metric = found->first;
    if (std::ranges::find(metrics, metric) == metrics.end()) metrics.push_back(metric);
    const JsonValue& higher =
        content.at("higher_is_better").at(task).at(metric.substr(0, metric.find(',')));
    if (higher.kind == JsonKind::boolean && !higher.is_truthy()) {
      throw Error(fmt::format("task {}: less is better of its {}, so it counts no correct answers",
                              printable(task, 60), printable(metric, 60)));
    }
    const auto count = content.at("n-samples").at(task).at("effective").as_integer();
    if (!count || *count <= 0) {
      throw Error(fmt::format("task {}: 'n-samples' does not say how many questions there were",
                              printable(task, 60)));
    }
    const double share = correct_share(found->second, task);
    const bool may_be_mean = metric.starts_with("pass@1");  // of several answers to each question
    if (!may_be_mean) require_whole(share, *count, task);
    all.correct += share * static_cast<double>(*count);
    all.questions += *count;
    tasks.push_back(task);
  }
  if (tasks.empty()) throw Error("it has no results of a task");
  quality.accuracy = all.correct / static_cast<double>(all.questions);
  quality.questions = all.questions;
  quality.what = fmt::format(
      "{}, {}", tasks.size() == 1 ? tasks.front() : fmt::format("{} tasks", tasks.size()),
      fmt::join(metrics, " and "));
  quality.model = content.at("model_name").text;
  if (quality.model.empty()) quality.model = model_in_args(content.at("config").at("model_args"));
  return quality;
}

// ---- evalscope: modelscope/evalscope, evalscope/report/report.py

// Counts questions without an answer as not answered correctly: the metric is of those with one.
void add_unanswered(const JsonValue& summary, Evaluation& quality) {
  const auto stated = [&](const char* key) { return summary.at(key).as_integer(); };
  const auto requested = stated("requested");
  const std::int64_t answered = quality.questions;
  if (!requested || *requested <= answered) return;
  const std::int64_t errors = stated("errored").value_or(0);
  const std::int64_t succeeded = stated("succeeded").value_or(*requested - errors);
  const bool has_all = errors == 0 && succeeded == *requested;
  if (has_all && *requested % answered == 0) return;  // several answers to each question
  if (has_all || (answered != succeeded && answered + errors != *requested)) {
    throw Error(fmt::format(
        "{} answers were requested, {} succeeded, and its metric is of {}: state --accuracy and --questions",
        *requested, succeeded, answered));
  }
  quality.unanswered = *requested - answered;
  quality.accuracy *= static_cast<double>(answered) / static_cast<double>(*requested);
  quality.questions = *requested;
}

// Whether it counts correct answers: "mean_acc", "AverageAccuracy", "exact_match"; not "accel".
bool counts_correct(const JsonValue& metric, const std::string& name) {
  for (const std::string_view word : {"acc", "pass@1"}) {
    const std::size_t at = name.rfind(word);
    const std::size_t end = at + word.size();
    if (at != name.npos &&
        (end == name.size() || std::isalnum(static_cast<unsigned char>(name[end])) == 0))
      return true;
  }
  return name.find("accuracy") != name.npos || name.find("exact") != name.npos ||
         metric.at("semantics").at("semantic_id").text == "quality.accuracy.ratio";
}

bool is_identity(const JsonValue& primary, const JsonValue& identity) {
  const JsonValue& wanted = primary.at("dimensions");
  const JsonValue& found = identity.at("dimensions");
  return primary.at("name").text == identity.at("name").text &&
         primary.at("aggregation").text == identity.at("aggregation").text &&
         (equal_in_python(wanted, found) || (!wanted.is_truthy() && !found.is_truthy()));
}

Evaluation evalscope_quality(const JsonValue& content) {
  const JsonValue& primary = content.at("primary_metric_identity");
  for (const JsonValue& metric : content.at("metrics").items) {
    const JsonValue& identity = metric.at("identity");
    if (primary.is_object() && !is_identity(primary, identity)) continue;
    const std::string& stated = metric.at("name").text;
    const std::string name = lower_ascii(stated.empty() ? identity.at("name").text : stated);
    const auto count = metric.at("num").as_integer();
    const bool is_best_of_several = identity.at("dimensions").at("k").as_integer().value_or(1) > 1;
    if (!counts_correct(metric, name) || is_best_of_several || !count || *count <= 0) continue;
    const double share = correct_share(metric.at("score"), name);
    const bool is_mean = name.find('@') != name.npos || name.find("mean") != name.npos;
    if (!is_mean) require_whole(share, *count, name);
    Evaluation quality{{.evaluator = "evalscope",
                        .what = fmt::format("{}, {}", content.at("dataset_name").text, name),
                        .model = content.at("model_name").text,
                        .accuracy = share,
                        .questions = *count}};
    add_unanswered(content.at("execution_summary"), quality);
    return quality;
  }
  if (primary.is_object()) {
    throw Error(fmt::format(
        "its primary metric, '{}', does not count correct answers: state --accuracy and --questions",
        printable(primary.at("name").text, 60)));
  }
  throw Error("no metric of it counts correct answers and says of how many: it has no accuracy");
}

// ---- MLPerf: mlcommons/inference, the accuracy scripts of each benchmark

// "accuracy=76.456%, good=38228, total=50000"
std::optional<std::int64_t> count_after(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == text.npos) return std::nullopt;
  text.remove_prefix(at + name.size());
  return python_int(text.substr(0, text.find_first_not_of("0123456789")));
}

// "{'exact_match': 81.3, 'gen_len': 100, 'num-samples': 4388}": in percent.
std::optional<AnswerQuality> mlperf_dict(std::string_view text) {
  const std::string_view line = strip(text.substr(0, text.find('}') + 1));
  if (!line.starts_with("{'")) return std::nullopt;
  std::string json(line);
  std::ranges::replace(json, '\'', '"');
  const JsonValue content = parse_json(json);
  const JsonValue& percent = content.at("exact_match");
  for (const char* key : {"num-samples", "gen_num"}) {
    const auto count = content.at(key).as_integer();
    if (!percent.is_finite_number() || !count || *count <= 0) continue;
    const double share = percent.as_double() / 100;
    if (!(share >= 0 && share <= 1)) throw Error("'exact_match' is not from 0 to 100 percent");
    require_whole(share, *count, "exact_match");
    return AnswerQuality{
        .evaluator = "MLPerf", .what = "exact_match", .accuracy = share, .questions = *count};
  }
  throw Error(
      "it has no 'exact_match' with 'num-samples' or 'gen_num', and other scores count no correct answers: state --accuracy and --questions");
}

std::optional<AnswerQuality> mlperf_quality(std::string_view text) {
  const auto good = count_after(text, "good=");
  const auto total = count_after(text, "total=");
  if (!good || !total) return std::nullopt;
  if (*total <= 0 || *good > *total) throw Error("good is above total");
  return AnswerQuality{.evaluator = "MLPerf",
                       .what = "accuracy",
                       .accuracy = static_cast<double>(*good) / static_cast<double>(*total),
                       .questions = *total};
}

// ---- Lines of JSON, one for each question: openai/evals, evals/record.py

const JsonValue* verdict_in(const JsonValue& line) {
  for (const JsonValue* place : {&line, &line.at("data")}) {
    for (const char* key : {"correct", "is_correct"}) {
      if (const JsonValue* const verdict = place->find(key)) return verdict;
    }
  }
  return nullptr;
}

// A question that failed has an error in the place of a verdict.
bool has_error(const JsonValue& line) {
  return line.at("error").is_truthy() || line.at("data").at("error").is_truthy() ||
         line.at("type").text == "error";
}

class AnswerLines {
 public:
  void take(const JsonValue& line) {
    const JsonValue& models = line.at("spec").at("completion_fns");
    if (!models.items.empty()) quality_.model = models.items.front().text;
    const JsonValue* const found = verdict_in(line);
    const std::string& id = line.at("sample_id").text;
    const auto verdict = found == nullptr || found->is_null() ? std::nullopt : known(*found);
    if (!id.empty()) return take(id, verdict);
    if (found != nullptr || has_error(line)) add(verdict);
  }

  Evaluation finish() {
    for (const auto& [id, verdict] : by_id_) add(verdict);
    if (quality_.questions == quality_.unanswered) throw Error(kForms);
    quality_.evaluator = "lines of JSON";
    quality_.what = "correct";
    quality_.accuracy = correct_ / static_cast<double>(quality_.questions);
    return std::move(quality_);
  }

 private:
  static std::optional<bool> known(const JsonValue& verdict) {
    if (verdict.kind == JsonKind::boolean ||
        (verdict.is_number() && (verdict.as_double() == 0 || verdict.as_double() == 1))) {
      return verdict.is_truthy();
    }
    throw Error(fmt::format("'correct' is {}: expected true or false", verdict.shown()));
  }

  // A sample has several lines: its prompt, its answer, and each time that it was tried.
  void take(const std::string& id, std::optional<bool> verdict) {
    std::optional<bool>& of_sample = by_id_[id];
    if (of_sample && verdict && *of_sample != *verdict) {
      throw Error(fmt::format("sample {} is both correct and not correct", printable(id, 60)));
    }
    if (verdict) of_sample = verdict;
  }

  void add(std::optional<bool> verdict) {
    ++quality_.questions;
    quality_.unanswered += verdict ? 0 : 1;
    correct_ += verdict.value_or(false) ? 1 : 0;
  }

  Evaluation quality_;
  double correct_ = 0;
  std::map<std::string, std::optional<bool>> by_id_;
};

Evaluation lines_quality(std::string_view text) {
  AnswerLines lines;
  for (const std::string_view line : separated(text, '\n')) {
    if (!strip(line).empty()) lines.take(parse_json(line));
  }
  return lines.finish();
}

// Returns nullopt if it is not one JSON text.
std::optional<JsonValue> whole_json(std::string_view text) {
  try {
    return parse_json(text);
  } catch (const JsonError&) {
    return std::nullopt;
  }
}

Evaluation quality_in(std::string_view text) {
  const std::string_view begin = strip(text);
  if (const auto quality = mlperf_dict(begin)) return {*quality};
  if (!begin.starts_with('{') && !begin.starts_with('[')) {
    const auto quality = mlperf_quality(text);
    if (!quality) throw Error(kForms);
    return {*quality};
  }
  const auto whole = whole_json(text);
  if (!whole) return lines_quality(text);
  if (whole->find("results") != nullptr) return {harness_quality(*whole)};
  if (whole->find("metrics") != nullptr) return evalscope_quality(*whole);
  if (whole->is_array() && !whole->items.empty() && whole->items[0].find("qsl_idx") != nullptr) {
    throw Error(
        "it has MLPerf's raw answers: give accuracy.txt, which the benchmark's script makes of it");
  }
  return lines_quality(text);
}

}  // namespace

std::string impossible_share(double share, std::int64_t questions) {
  constexpr int kDigits = 12;       // a double is sure of so many
  constexpr double kSingle = 1e-7;  // what a number of single precision may be off
  const std::string written = fmt::format("{:.{}g}", share, kDigits);
  const std::size_t point = written.find('.');
  const bool has_exponent = written.find('e') != written.npos;
  const double places = point == written.npos || has_exponent
                            ? static_cast<double>(kDigits)
                            : static_cast<double>(written.size() - point - 1);
  const double count = share * static_cast<double>(questions);
  const double rounding = (0.5 * std::pow(10, -places) + kSingle) * static_cast<double>(questions);
  if (std::abs(count - std::round(count)) <= rounding) return {};
  return fmt::format(
      "{} of {} questions are {:.6g} answers, which is no whole number: the share, or the number of questions, is of others, or the share is a mean of more than right and wrong",
      written, questions, count);
}

AnswerQuality read_quality(const std::string& path, std::vector<std::string>& warnings) {
  const auto source = decompressed(open_source(path), path);
  const std::string text = read_whole(*source, path, kResultList);
  try {
    Evaluation found = quality_in(text);
    found.source = path;
    if (found.unanswered > 0) {
      warnings.push_back(fmt::format(
          "--quality: {} of {} questions have an error or no verdict: they count as not answered correctly",
          found.unanswered, found.questions));
    }
    return found;
  } catch (const JsonError& error) {
    throw Error(fmt::format("--quality {}: {}: {}", printable_path(path), error.what(), kForms));
  } catch (const Error& error) {
    throw Error(fmt::format("--quality {}: {}", printable_path(path), error.what()));
  }
}

bool is_same_model(std::string_view a, std::string_view b) {
  const auto last = [](std::string_view name) {
    while (name.ends_with('/')) name.remove_suffix(1);
    return lower_ascii(std::string(name.substr(name.rfind('/') + 1)));
  };
  return last(a) == last(b);
}

}  // namespace aggregate_power::generators
