// The keys of an inert text that describes a task: each of a kind, or refused in words.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/json.h"

namespace hftrain::tasks {

// Each refusal is an Error (kUsage) at the file of the plug-in.
class DescriptionKeys {
 public:
  explicit DescriptionKeys(std::string origin) : origin_(std::move(origin)) {}

  Error no_task(const std::string& why, const std::string& hint) const;
  // `is`: as it is written there, whatever that may be.
  Error bad_key(const std::string& key, const std::string& is, const std::string& hint) const;

  Json object_of(const std::string& text) const;
  // `within`: where in the description the object stands, "labels.".
  void check_keys(const Json& object, const std::string& within, const std::vector<std::string>& known) const;
  const Json& needed(const Json& object, const std::string& key, const std::string& within = "") const;
  std::string text(const Json& value, const std::string& key) const;  // not empty, and no control characters
  std::string plain_word(const Json& value, const std::string& key) const;  // for flags, plans and file names
  // Different ones; one alone may stand without brackets.
  std::vector<std::string> texts(const Json& value, const std::string& key, size_t most) const;

 private:
  std::string origin_;
};

}  // namespace hftrain::tasks
