#include "hftrain/reporting/prometheus_sink.h"

#include <cctype>
#include <cmath>
#include <filesystem>
#include <utility>

#include "hftrain/base/file.h"
#include "hftrain/reporting/python_text.h"

namespace hftrain::reporting {
namespace {

std::string metric_name(const std::string& metric) {
  std::string name = "hftrain_";
  for (const char c : metric) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

std::string label_value(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped;
}

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return python_repr(value);
}

std::string run_label(const ReportedRun& run) {
  const std::filesystem::path folder(run.output_dir);
  const std::string of_folder = (folder.has_filename() ? folder : folder.parent_path()).filename().string();
  return "{run=\"" + label_value(run.name.empty() ? of_folder : run.name) + "\"}";
}

}  // namespace

PrometheusSink::PrometheusSink(std::string path, const ReportedRun& run)
    : path_(std::move(path)), label_(run_label(run)) {
  set("running", 1);
  flush();
}

void PrometheusSink::record(const LogRecord& record) {
  for (const auto& [key, value] : record.metrics.items()) {
    if (value.is_boolean()) set(key, value.get<bool>() ? 1 : 0);
    if (value.is_number()) set(key, value.get<double>());
  }
  set("step", static_cast<double>(record.step));
  set("epoch", record.epoch);
  set("last_record_seconds", record.time);
}

void PrometheusSink::set(const std::string& metric, double value) {
  values_[metric_name(metric)] = number_text(value);
}

void PrometheusSink::flush() {
  std::string text;
  for (const auto& [name, value] : values_)
    text += "# TYPE " + name + " gauge\n" + name + label_ + ' ' + value + '\n';
  write_file_atomically(path_, text);
}

void PrometheusSink::end(RunEnd) {
  set("running", 0);
  flush();
}

}  // namespace hftrain::reporting
