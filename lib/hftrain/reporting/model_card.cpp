#include "hftrain/reporting/model_card.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "hftrain/base/text.h"
#include "hftrain/reporting/python_text.h"

namespace hftrain::reporting {
namespace {

using Row = std::vector<std::string>;

constexpr const char* kTrainerTag = "generated_from_trainer";

// A double-quoted YAML string is a JSON string; plain only where nothing can be misread.
std::string yaml_text(const std::string& text) {
  const bool plain = !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
                     std::all_of(text.begin(), text.end(), [](unsigned char c) {
                       return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '/';
                     });
  static const std::vector<std::string> kWords = {"true", "false", "null", "yes", "no",
                                                  "on",   "off",   "y",    "n"};
  const bool word = std::find(kWords.begin(), kWords.end(), to_lower(text)) != kWords.end();
  return plain && !word ? text : Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string yaml_head(const ModelCard& card) {
  std::string head = "---\nlibrary_name: " + yaml_text(card.library) + '\n';
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) head += std::string(key) + ": " + yaml_text(value) + '\n';
  };
  add("language", card.language);
  add("license", card.license);
  add("base_model", card.base_of_hub);
  add("pipeline_tag", card.pipeline_tag);
  head += "tags:\n";
  for (const std::string& tag : card.tags) {
    if (tag != kTrainerTag) head += "- " + yaml_text(tag) + '\n';
  }
  head += std::string("- ") + kTrainerTag + '\n';
  if (!card.datasets.empty()) head += "datasets:\n";
  for (const std::string& name : card.datasets) head += "- " + yaml_text(name) + '\n';
  head += "model-index:\n- name: " + yaml_text(card.model_name) + "\n  results: []\n---\n";
  return head;
}

std::string number_text(const Json& value) {
  if (value.is_number_float()) return python_repr(python_round(value.get<double>(), 4));
  return value.is_string() ? value.get<std::string>() : python_repr(value);
}

bool is_speed(const std::string& key) {
  return key == "eval_runtime" || key == "eval_samples_per_second" || key == "eval_steps_per_second" ||
         key == "eval_model_preparation_time";
}

// "eval_exact_match" -> "Exact Match"; the loss is called so in full.
std::string metric_title(const std::string& key) {
  if (key == "eval_loss") return "Validation Loss";
  std::vector<std::string> words = split(key.substr(5), '_');
  for (std::string& word : words) {
    if (!word.empty()) word[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(word[0])));
  }
  return join(words, " ");
}

bool is_evaluation(const Json& record) {
  return record.is_object() && record.contains("eval_loss");
}

// Metrics of all evaluations, the loss first.
std::vector<std::string> metric_keys(const Json& evaluations) {
  std::set<std::string> others;
  for (const Json& record : evaluations) {
    if (!is_evaluation(record)) continue;
    for (const auto& [key, value] : record.items()) {
      if (key.compare(0, 5, "eval_") == 0 && !is_speed(key) && value.is_number()) others.insert(key);
    }
  }
  others.erase("eval_loss");
  std::vector<std::string> keys = {"eval_loss"};
  keys.insert(keys.end(), others.begin(), others.end());
  return keys;
}

std::string value_or_dash(const Json& record, const std::string& key) {
  return record.contains(key) ? number_text(record[key]) : "-";
}

std::vector<Row> result_rows(const Json& history) {
  const std::vector<std::string> keys = metric_keys(history);
  std::vector<Row> rows = {{"Training Loss", "Epoch", "Step"}};
  for (const std::string& key : keys) rows.front().push_back(metric_title(key));
  std::string training_loss = "No log";
  for (const Json& record : history) {
    if (record.is_object() && record.contains("train_runtime") && !record.contains("loss")) break;
    if (record.is_object() && record.contains("loss")) training_loss = number_text(record["loss"]);
    if (!is_evaluation(record)) continue;
    Row row = {training_loss, value_or_dash(record, "epoch"), value_or_dash(record, "step")};
    for (const std::string& key : keys) row.push_back(value_or_dash(record, key));
    rows.push_back(std::move(row));
  }
  return rows.size() > 1 ? rows : std::vector<Row>{};
}

std::string markdown_table(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string table;
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i)
      table += "| " + row[i] + std::string(widths[i] - row[i].size() + 1, ' ');
    table += "|\n";
    if (&row != &rows.front()) continue;
    for (const size_t width : widths) table += "|:" + std::string(width, '-') + ':';
    table += "|\n";
  }
  return table;
}

std::string results_list(const Json& history) {
  const auto last = std::find_if(history.rbegin(), history.rend(), is_evaluation);
  if (last == history.rend()) return "";
  std::string list = "\nResults on the evaluation set:\n\n";
  for (const std::string& key : metric_keys(Json::array({*last}))) {
    list +=
        "- " + (key == "eval_loss" ? "Loss" : metric_title(key)) + ": " + number_text((*last)[key]) + '\n';
  }
  return list;
}

std::string list_of(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string list;
  for (const auto& [name, value] : items) list += "- " + name + ": " + value + '\n';
  return list;
}

std::string origin_sentence(const ModelCard& card) {
  const std::string data = card.dataset.empty() ? "data that was not named" : card.dataset;
  if (card.base_model.empty()) return "Trained from scratch on " + data + ".\n";
  return "Fine-tuned from `" + card.base_model + "` on " + data + ".\n";
}

}  // namespace

std::string render_model_card(const ModelCard& card, const Json& log_history) {
  const Json history = log_history.is_array() ? log_history : Json::array();
  std::string text = yaml_head(card);
  text +=
      "\n<!-- Written by hftrain at the end of a run. Read it, complete it, and then remove this line. -->\n";
  text += "\n# " + card.model_name + "\n\n" + origin_sentence(card) + results_list(history);
  text +=
      "\n## What it is for\n\nTo be written: what the model does, for whom, and where it should not be "
      "used.\n";
  text += "\n## Data\n\nTo be written: where the training and evaluation data come from.\n";
  text += "\n## Training procedure\n\n### Training hyperparameters\n\n" + list_of(card.hyperparameters);
  const std::vector<Row> rows = result_rows(history);
  if (!rows.empty()) text += "\n### Training results\n\n" + markdown_table(rows);
  if (!card.versions.empty()) text += "\n### Framework versions\n\n" + list_of(card.versions);
  return text;
}

}  // namespace hftrain::reporting
