#include "bench/published/tables_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tendril::tables {
namespace {

using Json = nlohmann::ordered_json;
using Strings = std::vector<std::string>;

constexpr double kMicroseconds = 1e6, kMillimeters = 1e3;
constexpr const char* kNone = "-";

// ---- lines -------------------------------------------------------------------------------------

/// A printed line: one record, or several pooled ones.
struct Line {
  std::string row, method;
  std::uint64_t seed = 0;
  int max_iterations = 0;
  double unit_us = 0.0;
  std::string refusal = {};
  Measurement measurement = {};
  std::optional<Coverage> coverage = {};
  std::vector<Published> published = {};
};

const Method& method_of(const Row& row, const std::string& name) {
  return *std::find_if(row.methods.begin(), row.methods.end(),
                       [&](const Method& method) { return method.name == name; });
}

/// One line per record, in order.
std::vector<Line> record_lines(const TableResult& result) {
  std::vector<Line> lines;
  auto record = result.records.begin();
  for (const Row& row : result.table.rows) {
    for (const Method& method : row.methods) {
      Line line{.row = row.name(),
                .method = method.name,
                .seed = row.seed,
                .max_iterations = method.max_iterations,
                .unit_us = record->unit_us,
                .refusal = record->refusal,
                .published = method.published};
      if (const auto* coverage = std::get_if<Coverage>(&record->result)) {
        line.coverage = *coverage;
      } else {
        line.measurement = std::get<Measurement>(record->result);
      }
      lines.push_back(std::move(line));
      ++record;
    }
  }
  return lines;
}

/// The records of a group, or of the table, summed for each method. Times in units refer to the
/// unit of the first record.
std::vector<Line> pooled_lines(const TableResult& result) {
  std::vector<Line> lines;
  auto record = result.records.begin();
  for (const Row& row : result.table.rows) {
    const std::string name = result.table.pooling == Pooling::All ? "all" : row.group;
    for (const Method& method : row.methods) {
      auto line = std::find_if(lines.begin(), lines.end(), [&](const Line& l) {
        return l.row == name && l.method == method.name;
      });
      if (line == lines.end()) {
        Line made{.row = name,
                  .method = method.name,
                  .seed = row.seed,
                  .max_iterations = method.max_iterations,
                  .unit_us = record->unit_us,
                  .refusal = record->refusal};
        for (const Published& published : result.table.pooled_published) {
          if (published.label == method.name) made.published = {published};
        }
        lines.push_back(std::move(made));
        line = std::prev(lines.end());
      }
      if (record->refusal.empty()) line->measurement.merge(std::get<Measurement>(record->result));
      ++record;
    }
  }
  return lines;
}

std::vector<Line> printed_lines(const TableResult& result) {
  return result.table.pooling == Pooling::None ? record_lines(result) : pooled_lines(result);
}

// ---- numbers -----------------------------------------------------------------------------------

/// Three significant digits; small numbers with an exponent.
std::string number(double value) {
  if (!std::isfinite(value)) return kNone;
  const double size = std::abs(value);
  if (size > 0.0 && size < 1e-3) return fmt::format("{:.1e}", value);
  return fmt::format("{:.{}f}", value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.1 ? 2 : 4);
}

/// Errors below the resolution of the histogram, as for a free direction, are printed as 0.
std::string error(double value) {
  return value < LogHistogram::kLowest * LogHistogram::kRatio ? "0" : number(value);
}

/// 100 only if nothing failed, 0 only if all did.
std::string percent(double rate) {
  if (!std::isfinite(rate)) return kNone;
  if (rate == 1.0) return "100";
  if (rate == 0.0) return "0";
  for (int digits = 2;; ++digits) {
    const std::string text = fmt::format("{:.{}f}", 100.0 * rate, digits);
    const bool rounded_off = text.starts_with("100") || std::stod(text) == 0.0;
    if (!rounded_off || digits == 9) return text;
  }
}

std::string interval(const Measurement& measurement) {
  if (measurement.samples == 0) return kNone;
  const Interval ends = success_interval(measurement);
  return fmt::format("{:.2f}..{:.2f}", 100.0 * ends.low, 100.0 * ends.high);
}

std::string optional_number(const std::optional<double>& value) {
  return value ? fmt::format("{:g}", *value) : kNone;
}

/// `a / b` of every published variant; a dash if the source has neither.
template <class First, class Second>
std::string published_pair(const std::vector<Published>& published, First first, Second second) {
  Strings texts;
  for (const Published& one : published) {
    if (one.*first || one.*second)
      texts.push_back(optional_number(one.*first) + " / " + optional_number(one.*second));
  }
  return texts.empty() ? kNone : fmt::format("{}", fmt::join(texts, "; "));
}

std::string published_success(const std::vector<Published>& published) {
  Strings texts;
  for (const Published& one : published) {
    if (one.success) texts.push_back(optional_number(one.success));
  }
  return texts.empty() ? kNone : fmt::format("{}", fmt::join(texts, "; "));
}

// ---- grids -------------------------------------------------------------------------------------

/// Head and body of a printed table; the first `labels` columns are text, the others numbers.
struct Grid {
  Strings head;
  std::vector<Strings> body = {};
  std::size_t labels = 2;
};

/// Removes columns of published numbers where the source has none.
void drop_unpublished(Grid& grid) {
  for (std::size_t j = grid.head.size(); j-- > grid.labels;) {
    const bool empty = std::all_of(grid.body.begin(), grid.body.end(),
                                   [&](const Strings& row) { return row[j] == kNone; });
    if (grid.head[j] != "published" || !empty) continue;
    const auto at = static_cast<std::ptrdiff_t>(j);
    grid.head.erase(grid.head.begin() + at);
    for (Strings& row : grid.body) row.erase(row.begin() + at);
  }
}

/// Adds the number of solutions and the published one behind the labels.
void add_solutions(std::span<const Line> lines, Grid& grid) {
  const auto has_solutions = [](const Line& line) {
    return line.measurement.solutions.has_value();
  };
  if (std::none_of(lines.begin(), lines.end(), has_solutions)) return;
  const auto at = static_cast<std::ptrdiff_t>(grid.labels);
  const Strings names = {"solutions", "published"};
  grid.head.insert(grid.head.begin() + at, names.begin(), names.end());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto& found = lines[i].measurement.solutions;
    const std::vector<Published>& published = lines[i].published;
    const Strings cells = {found ? std::to_string(*found) : kNone,
                           published.empty() ? kNone : optional_number(published[0].solutions)};
    grid.body[i].insert(grid.body[i].begin() + at, cells.begin(), cells.end());
  }
}

