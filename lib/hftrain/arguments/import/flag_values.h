// Values of a configuration that stand for flags: they set a flag that the user did not give, win over a variable of the
// environment, and must agree with what was given otherwise (rule D1).
#pragma once

#include <string>

#include "hftrain/arguments/parse.h"
#include "hftrain/arguments/raw_argument.h"

namespace hftrain::arguments {

class FlagValues {
 public:
  FlagValues(ParseOutcome& outcome, Diagnostics& problems) : outcome_(outcome), problems_(problems) {}

  // `value` has the flag's type; `key` and `place` say where it stands.
  void set(const std::string& flag, const Json& value, const std::string& key, const std::string& place);
  // The same whatever the flag says.
  void replace(const std::string& flag, const Json& value, const std::string& place);
  bool given(const std::string& flag) const { return outcome_.origins.is_given(flag); }
  Json value(const std::string& flag) const;
  bool is_of_environment(const std::string& flag) const;
  // Tells that the variable which gave the flag does nothing: no flag was given by it.
  void overrule(const std::string& flag, const std::string& why, const std::string& place);
  // Reports that key and flag differ.
  void conflict(const std::string& flag, const std::string& key, const Json& value, const std::string& place,
                const std::string& hint = "make them equal, or write \"auto\" in the file");

 private:
  ParseOutcome& outcome_;
  Diagnostics& problems_;
};

}  // namespace hftrain::arguments
