// The style and the script of a page.
#pragma once

namespace hftrain::report {

extern const char* const kStyle;
extern const char* const kScript;

}  // namespace hftrain::report
