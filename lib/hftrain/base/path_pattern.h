// Patterns of paths as Python's fnmatch has them, and so the options --include, --exclude and --delete of `hf`: *, ? and [...] stand
// for letters, a slash among them.
#pragma once

#include <string>
#include <vector>

namespace hftrain {

// Whether one of them fits the whole path.
bool fits_a_pattern(const std::string& path, const std::vector<std::string>& patterns);
// The pattern that fits this text alone.
std::string pattern_of(const std::string& text);
// Whether `hf` would take the text for a pattern.
bool is_pattern(const std::string& text);

}  // namespace hftrain