Grid measurement_grid(std::span<const Line> lines) {
  Grid grid{.head = {"row", "method", "success %", "95 %", "published", "mean us", "median", "p99",
                     "p99.9", "published", "mean units", "median", "p99.9", "iterations",
                     "published", "failed: mm", "rad", "false"}};
  for (const Line& line : lines) {
    const Measurement& m = line.measurement;
    Strings cells = {line.row, line.method};
    if (m.samples == 0) {
      cells.resize(grid.head.size(), kNone);
      grid.body.push_back(std::move(cells));
      continue;
    }
    const auto time_us = [&](double part) { return kMicroseconds * m.times.quantile(part); };
    const auto units = [&](double us) { return number(us / line.unit_us); };
    cells.insert(
        cells.end(),
        {percent(m.success()), interval(m), published_success(line.published),
         number(kMicroseconds * m.mean_time()), number(time_us(0.5)), number(time_us(0.99)),
         number(time_us(0.999)),
         published_pair(line.published, &Published::mean_time_us, &Published::median_time_us),
         units(kMicroseconds * m.mean_time()), units(time_us(0.5)), units(time_us(0.999)),
         number(m.iterations.mean()) + " / " + number(m.iterations.quantile(0.5)),
         published_pair(line.published, &Published::mean_iterations, &Published::median_iterations),
         number(kMillimeters * m.position_errors.quantile(0.5)),
         error(m.angle_errors.quantile(0.5)), std::to_string(m.false_claims)});
    grid.body.push_back(std::move(cells));
  }
  add_solutions(lines, grid);
  drop_unpublished(grid);
  return grid;
}

