// Conversations, tools and documents as they come: JSON with its keys in their order.
#pragma once

#include <string>
#include <string_view>

#include "hftrain/chat/value.h"

namespace hftrain::chat {

inline constexpr const char* kConversationHint =
    "a conversation is a list of messages, each with a role and a content";

// What Python's json.loads makes of it. Errors (kData): no JSON, with `origin`, the place and `hint`; more than 100 deep.
Value value_from_json(std::string_view text, const std::string& origin,
                      const std::string& hint = kConversationHint);

}  // namespace hftrain::chat
