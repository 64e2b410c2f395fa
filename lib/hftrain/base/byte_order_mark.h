// What editors of Windows put before a text in UTF-8.
#pragma once

#include <string_view>

namespace hftrain {

// May lead a text; is none of it.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace hftrain
