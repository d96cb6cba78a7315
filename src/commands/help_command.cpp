// aggregate-power help: lists the topics, or prints the page on one.
#include <memory>
#include <string>

#include "aggregate_power/error.h"
#include "commands/command.h"
#include "commands/help_pages.h"
#include "commands/output.h"
#include "commands/terminal.h"

namespace aggregate_power {
namespace {

struct HelpRequest {
  std::string topic;  // empty: list all
  bool json = false;
};

int run_help(const HelpRequest& request) {
  const std::size_t width = text_width();
  if (request.topic.empty()) {
    request.json ? print(stdout, help_list_json()) : print_result(help_list(width));
    return 0;
  }
  const auto text =
      request.json ? help_json(request.topic, width) : help_text(request.topic, width);
  if (!text) throw Error(unknown_topic(request.topic));
  request.json ? print(stdout, *text) : print_result(*text);
  return 0;
}

}  // namespace

Command help_command() {
  const auto request = std::make_shared<HelpRequest>();
  Command command;
  command.options
      .positional("TOPIC", into(request->topic), "The page to print (default: a list of all)")
      .offer(help_topics());
  command.options.flag("--json", request->json,
                       "Print the topics as one JSON array, or the page as one JSON object");
  command.examples =
      "aggregate-power help\n"
      "aggregate-power help backfill | less\n"
      "aggregate-power help reasons";
  command.exit_statuses = "0 printed; 2 unknown topic, or wrong options";
  command.run = [request] { return run_help(*request); };
  return command;
}

}  // namespace aggregate_power
