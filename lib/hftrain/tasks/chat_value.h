// Values of rows as a chat template sees them.
#pragma once

#include "hftrain/chat/value.h"
#include "hftrain/data/records.h"

namespace hftrain::tasks {

// Lists, objects (in the order of their keys), texts and numbers; null becomes None. The copy owns what it holds.
chat::Value chat_value(const data::Value& value);

}  // namespace hftrain::tasks
