// aggregate-power help: lists the topics, or prints the page on one.
#include <memory>
#include <string>

#include "aggregate_power/error.h"
#include "commands/command.h"
#include "commands/help_pages.h"
#include "commands/output.h"

namespace aggregate_power {
namespace {

int run_help(const std::string& topic) {
  if (topic.empty()) {
    print(stdout, help_list());
    return 0;
  }
  const auto text = help_text(topic);
  if (!text) throw Error(unknown_topic(topic));
  print(stdout, *text);
  return 0;
}

}  // namespace

Command help_command() {
  const auto topic = std::make_shared<std::string>();
  Command command;
  command.options.positional("TOPIC", into(*topic), "The page to print (default: a list of all)")
      .offer(help_topics());
  command.examples =
      "aggregate-power help\n"
      "aggregate-power help backfill | less\n"
      "aggregate-power help reasons";
  command.exit_statuses = "0 printed; 2 unknown topic, or wrong options";
  command.run = [topic] { return run_help(*topic); };
  return command;
}

}  // namespace aggregate_power