Grid coverage_grid(std::span<const Line> lines) {
  Grid grid{
      .head = {"row", "method", "both", "inverse only", "Monte-Carlo only", "cells evaluated"}};
  for (const Line& line : lines) {
    Strings cells = {line.row, line.method};
    if (line.coverage && line.refusal.empty()) {
      const Coverage& c = *line.coverage;
      cells.insert(cells.end(), {std::to_string(c.both()), std::to_string(c.inverse_only()),
                                 std::to_string(c.monte_carlo_only()),
                                 fmt::format("{} x {}", c.columns, c.rows)});
    } else {
      cells.resize(grid.head.size(), kNone);
    }
    grid.body.push_back(std::move(cells));
  }
  return grid;
}

bool is_coverage(const TableResult& result) {
  return std::any_of(result.table.rows.begin(), result.table.rows.end(), [](const Row& row) {
    return std::holds_alternative<CoverageProblem>(row.problem);
  });
}

Grid grid_of(const TableResult& result) {
  const std::vector<Line> lines = printed_lines(result);
  return is_coverage(result) ? coverage_grid(lines) : measurement_grid(lines);
}

/// Success in % of every cell: groups down, columns across.
Grid matrix_of(const TableResult& result, const std::string& method) {
  Grid grid{.head = {"row"}, .body = {}, .labels = 1};
  for (const Record& record : result.records) {
    if (record.key.method != method || !record.refusal.empty()) continue;
    const Row& row = *std::find_if(result.table.rows.begin(), result.table.rows.end(),
                                   [&](const Row& r) { return r.name() == record.key.row; });
    if (std::find(grid.head.begin(), grid.head.end(), row.column) == grid.head.end())
      grid.head.push_back(row.column);
    if (grid.body.empty() || grid.body.back().front() != row.group)
      grid.body.push_back({row.group});
    grid.body.back().push_back(percent(std::get<Measurement>(record.result).success()));
  }
  return grid;
}

// ---- sentences ---------------------------------------------------------------------------------

Strings methods_of(const TableResult& result) {
  Strings methods;
  for (const Record& record : result.records) {
    if (std::find(methods.begin(), methods.end(), record.key.method) == methods.end())
      methods.push_back(record.key.method);
  }
  return methods;
}

/// Worst cell of each method, for tables printed pooled.
Strings worst_cells(const TableResult& result) {
  constexpr double kGoodCell = 0.995;
  Strings sentences;
  for (const std::string& method : methods_of(result)) {
    const Record* worst = nullptr;
    int below = 0;
    const auto success = [](const Record& r) { return std::get<Measurement>(r.result).success(); };
    for (const Record& record : result.records) {
      if (record.key.method != method || !record.refusal.empty()) continue;
      if (success(record) < kGoodCell) ++below;
      if (worst == nullptr || success(record) < success(*worst)) worst = &record;
    }
    if (worst != nullptr)
      sentences.push_back(fmt::format("{}: worst cell {} with {} %; {} cells below 99.5 %", method,
                                      worst->key.row, percent(success(*worst)), below));
  }
  return sentences;
}

