#include "bench/published/run_tables.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <set>
#include <thread>

#include "bench/published/cell.hpp"
#include "bench/published/result_store.hpp"
#include "tendril/model_error.hpp"

namespace tendril::tables {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t kMaxSamples = 1'000'000'000;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Optimization barrier: the compiler must assume that the matrix is read and changed here.
template <class Matrix>
void keep(Matrix& matrix) {
  asm volatile("" : : "g"(&matrix) : "memory");
}

/// A cell being computed, and the destination of its record.
struct Job {
  std::unique_ptr<Cell> cell;
  Record* record = nullptr;
  std::int64_t first_block = 0, blocks = 0;
  std::atomic<std::int64_t> blocks_left = 0;
  std::atomic<bool> refused = false;
};

/// Processes the blocks of all jobs in order. Finished jobs are passed to the store.
class Crew {
 public:
  Crew(std::vector<std::unique_ptr<Job>>& jobs, ResultStore* store, const std::atomic<bool>* stop)
      : jobs_(jobs), store_(store), stop_(stop) {
    for (const auto& job : jobs_) {
      job->first_block = block_count_;
      job->blocks = job->cell->block_count();
      job->blocks_left = job->blocks;
      block_count_ += job->blocks;
    }
  }

  void run(int threads, const std::function<void(const std::string&, double)>& on_progress) {
    std::vector<std::jthread> workers;
    working_ = threads;
    for (int i = 0; i < threads; ++i) workers.emplace_back([this] { work(); });
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, std::chrono::milliseconds(100), [&] { return working_ == 0; })) {
      if (!on_progress) continue;
      const std::int64_t done = std::min(next_.load(), block_count_ - 1);
      const RecordKey& key = job_of(done).record->key;
      on_progress(fmt::format("table {}: {}, {}", key.table, key.row, key.method),
                  static_cast<double>(done) / static_cast<double>(block_count_));
    }
    lock.unlock();
    workers.clear();
    if (failure_) std::rethrow_exception(failure_);
  }

  [[nodiscard]] int finished() const noexcept { return finished_; }
  [[nodiscard]] int refused() const noexcept { return refused_; }

 private:
  [[nodiscard]] Job& job_of(std::int64_t block) const {
    const auto after =
        std::upper_bound(jobs_.begin(), jobs_.end(), block,
                         [](std::int64_t b, const auto& job) { return b < job->first_block; });
    return **std::prev(after);
  }

  [[nodiscard]] bool stopping() const noexcept {
    return failed_.load() || (stop_ != nullptr && stop_->load());
  }

  void work() noexcept {
    try {
      for (std::int64_t block = next_++; block < block_count_ && !stopping(); block = next_++)
        run_block(job_of(block), block);
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      failed_ = true;
    }
    const std::scoped_lock lock(mutex_);
    if (--working_ == 0) ended_.notify_all();
  }

  void run_block(Job& job, std::int64_t block) {
    try {
      if (!job.refused) job.cell->run_block(block - job.first_block);
    } catch (const ModelError& error) {  // the method does not support such robots
      const std::scoped_lock lock(mutex_);
      job.record->refusal = error.what();
      job.refused = true;
    }
    if (--job.blocks_left > 0) return;
    const std::scoped_lock lock(mutex_);
    ++finished_;
    if (job.refused) {
      ++refused_;
    } else {
      job.record->result = job.cell->result();
      if (store_ != nullptr) store_->append(*job.record);
    }
  }

  std::vector<std::unique_ptr<Job>>& jobs_;
  ResultStore* store_;
  const std::atomic<bool>* stop_;
  std::int64_t block_count_ = 0;
  std::atomic<std::int64_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::exception_ptr failure_;
  int working_ = 0, finished_ = 0, refused_ = 0;
};

std::vector<Table> chosen_tables(const RunOptions& options) {
  if (options.own) return {*options.own};
  std::vector<Table> tables;
  for (const std::string& name : options.tables.empty() ? table_names() : options.tables) {
    const bool again = std::any_of(tables.begin(), tables.end(),
                                   [&](const Table& table) { return table.name == name; });
    Table table = make_table(name);
    if (!again) tables.push_back(std::move(table));
  }
  return tables;
}

