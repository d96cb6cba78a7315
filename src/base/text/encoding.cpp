// Converts UTF-16 and skips byte-order marks.
#include "base/text/encoding.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

namespace aggregate_power {
namespace {

class Utf16Source : public ByteSource {
 public:
  Utf16Source(bool big_endian, std::unique_ptr<ByteSource> units)
      : big_endian_(big_endian), units_(std::move(units)) {}

  std::size_t read(std::span<char> into) override {
    while (ready_.empty()) {
      const std::size_t count = units_->read(chunk_);
      if (count == 0) {
        if (std::exchange(high_surrogate_, 0) == 0) return 0;
        append(kReplacement);
        break;
      }
      for (std::size_t i = 0; i < count; ++i) take_byte(static_cast<std::uint8_t>(chunk_[i]));
    }
    const std::size_t count = std::min(ready_.size(), into.size());
    std::copy_n(ready_.begin(), count, into.begin());
    ready_.erase(0, count);
    return count;
  }

 private:
  static constexpr std::uint32_t kReplacement = 0xFFFD;

  void take_byte(std::uint8_t byte) {
    if (!std::exchange(half_unit_, !half_unit_)) {
      first_byte_ = byte;
      return;
    }
    take_unit(big_endian_ ? first_byte_ * 256U + byte : byte * 256U + first_byte_);
  }

  void take_unit(std::uint32_t unit) {
    const std::uint32_t high = std::exchange(high_surrogate_, 0);
    const bool is_low = unit >= 0xDC00 && unit < 0xE000;
    if (high != 0 && is_low) return append(0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00));
    if (high != 0) append(kReplacement);
    if (unit >= 0xD800 && unit < 0xDC00) {
      high_surrogate_ = unit;
    } else {
      append(is_low ? kReplacement : unit);
    }
  }

  void append(std::uint32_t code_point) {
    const auto put = [this](std::uint32_t byte) { ready_.push_back(static_cast<char>(byte)); };
    if (code_point < 0x80) return put(code_point);
    if (code_point < 0x800) {
      put(0xC0U | code_point >> 6);
    } else if (code_point < 0x10000) {
      put(0xE0U | code_point >> 12);
      put(0x80U | (code_point >> 6 & 0x3FU));
    } else {
      put(0xF0U | code_point >> 18);
      put(0x80U | (code_point >> 12 & 0x3FU));
      put(0x80U | (code_point >> 6 & 0x3FU));
    }
    put(0x80U | (code_point & 0x3FU));
  }

  bool big_endian_;
  std::unique_ptr<ByteSource> units_;
  std::array<char, 32768> chunk_;
  std::string ready_;
  bool half_unit_ = false;
  std::uint32_t first_byte_ = 0;
  std::uint32_t high_surrogate_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> as_utf8(std::unique_ptr<ByteSource> source) {
  const std::string ahead = read_up_to(*source, 3);
  const auto resume_behind = [&](std::size_t mark) {
    return std::make_unique<ResumedSource>(ahead.substr(mark), std::move(source));
  };
  if (ahead.starts_with("\xFF\xFE")) return std::make_unique<Utf16Source>(false, resume_behind(2));
  if (ahead.starts_with("\xFE\xFF")) return std::make_unique<Utf16Source>(true, resume_behind(2));
  return resume_behind(ahead.starts_with("\xEF\xBB\xBF") ? 3 : 0);
}

}  // namespace aggregate_power
