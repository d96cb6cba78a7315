// What --idle says, where the idle power of a run's GPUs is from.
#pragma once

#include <string>

namespace aggregate_power {

// What is wrong with a text that is none of "auto", "85", "85+-3", "85±3", and "START:END" with
// times as in a windows file; empty: it is one of these.
std::string idle_fault(const std::string& text);

// Throws Error if the text, one that was checked, is a stretch. `why` there is none: "is of one
// recording, and there are 2".
void refuse_idle_stretch(const std::string& text, const std::string& why);

}  // namespace aggregate_power
