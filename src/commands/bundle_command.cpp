// aggregate-power bundle: runs and all files that they were computed from, in one archive.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/system/parallel.h"
#include "base/text/characters.h"
#include "commands/help_pages/help_pages.h"
#include "commands/options/command.h"
#include "commands/options/shared_options.h"
#include "commands/options/terminal.h"
#include "verify/bundle/bundle.h"

namespace aggregate_power::commands {
namespace {

struct BundleOptions {
  bundle::Request request;
  std::string out;
};

// What is there already is replaced only if it is a bundle.
void check_bundle_output(const std::string& out) {
  const auto refuse = [&](std::string_view why) {
    throw Error(fmt::format("--out {}: {}: give another file", printable_path(out), why));
  };
  if (!out.ends_with(".tar.zst")) {
    throw Error(
        fmt::format("--out {}: expected a name that ends in .tar.zst, as in run.bundle.tar.zst",
                    printable_path(out)));
  }
  if (disk_tree()->has_folder(out)) refuse("is a folder");
  if (is_regular_file(out) && !bundle::is_bundle(out))
    refuse("exists already, and is not a bundle");
}

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// "; replaced: 2 hosts, 8 uuids"
std::string replaced_text(const Json& replaced) {
  std::string text;
  for (const auto& [kind, count] : replaced.items()) {
    if (count == 0) continue;
    std::string name = kind;
    std::ranges::replace(name, '_', ' ');
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count.get<std::size_t>(), name);
  }
  if (replaced.is_null()) return {};
  return text.empty() ? "; nothing was to be replaced" : "; replaced: " + text;
}

int run_bundle(const BundleOptions& options) {
  check_bundle_output(options.out);
  bundle::Made made;
  try {
    made = bundle::make_bundle(options.request);
  } catch (const FileError& error) {
    const std::vector<std::string> places = {options.request.place};
    refuse_missing({places}, error);
  }
  for (const std::string& warning : made.found.warnings) print_note("warning: " + warning);
  if (made.bytes.empty()) {
    print_result(verification_text(made.found));
    print_message(fmt::format(
        "error: {}: what is published does not hold, and was not bundled; see 'help verify'",
        printable_path(options.request.place)));
    return 1;
  }
  replace_file(options.out, made.bytes);
  print_result(fmt::format("aggregate-power: {} of {} and {} -> {}{}\n",
                           counted(made.found.numbers, "number"), counted(made.found.points, "run"),
                           counted(made.files, "file"), printable_path(options.out),
                           replaced_text(made.replaced)));
  return 0;
}

}  // namespace
}  // namespace aggregate_power::commands

namespace aggregate_power {

Command bundle_command() {
  const auto all = std::make_shared<commands::BundleOptions>();
  bundle::Request& request = all->request;
  request.most_threads = usable_processors();
  Command command;
  Options& options = command.options;
  options
      .positional("RUN|STORE", into_path(request.place),
                  "A folder with runs at any depth, or a run's result, aggregate or audit record")
      .required()
      .check(not_empty());
  options
      .value(
          "--out", "FILE", into_path(all->out),
          "The bundle to write; a name that ends in .tar.zst. A bundle that is there is replaced")
      .required()
      .check(not_empty());
  options.flag(
      "--redact", request.redacts,
      "Replace hosts, users, serials, UUIDs, PCI bus ids, addresses and folders by other words, and drop prompts and answers; numbers stay");
  options
      .flag("--keep-texts", request.keep_texts,
            "Keep prompts and answers in results, which --redact drops")
      .needs("--redact");
  add_access_options(options, request.access);
  command.examples =
      "aggregate-power bundle run/ --out run.bundle.tar.zst\n"
      "aggregate-power bundle artifacts --redact --out paper.bundle.tar.zst\n"
      "aggregate-power verify run.bundle.tar.zst";
  command.exit_statuses =
      "0 written; 1 what is published of a run does not hold, and nothing was written; 2 a file cannot be opened or written, or wrong options";
  command.run = [all] {
    all->request.schemas = schema_titles();
    return commands::run_bundle(*all);
  };
  return command;
}

}  // namespace aggregate_power
