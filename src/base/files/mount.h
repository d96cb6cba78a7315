// Finds file systems on which replacing a file is risky.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace aggregate_power {

// Why files at the place `path` leads to cannot be replaced safely: "its file system has no locks",
// or it is a mount of an object store or a web folder, on which a rename copies and deletes, and
// locks hold only on this machine. Empty: they can, or `path` cannot be opened. Each file system is
// checked only once.
std::string replacement_risk(const std::string& path);

// The program of such a mount, according to the text of /proc/self/mountinfo: "rclone". Empty: the
// device is not a known one.
std::string object_store_mount(std::string_view mountinfo, dev_t device);

}  // namespace aggregate_power
