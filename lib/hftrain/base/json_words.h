// What the library of JSON says, for people.
#pragma once

#include <string>

#include "hftrain/base/json.h"

namespace hftrain {

// What it says of a text or of a value's type, without its own number for it; it quotes what it did not like, here at most 300 bytes.
std::string words_of(const Json::exception& error);

}  // namespace hftrain