/// Largest advantage of one method over another in a cell.
std::optional<std::string> largest_advantage(const TableResult& result, const std::string& first,
                                             const std::string& second) {
  double advantage = -1.0;
  std::string where;
  for (const Record& a : result.records) {
    if (a.key.method != first || !a.refusal.empty()) continue;
    for (const Record& b : result.records) {
      if (b.key.method != second || b.key.row != a.key.row || !b.refusal.empty()) continue;
      const double here =
          std::get<Measurement>(a.result).success() - std::get<Measurement>(b.result).success();
      if (here > advantage) {
        advantage = here;
        where = a.key.row;
      }
    }
  }
  if (where.empty()) return std::nullopt;
  return fmt::format("largest advantage of {} over {} in a cell: {:.1f} points, {}", first, second,
                     100.0 * advantage, where);
}

/// Mean times relative to one forward kinematics, for rows that measure it.
Strings times_of_forward_kinematics(const TableResult& result) {
  constexpr const char* kUnit = "forward-kinematics";
  Strings sentences;
  const auto mean_us = [](const Record& record) {
    return kMicroseconds * std::get<Measurement>(record.result).mean_time();
  };
  for (const Record& unit : result.records) {
    if (unit.key.method != kUnit) continue;
    Strings texts;
    for (const Record& record : result.records) {
      if (record.key.row == unit.key.row && record.key.method != kUnit)
        texts.push_back(
            fmt::format("{} {}", record.key.method, number(mean_us(record) / mean_us(unit))));
    }
    sentences.push_back(fmt::format("{}, mean time in forward kinematics ({:.0f} ns): {}",
                                    unit.key.row, 1e3 * mean_us(unit), fmt::join(texts, ", ")));
  }
  return sentences;
}

/// Time below which 99 % of a record's successes are [us].
double slow_us(const Record& record) {
  return kMicroseconds * std::get<Measurement>(record.result).times.quantile(0.99);
}

/// Records of a row whose success differs from the best one's by no more than the sampling error.
std::vector<const Record*> as_good_as_the_best(const TableResult& result, const Row& row) {
  std::vector<const Record*> records;
  double most = 0.0, floor = 1.0;  // success, and the lower end of its interval
  for (const Record& record : result.records) {
    if (record.key.row != row.name() || !record.refusal.empty()) continue;
    records.push_back(&record);
    const auto& measurement = std::get<Measurement>(record.result);
    if (measurement.success() <= most) continue;
    most = measurement.success();
    floor = success_interval(measurement).low;
  }
  std::erase_if(records, [&](const Record* record) {
    const auto& measurement = std::get<Measurement>(record->result);
    return measurement.successes == 0 || success_interval(measurement).high < floor;
  });
  return records;
}

/// Which method to take on a row: of the most successful ones that with the shortest 99th
/// percentile of the time; of equally fast ones, within a fifth, the first, since recommended ones
/// are first.
std::string recommendation(const TableResult& result, const Row& row) {
  constexpr double kAlike = 1.2;
  std::vector<const Record*> records = as_good_as_the_best(result, row);
  if (records.empty()) return fmt::format("{}: no method meets a target", row.name());
  const auto faster = [](const Record* a, const Record* b) { return slow_us(*a) < slow_us(*b); };
  const double least = slow_us(**std::min_element(records.begin(), records.end(), faster));
  const auto taken = std::find_if(records.begin(), records.end(), [&](const Record* record) {
    return slow_us(*record) <= kAlike * least;
  });
  const Record& best = **taken;
  records.erase(taken);
  std::stable_sort(records.begin(), records.end(), faster);
  std::string text = fmt::format(
      "{}: take {}: {} %, 99 % of its successes within {} us", row.name(), best.key.method,
      percent(std::get<Measurement>(best.result).success()), number(slow_us(best)));
  for (std::size_t k = 0; k < records.size(); ++k)
    text += fmt::format("{} {} ({} us)", k == 0 ? "; as many succeed with" : ",",
                        records[k]->key.method, number(slow_us(*records[k])));
  return text;
}

