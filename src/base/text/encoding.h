// Reads text files in any encoding that recorders write, as UTF-8.
#pragma once

#include <memory>

#include "base/system/byte_source.h"

namespace aggregate_power {

// `source` without a byte-order mark: UTF-16 (of the byte order that its mark shows) is converted
// to UTF-8, everything else passes unchanged.
std::unique_ptr<ByteSource> as_utf8(std::unique_ptr<ByteSource> source);

}  // namespace aggregate_power
