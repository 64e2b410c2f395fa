// A family that a plug-in describes in an inert text (plugin/model.h): its config keys, heads and parameters as a JSON object, so that
// the front program plans it without loading anything.
#pragma once

#include <string>
#include <vector>

#include "hftrain/architectures/family.h"

namespace hftrain::architectures {

// Reads `description` and adds its family to those of Architecture for the rest of the process; before the first thread, once per process
// and family (the same text again changes nothing). Error (kUsage) where the text is no description, or names a family that there is
// already; `origin` names the file.
void add_described_family(const std::string& description, const std::string& origin);

// Of added families, in order.
std::vector<const ConfigSchema*> described_schemas();
std::shared_ptr<const Architecture> make_described(FamilyConfig given);

}  // namespace hftrain::architectures
