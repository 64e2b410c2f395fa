#include "hftrain/reporting/metrics_files.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/reporting/python_text.h"

namespace hftrain::reporting {
namespace {

// str(timedelta(seconds)) and the hundredths, cut off rather than rounded.
std::string format_runtime(double seconds) {
  const auto whole = static_cast<int64_t>(seconds);
  const auto hundredths = static_cast<int>(std::abs(seconds - static_cast<double>(whole)) * 100);
  const int64_t days = whole / 86400;
  std::string text;
  if (days != 0) text = std::to_string(days) + (days == 1 ? " day, " : " days, ");
  char clock[48];
  std::snprintf(clock, sizeof clock, "%d:%02d:%02d.%02d", static_cast<int>(whole % 86400 / 3600),
                static_cast<int>(whole % 3600 / 60), static_cast<int>(whole % 60), hundredths);
  return text + clock;
}

// Python's value >> bits. A float may be beyond every integer type, as total_flos is in a long run.
std::string shifted(const Json& value, int bits) {
  if (value.is_number_integer()) return std::to_string(value.get<int64_t>() >> bits);
  char text[std::numeric_limits<double>::max_exponent10 + 3];
  std::snprintf(text, sizeof text, "%.0f", std::floor(std::ldexp(value.get<double>(), -bits)));
  return text;
}

std::string format_value(const std::string& key, const Json& value) {
  if (value.is_number() && std::isfinite(value.get<double>())) {
    if (key.find("_mem_") != std::string::npos) return shifted(value, 20) + "MB";
    if (key.find("_runtime") != std::string::npos) return format_runtime(value.get<double>());
    if (key == "total_flos") return shifted(value, 30) + "GF";
  }
  if (value.is_number_float()) return python_repr(python_round(value.get<double>(), 4));
  return value.is_string() ? value.get<std::string>() : python_repr(value);
}

Json read_metrics(const std::string& path) {
  Json metrics = read_json_file(path);
  if (!metrics.is_object())
    throw Error(ExitCode::kData, "not a file of results")
        .where(path)
        .why("it holds no JSON object, and this run's results would be added to it")
        .hint("move the file away");
  return metrics;
}

}  // namespace

std::string format_metrics(const std::string& split, const Json& metrics) {
  std::map<std::string, std::string> lines;
  size_t key_width = 0, value_width = 0;
  for (const auto& [key, value] : metrics.items()) {
    const std::string text = format_value(key, value);
    key_width = std::max(key_width, python_len(key));
    value_width = std::max(value_width, python_len(text));
    lines[key] = text;
  }
  std::string block = "***** " + split + " metrics *****\n";
  for (const auto& [key, text] : lines) {
    block += "  " + key + std::string(key_width - python_len(key), ' ') + " = " +
             std::string(value_width - python_len(text), ' ') + text + '\n';
  }
  return block;
}

void save_metrics(const std::string& output_dir, const std::string& split, const Json& metrics) {
  const std::string all_path = output_dir + "/all_results.json";
  Json all = path_exists(all_path) ? read_metrics(all_path) : Json::object();
  all.update(metrics);
  write_file_atomically(output_dir + '/' + split + "_results.json", python_json(metrics, 4));
  write_file_atomically(all_path, python_json(all, 4));
}

}  // namespace hftrain::reporting
