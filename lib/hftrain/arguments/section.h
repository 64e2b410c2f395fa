// A mapping as a person wrote it, in YAML or JSON (comments allowed), and where each part of it stands.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/arguments/raw_argument.h"
#include "hftrain/base/json.h"

namespace hftrain::arguments {

struct ParseOutcome;

struct Section {
  Json values = Json::object();  // every plain value is text, whatever it looks like; null stays null
  std::map<std::string, std::string> places;  // JSON pointer -> file:line:column; empty for text of a flag
  std::string origin;                         // of the whole: "--fsdp_config", "run.yaml:7:3", "ds.json"
  bool has_comments = false;                  // of JSON, which has none

  // Where the part stands, else the origin.
  const std::string& place(const std::string& pointer) const;
};

// One file, which must hold a mapping. Nothing when it does not: `problems` says why.
std::optional<Section> read_section_file(const std::string& path, Diagnostics& problems);
// JSON text that was given for `flag`, which `problems` names.
std::optional<Section> read_section_text(const std::string& text, const std::string& flag,
                                         const ParseOutcome& outcome, Diagnostics& problems);
// What was given for a flag of type kMapping that import/ reads (Flag::imported): a mapping in a
// configuration file, JSON text, or the name of a file. Nothing when the flag was not given, or when it
// cannot be read, which is in `problems`.
std::optional<Section> section_of(const std::string& flag, const ParseOutcome& outcome,
                                  Diagnostics& problems);
// "stage belongs in zero_optimization", for a key that stands elsewhere and the sections that have it, "" for the outermost
// mapping. Empty for none, and for so many that they say nothing.
std::string belongs_in(const std::string& key, const std::vector<std::string>& sections);
void tell_comments(const Section& section, Diagnostics& notes);
// Whether two values that such a flag can have say the same: the name of one file, however it is written, or equal contents.
// Those that cannot be read are the same when they are written alike.
bool same_section(const Json& one, const Json& other);

}  // namespace hftrain::arguments
