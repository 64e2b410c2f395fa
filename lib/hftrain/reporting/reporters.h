// The trackers that --report_to names: one row each.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "hftrain/reporting/record_sink.h"

namespace hftrain::reporting {

struct ReporterRow {
  std::string_view word;  // of --report_to
  // Begins: opens its files, or says hello to its server. May wait and throw, as all that a sink does.
  std::unique_ptr<RecordSink> (*begin)(const ReportedRun& run, const SinkHost& host);
};

// In the order of the flag's words. "jsonl" is not among them: that file is written in any case, and by whoever
// trains.
std::span<const ReporterRow> reporters();

// Error(kInternal) for a word without a row.
const ReporterRow& reporter(std::string_view word);

}  // namespace hftrain::reporting
