// Base64 in the URL alphabet or the ordinary one, as the Trainer takes a DeepSpeed configuration.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hftrain::arguments {

// Nothing for text that is not base64. Padding may be left out.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace hftrain::arguments
