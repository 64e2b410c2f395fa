// README.md of the final folder: what was trained, with which settings, and what came out.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "hftrain/base/json.h"

namespace hftrain::reporting {

struct ModelCard {
  std::string model_name;
  std::string library = "transformers";  // that opens the folder
  std::string base_model;   // hub name or folder that the weights came from; empty: trained from scratch
  std::string base_of_hub;  // the name alone: of a folder's the Hub would tell another model, or none
  std::string dataset;      // as people would name it; empty: not known
  std::vector<std::string> datasets = {};  // names on the Hub
  std::string language;                    // BCP 47; empty: left out
  std::string license;                     // SPDX; empty: left out
  std::vector<std::string> tags;           // "generated_from_trainer" is always among them
  std::string pipeline_tag;                // "text-generation"; empty: left out
  std::vector<std::pair<std::string, std::string>> hyperparameters;  // in the order to show
  std::vector<std::pair<std::string, std::string>> versions;         // program -> version
};

// Markdown behind a YAML head that the hub understands. Results and the table over the course of training
// come from the log history of the trainer's state: one row per evaluation, with the training loss logged
// last before it.
std::string render_model_card(const ModelCard& card, const Json& log_history);

}  // namespace hftrain::reporting
