// What transformers' tokenizer classes do that no file says.
#pragma once

#include <string>

namespace hftrain::tokenizer {

// Whether the class gives types of tokens where model_input_names of tokenizer_config.json is silent, in transformers 5.17; one with
// "Fast" behind its name is the same class. Before 5.0 all but those of a few families did.
bool class_gives_types(std::string tokenizer_class);

}  // namespace hftrain::tokenizer
