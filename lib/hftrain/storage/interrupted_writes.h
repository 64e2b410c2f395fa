// What an interrupted write leaves: the temporary sibling of a file that was to appear whole (base/growing_file.h), and the folder
// of a model that was to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hftrain/storage/file_system.h"

namespace hftrain::storage {

// Where a run's last model grows in its output folder, until its files take their places there.
inline constexpr std::string_view kModelStaging = ".model.tmp";

// <file>.tmp-<16 hexadecimal digits>, as such writes name their siblings, or the name above.
bool is_interrupted_write(std::string_view name);

// Removes those in `folder`, not below it; a folder that is not there has none. Call where nobody writes into it, as
// the holder of the RunLock before the first worker. What was removed, and what could not be and why, for the log.
std::vector<std::string> remove_interrupted_writes(FileSystem& files, const std::string& folder);

}  // namespace hftrain::storage
