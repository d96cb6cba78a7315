// Paths as Python's pathlib writes them: what scripts see in the audit record and in messages.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace aggregate_power {

// str(Path(text)): `./a//b/` is `a/b`, `a/./b` is `a/b`, `a/../b` stays, nothing is `.`.
std::string normal_path(std::string_view text);

// Of any path: what follows its last slash.
std::string_view last_name(std::string_view path);

// `name` in `folder`, with one slash between them; in the empty folder the name alone.
std::string join_path(std::string_view folder, std::string_view name);

// The normal path of `relative`, which does not lead further up, below `root`.
std::string path_below(std::string_view root, std::string_view relative);

// Of a normal path: its last component without the last suffix (`run.json` is `run`).
std::string path_stem(std::string_view path);

// The same, and of a compressed CSV or JSON file without both suffixes: `run.json.gz` and
// `run.json.zst` are `run`; `run.tar.gz` is `run.tar`, as it is in Python.
std::string plain_stem(std::string_view path);

// `name` in the folder of a normal path.
std::string beside(std::string_view path, std::string_view name);

// What may follow the name of a file that a reader expands.
inline constexpr std::array<std::string_view, 3> kCompressions = {"", ".gz", ".zst"};

// Whether `name` is `plain`, perhaps with the ending of a compression.
bool is_compressed_or(std::string_view name, std::string_view plain);

// Bytes that are not UTF-8 become %XX, so that any path can stand in JSON.
std::string printable_path(std::string_view path);

}  // namespace aggregate_power
