// Paths as Python's pathlib writes them: what scripts see in the audit record and in messages.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace aggregate_power {

// str(Path(text)): `./a//b/` is `a/b`, `a/./b` is `a/b`, `a/../b` stays, an empty text is `.`.
std::string normal_path(std::string_view text);

// The part of any path after its last slash.
std::string_view last_name(std::string_view path);

// `name` in `folder`, with one slash between them; just the name if `folder` is empty.
std::string join_path(std::string_view folder, std::string_view name);

// The normal path of `relative` below `root`; `relative` does not lead further up.
std::string path_below(std::string_view root, std::string_view relative);

// The last component of a normal path, without its last suffix (`run.json` is `run`).
std::string path_stem(std::string_view path);

// The same, but without both suffixes of a compressed CSV or JSON file: `run.json.gz` and
// `run.json.zst` are `run`; `run.tar.gz` is `run.tar`, as in Python.
std::string plain_stem(std::string_view path);

// `name` in the folder of a normal path.
std::string beside(std::string_view path, std::string_view name);

// Possible endings of a file that a reader expands.
inline constexpr std::array<std::string_view, 3> kCompressions = {"", ".gz", ".zst"};

// Whether `name` is `plain`, possibly with the ending of a compression.
bool is_compressed_or(std::string_view name, std::string_view plain);

// Bytes that are not UTF-8 become %XX, so that JSON can contain any path.
std::string printable_path(std::string_view path);

// ---- The file that a mistyped path probably means.

// If nothing is at `path`: the file in its folder whose name is nearest, as a path. Returns nullopt
// if something is there, if no name is near, or if the folder cannot be listed.
std::optional<std::string> near_file(const std::string& path);

// "PATH does not exist: did you mean NEAR?"; empty if there is nothing to propose.
std::string missing_file_hint(const std::string& path);

}  // namespace aggregate_power