Strings sentences_of(const TableResult& result) {
  Strings sentences = times_of_forward_kinematics(result);
  if (result.table.compares) {
    for (const Row& row : result.table.rows) sentences.push_back(recommendation(result, row));
  }
  if (result.table.pooling != Pooling::None) {
    for (std::string& sentence : worst_cells(result)) sentences.push_back(std::move(sentence));
    if (auto advantage = largest_advantage(result, "fabrikx", "jacobian"))
      sentences.push_back(*advantage);
  }
  for (const std::string& statement : result.table.statements) sentences.push_back(statement);
  Strings refusals;
  for (const Record& record : result.records) {
    if (record.refusal.empty()) continue;
    const std::string text = fmt::format("{}: no result: {}", record.key.method, record.refusal);
    if (std::find(refusals.begin(), refusals.end(), text) == refusals.end())
      refusals.push_back(text);
  }
  sentences.insert(sentences.end(), refusals.begin(), refusals.end());
  return sentences;
}

std::string budgets(const TableResult& result) {
  Strings texts;
  bool some_are_set = false;
  for (const std::string& name : methods_of(result)) {
    const Method& method = method_of(result.table.rows.front(), name);
    texts.push_back(method.max_iterations == 0 ? name + " its own"
                                               : fmt::format("{} {}", name, method.max_iterations));
    some_are_set = some_are_set || method.max_iterations != 0;
  }
  if (!some_are_set) return "each its own";
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string seeds(const TableResult& result) {
  const auto [least, most] =
      std::minmax_element(result.table.rows.begin(), result.table.rows.end(),
                          [](const Row& a, const Row& b) { return a.seed < b.seed; });
  return least->seed == most->seed ? fmt::format("seed {}", least->seed)
                                   : fmt::format("seeds {} to {}", least->seed, most->seed);
}

std::string particulars(const TableResult& result) {
  return fmt::format("{} targets per row, {}. Iteration limits: {}.", result.samples, seeds(result),
                     budgets(result));
}

std::string reading(const RunResult& run) {
  return fmt::format(
      "{} threads. One unit is one 6x6 LLT factorization and solve in double by Eigen: {:.3f} us "
      "in this run. Iterations are limited, times are not.",
      run.threads, run.unit_us);
}

// ---- text --------------------------------------------------------------------------------------

std::string grid_text(const Grid& grid) {
  std::vector<std::size_t> widths;
  for (std::size_t j = 0; j < grid.head.size(); ++j) {
    std::size_t width = grid.head[j].size();
    for (const Strings& row : grid.body) width = std::max(width, row[j].size());
    widths.push_back(width);
  }
  std::string text;
  const auto add = [&](const Strings& cells) {
    std::string line;
    for (std::size_t j = 0; j < cells.size(); ++j) {
      line += j == 0 ? "" : "  ";
      line += j < grid.labels ? fmt::format("{:<{}}", cells[j], widths[j])
                              : fmt::format("{:>{}}", cells[j], widths[j]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  add(grid.head);
  for (const Strings& row : grid.body) add(row);
  return text;
}

// ---- markdown ----------------------------------------------------------------------------------

std::string grid_markdown(const Grid& grid) {
  std::string text = fmt::format("| {} |\n|", fmt::join(grid.head, " | "));
  for (std::size_t j = 0; j < grid.head.size(); ++j) text += j < grid.labels ? "---|" : "---:|";
  text += "\n";
  for (const Strings& row : grid.body) text += fmt::format("| {} |\n", fmt::join(row, " | "));
  return text;
}

std::string matrices_markdown(const TableResult& result) {
  if (result.table.pooling == Pooling::None) return {};
  std::string text;
  for (const std::string& method : methods_of(result)) {
    const Grid matrix = matrix_of(result, method);
    if (matrix.body.empty()) continue;
    text += fmt::format(
        "\n<details><summary>Success of {} in every cell, %</summary>\n\n{}\n</details>\n", method,
        grid_markdown(matrix));
  }
  return text;
}

// ---- JSON --------------------------------------------------------------------------------------

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json optional_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json published_json(const std::vector<Published>& published) {
  Json list = Json::array();
  for (const Published& one : published) {
    list.push_back({{"label", one.label},
                    {"success_percent", optional_json(one.success)},
                    {"mean_time_us", optional_json(one.mean_time_us)},
                    {"median_time_us", optional_json(one.median_time_us)},
                    {"mean_iterations", optional_json(one.mean_iterations)},
                    {"median_iterations", optional_json(one.median_iterations)},
                    {"solutions", optional_json(one.solutions)}});
  }
  return list;
}

Json line_json(const Line& line) {
  Json json = {{"row", line.row},
               {"method", line.method},
               {"seed", line.seed},
               {"max_iterations", line.max_iterations},
               {"published", published_json(line.published)}};
  if (!line.refusal.empty()) {
    json["refusal"] = line.refusal;
  } else if (line.coverage) {
    json["both"] = line.coverage->both();
    json["inverse_only"] = line.coverage->inverse_only();
    json["monte_carlo_only"] = line.coverage->monte_carlo_only();
    json["stride"] = line.coverage->stride;
    json["columns"] = line.coverage->columns;
    json["rows"] = line.coverage->rows;
    json["map"] = line.coverage->map;
    json["times_us"] = Json::array();
    for (const double time : line.coverage->times)
      json["times_us"].push_back(time > 0.0 ? Json(kMicroseconds * time) : Json(nullptr));
  } else {
    const Measurement& m = line.measurement;
    const Interval ends = success_interval(m);
    const auto quantile_us = [&](double part) {
      return finite(kMicroseconds * m.times.quantile(part));
    };
    if (m.solutions) json["solutions"] = *m.solutions;
    json["samples"] = m.samples;
    json["successes"] = m.successes;
    json["false_claims"] = m.false_claims;
    json["success_percent"] = finite(100.0 * m.success());
    json["success_interval_percent"] = {finite(100.0 * ends.low), finite(100.0 * ends.high)};
    json["unit_us"] = line.unit_us;
    json["time_us"] = {{"mean", finite(kMicroseconds * m.mean_time())},
                       {"median", quantile_us(0.5)},
                       {"p99", quantile_us(0.99)},
                       {"p999", quantile_us(0.999)}};
    json["iterations"] = {{"mean", finite(m.iterations.mean())},
                          {"median", finite(m.iterations.quantile(0.5))}};
    json["failed_position_error_m"] = finite(m.position_errors.quantile(0.5));
    json["failed_angle_error_rad"] = finite(m.angle_errors.quantile(0.5));
  }
  return json;
}

/// What figures show of one record: times in ascending bins [us, count], numbers of iterations with
/// counts, and least and largest time of each number of iterations [us].
Json distributions_json(const Measurement& m) {
  Json times = Json::array(), iterations = Json::array(), ranges = Json::array();
  const std::vector<std::int64_t>& bins = m.times.counts();
  for (std::size_t bin = 0; bin < bins.size(); ++bin) {
    if (bins[bin] != 0)
      times.push_back({kMicroseconds * LogHistogram::middle_of(static_cast<int>(bin)), bins[bin]});
  }
  const std::vector<std::int64_t>& counts = m.iterations.counts();
  for (std::size_t count = 0; count < counts.size(); ++count) {
    if (counts[count] == 0) continue;
    const RangeByCount::Ends& ends = m.times_by_iterations.ends()[count];
    iterations.push_back({count, counts[count]});
    ranges.push_back({count, kMicroseconds * ends.least, kMicroseconds * ends.most});
  }
  return {{"times_us", times}, {"iterations", iterations}, {"times_by_iterations_us", ranges}};
}

Json lines_json(std::span<const Line> lines) {
  Json list = Json::array();
  for (const Line& line : lines) list.push_back(line_json(line));
  return list;
}

}  // namespace

std::string tables_text(const RunResult& run) {
  std::string text = reading(run) + "\n";
  for (const TableResult& result : run.tables) {
    text += fmt::format("\nTable {}: {}\n{}\n{}\n\n", result.table.name, result.table.title,
                        result.table.setup, particulars(result));
    text += grid_text(grid_of(result));
    if (result.table.pooling == Pooling::Group) {
      for (const std::string& method : methods_of(result)) {
        const Grid matrix = matrix_of(result, method);
        if (!matrix.body.empty())
          text += fmt::format("\nSuccess of {} in every cell, %:\n{}", method, grid_text(matrix));
      }
    }
    for (const std::string& sentence : sentences_of(result)) text += "- " + sentence + "\n";
  }
  return text;
}

std::string tables_markdown(const RunResult& run, const Circumstances& circumstances) {
  const bool compares = !run.tables.empty() && run.tables.front().table.compares;
  std::string text = fmt::format(
      "# {}\n\n"
      "Written by `{}`, {}, tendril {}.\n\n"
      "Machine: {}, {} cores. Compiler: {}. {}\n\n"
      "Targets are tip poses of random admissible poses, the same for every method; every solve "
      "starts straight. A success is a solve that reports convergence and whose solution, "
      "checked by forward kinematics, is within the tolerances and all limits; *false* counts "
      "solutions that are reported as converged but are not (must be 0). *95 %* is the "
      "confidence interval of the success rate. Times and iterations are those of successes "
      "(slow solves are timed twice and the shorter time is used; quantiles are exact to 0.5 %); "
      "*failed* are the median errors of failures. *published* follows the column to which it "
      "belongs: success in %, mean / median time in us (measured by the source in MATLAB on an "
      "i7-4790K, with time limits), mean / median iterations.\n",
      compares ? "Solvers compared on a robot" : "Results of the published experiments",
      circumstances.command, circumstances.date, circumstances.program, circumstances.processor,
      circumstances.cores, circumstances.compiler, reading(run));
  for (const TableResult& result : run.tables) {
    text += fmt::format("\n## Table {}: {}\n\n{}\n{}\n\n", result.table.name, result.table.title,
                        result.table.setup, particulars(result));
    text += grid_markdown(grid_of(result));
    const Strings sentences = sentences_of(result);
    if (!sentences.empty()) text += "\n";
    for (const std::string& sentence : sentences) text += "- " + sentence + "\n";
    text += matrices_markdown(result);
  }
  return text;
}

std::string tables_json(const RunResult& run, const Circumstances& circumstances) {
  Json json = {
      {"command", circumstances.command},
      {"program", circumstances.program},
      {"date", circumstances.date},
      {"machine", {{"processor", circumstances.processor}, {"cores", circumstances.cores}}},
      {"compiler", circumstances.compiler},
      {"unit_us", run.unit_us},
      {"threads", run.threads},
      {"wall_time", run.wall_time},
      {"computed", run.computed},
      {"restored", run.restored}};
  json["tables"] = Json::array();
  for (const TableResult& result : run.tables) {
    Json table = {{"name", result.table.name},
                  {"title", result.table.title},
                  {"setup", result.table.setup},
                  {"samples", result.samples},
                  {"statements", result.table.statements},
                  {"rows", Json::array()}};
    const std::vector<Line> lines = record_lines(result);
    for (const Line& line : lines) {
      table["rows"].push_back(line_json(line));
      if (result.table.pooling == Pooling::None && line.measurement.successes > 0)
        table["rows"].back()["distributions"] = distributions_json(line.measurement);
    }
    auto entry = table["rows"].begin();
    for (const Row& row : result.table.rows) {
      for (std::size_t k = 0; k < row.methods.size(); ++k, ++entry) {
        (*entry)["group"] = row.group;
        (*entry)["column"] = row.column;
      }
    }
    if (result.table.pooling != Pooling::None) table["pooled"] = lines_json(pooled_lines(result));
    json["tables"].push_back(std::move(table));
  }
  return json.dump(2) + "\n";
}

}  // namespace tendril::tables
