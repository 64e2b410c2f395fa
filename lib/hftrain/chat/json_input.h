// Conversations, tools and documents as they come: JSON with its keys in their order.
#pragma once

#include <string>
#include <string_view>

#include "hftrain/chat/value.h"

namespace hftrain::chat {

// What Python's json.loads makes of it. Errors (kData): no JSON, with `origin` and the place; more than 100 deep.
Value value_from_json(std::string_view text, const std::string& origin);

}  // namespace hftrain::chat
