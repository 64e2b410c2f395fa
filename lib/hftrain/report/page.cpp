#include "hftrain/report/page.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "hftrain/base/text.h"
#include "hftrain/report/charts.h"
#include "hftrain/report/html.h"
#include "hftrain/report/page_assets.h"
#include "hftrain/report/sections.h"

namespace hftrain::report {
namespace {

constexpr std::string_view kBegin =
    "<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n<meta name=generator content=hftrain>\n";

void count_names(const std::vector<Run>& runs, std::map<std::string, int>& counts) {
  for (const Run& run : runs) ++counts[run.name];
}

void tell_apart(std::vector<Run>& runs) {
  std::map<std::string, int> counts, used;
  count_names(runs, counts);
  for (Run& run : runs) {
    const std::string folder = std::filesystem::path(run.folder).filename().string();
    if (counts[run.name] > 1 && run.name != folder) run.name += " (" + folder + ')';
  }
  counts.clear();
  count_names(runs, counts);
  for (Run& run : runs) {
    if (counts[run.name] > 1) run.name += " #" + std::to_string(++used[run.name]);
  }
}

std::string title_of(const std::vector<Run>& runs) {
  if (runs.size() == 1) return runs.front().name;
  return std::to_string(runs.size()) + " runs";
}

// Scripts and styles of this page alone; a live one may ask its own server.
std::string policy(PageKind kind) {
  return std::string(
             "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src "
             "'unsafe-inline'; script-src 'unsafe-inline'; connect-src ") +
         (kind == PageKind::kLive ? "'self'" : "'none'") + "; base-uri 'none'; form-action 'none'\">\n";
}

std::string data_of(const std::vector<Run>& runs, PageKind kind) {
  Json names = Json::array();
  for (const Run& run : runs) names.push_back(run.name);
  const Json data = {
      {"live", kind == PageKind::kLive}, {"runs", std::move(names)}, {"charts", charts_of(runs)}};
  return "<script type=\"application/json\" id=data>" + for_script(dump_json(data, -1)) + "</script>\n";
}

}  // namespace

bool is_page(std::string_view text) {
  return text.starts_with(kBegin);
}

std::string page_of(std::vector<Run> runs, PageKind kind) {
  tell_apart(runs);
  const std::string title = escaped(title_of(runs));
  std::string page(kBegin);
  page += policy(kind) + "<meta name=viewport content=\"width=device-width\">\n<title>" + title +
          " · hftrain report</title>\n<style>" + kStyle + "</style>\n</head>\n<body>\n<header><h1>" + title +
          "</h1><div id=controls></div></header>\n<main>\n";
  page += overview(runs);
  page += section("charts", "Course of training",
                  "<div id=plots></div><noscript>The lines are drawn by a script of this page; the numbers "
                  "stand below.</noscript>");
  page += metrics_table(runs) + phases(runs) + memory_table(runs) + differing_arguments(runs) +
          checkpoints(runs) + events(runs) + details(runs);
  page += data_of(runs, kind);
  return page + "</main>\n<script>" + kScript + "</script>\n</body>\n</html>\n";
}

}  // namespace hftrain::report