void keep_methods(std::vector<Table>& tables, const std::vector<std::string>& methods) {
  if (methods.empty()) return;
  std::set<std::string> known;
  for (Table& table : tables) {
    for (Row& row : table.rows) {
      for (const Method& method : row.methods) known.insert(method.name);
      std::erase_if(row.methods, [&](const Method& method) {
        return std::find(methods.begin(), methods.end(), method.name) == methods.end();
      });
    }
    std::erase_if(table.rows, [](const Row& row) { return row.methods.empty(); });
  }
  for (const std::string& method : methods) {
    if (!known.contains(method))
      throw ModelError(fmt::format("tables: {}: unknown method of these tables: must be one of {}",
                                   method, fmt::join(known, ", ")));
  }
  std::erase_if(tables, [](const Table& table) { return table.rows.empty(); });
}

std::int64_t samples_of(const RunOptions& options, const Table& table) {
  if (options.samples) return *options.samples;
  return options.full ? table.full_samples : table.default_samples;
}

}  // namespace

double measure_unit_us() {
  constexpr int kSolves = 100;         // between two readings of the clock
  constexpr double kDuration = 20e-3;  // of the measurement [s]
  Eigen::Matrix<double, 6, 6> A = Eigen::Matrix<double, 6, 6>::Identity();
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j) A(i, j) += 1.0 / (1.0 + i + j);
  }
  const Eigen::Matrix<double, 6, 1> b = Eigen::Matrix<double, 6, 1>::Ones();
  Eigen::Matrix<double, 6, 1> x;
  double shortest =
      std::numeric_limits<double>::infinity();  // the others were delayed by other programs
  const Clock::time_point start = Clock::now();
  do {
    const Clock::time_point begin = Clock::now();
    for (int k = 0; k < kSolves; ++k) {
      keep(A);
      x = A.llt().solve(b);
      keep(x);
    }
    shortest = std::min(shortest, seconds_since(begin));
  } while (seconds_since(start) < kDuration);
  return 1e6 * shortest / kSolves;
}

RunResult run_tables(const RunOptions& options) {
  if (options.samples && (*options.samples < 1 || *options.samples > kMaxSamples))
    throw ModelError(
        fmt::format("tables: samples = {}, must be in [1, {}]", *options.samples, kMaxSamples));
  if (options.threads < 0)
    throw ModelError(fmt::format("tables: threads = {}, must be >= 0", options.threads));
  std::vector<Table> tables = chosen_tables(options);
  keep_methods(tables, options.methods);

  const Clock::time_point begin = Clock::now();
  RunResult run;
  run.unit_us = measure_unit_us();
  run.threads = options.threads > 0
                    ? options.threads
                    : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::optional<ResultStore> store;
  if (!options.folder.empty()) {
    store.emplace(options.folder);
    run.unreadable_lines = store->unreadable_lines();
  }

  for (Table& table : tables) {
    TableResult result{.table = std::move(table)};
    result.samples = samples_of(options, result.table);
    std::size_t count = 0;
    for (const Row& row : result.table.rows) count += row.methods.size();
    result.records.resize(count);
    run.tables.push_back(std::move(result));
  }
  std::vector<std::unique_ptr<Job>> jobs;
  for (TableResult& result : run.tables) {
    auto record = result.records.begin();
    for (const Row& row : result.table.rows) {
      const std::shared_ptr<SharedRow> shared = share_row(row, result.samples);
      for (const Method& method : row.methods) {
        record->key = {.table = result.table.name,
                       .row = row.name(),
                       .method = method.name,
                       .samples = result.samples,
                       .seed = row.seed,
                       .program = options.program};
        record->threads = run.threads;
        record->unit_us = run.unit_us;
        const Record* kept = store && !options.fresh ? store->find(record->key) : nullptr;
        if (kept != nullptr) {
          *record = *kept;
          ++run.restored;
        } else {
          auto job = std::make_unique<Job>();
          job->cell = make_cell(row, method, result.samples, shared);
          job->record = &*record;
          jobs.push_back(std::move(job));
        }
        ++record;
      }
    }
  }
  if (!jobs.empty()) {
    Crew crew(jobs, store ? &*store : nullptr, options.stop);
    crew.run(run.threads, options.on_progress);
    run.computed = crew.finished() - crew.refused();
    run.interrupted = crew.finished() < static_cast<int>(jobs.size());
  }
  run.wall_time = seconds_since(begin);
  return run;
}

}  // namespace tendril::tables
