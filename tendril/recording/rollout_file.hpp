#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace tendril {

/// Thrown when a recording cannot be created, written or read; the message names the file and the
/// reason.
class RolloutError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Thrown when a file is no recording, or a truncated or damaged one: the user named the wrong file
/// or lost part of it.
class RolloutFormatError : public RolloutError {
 public:
  using RolloutError::RolloutError;
};

/// Thrown when a recording is truncated or damaged.
class RolloutDamageError : public RolloutFormatError {
 public:
  using RolloutFormatError::RolloutFormatError;
};

/// Sizes of one row, from the model.
struct RolloutLayout {
  int nq = 0, nv = 0, nu = 0, na = 0, nsensordata = 0, npluginstate = 0, nmocap = 0;
  int nintegration = 0;             ///< size of the mjSTATE_INTEGRATION vector
  int integration_interval = 1000;  ///< rows between two full states
};

/// Attributes of a rollout as a whole: numbers are attributes of `/rollout_0`, texts are datasets
/// in
/// `/rollout_0/texts`.
/// Keys in use: `model_xml`, `experiment`, `scene_files/<name>`, `command_line`, `seed`,
/// `tendril_version`, `mujoco_version`, `timestep`, tables of names such as `sensors`…
using RolloutAttributes = std::map<std::string, std::variant<std::string, std::int64_t, double>>;

/// One contact point of one step.
struct ContactRow {
  std::int32_t geom1 = -1, geom2 = -1;
  double distance = 0.0;    ///< [m], negative: penetration
  double position[3] = {};  ///< world frame [m]
  double force[3] = {};     ///< contact frame: normal, tangent 1, tangent 2 [N]
};

/// One row: the state *after* step `step` (row 0: before the first), and what the engine computed
/// in that step. The views need only live during `append`.
struct RolloutRow {
  std::int64_t step = 0;
  double time = 0.0;
  double step_time_us = 0.0;  ///< wall time of the step, for the report; replay does not compare it
  std::span<const double> qpos, qvel, ctrl, act, sensordata, plugin_state, mocap_pos, mocap_quat;
  std::span<const ContactRow> contacts;
  std::span<const double>
      integration_state;  ///< mjSTATE_INTEGRATION; empty except every `integration_interval` rows
};

/// Takes the rows of one rollout.
class RowSink {
 public:
  virtual ~RowSink() = default;
  RowSink() = default;
  RowSink(const RowSink&) = delete;
  RowSink& operator=(const RowSink&) = delete;

  virtual void append(const RolloutRow& row) = 0;
  /// Closes the file after the last row; `outcome` (e.g. "done", "diverged: …") becomes the
  /// attribute `outcome`.
  virtual void close(const std::string& outcome) = 0;
};

/// Writes one rollout to an HDF5 file in SWMR mode: `/rollout_0/{time,step,qpos,…}`; the layout is
/// docs/reference/recording_file.md. `append` copies into memory of fixed size; full blocks are
/// compressed and written to the file by a thread of the writer's own, so that the step loop pays
/// for a copy. A killed process loses no row that `flush` (called at every block) has put out.
class RolloutWriter final : public RowSink {
 public:
  /// Creates `file`; model_mjb is the binary model, stored as a dataset. Throws RolloutError.
  RolloutWriter(const std::filesystem::path& file, const RolloutLayout& layout,
                const RolloutAttributes& attributes, std::span<const std::byte> model_mjb);
  ~RolloutWriter() override;

  /// Throws RolloutError when an earlier block could not be written (disk full).
  void append(const RolloutRow& row) override;

  /// Writes what is pending and closes the file.
  void close(const std::string& outcome) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Treatment of damage outside the rows.
enum class Damage {
  Refuse,   ///< throws RolloutDamageError
  Tolerate  ///< leaves attributes and texts out that cannot be read
};

/// Reads a recording, finished or not (also of a process that was killed). Throws
/// RolloutDamageError for damage, in `row` too, and RolloutFormatError for a file that is no
/// recording.
class RolloutReader {
 public:
  explicit RolloutReader(const std::filesystem::path& file, Damage damage = Damage::Refuse);
  ~RolloutReader();

  [[nodiscard]] const std::filesystem::path& file() const;
  [[nodiscard]] const RolloutLayout& layout() const;
  /// Attributes as text; a number is written with the digits that give it back.
  [[nodiscard]] const std::map<std::string, std::string>& attributes() const;
  [[nodiscard]] std::int64_t row_count() const;  ///< complete rows in every dataset
  /// Tells whether the writer closed the file; otherwise it still writes, or its process was
  /// killed.
  [[nodiscard]] bool is_finished() const;
  /// Throws RolloutFormatError if there are no rows, with the reason.
  void require_rows() const;
  [[nodiscard]] std::vector<std::byte> model_mjb() const;

  static constexpr std::int64_t kBlockRows = 256;

  /// Owned copy of one row; `integration_state` is filled where one was stored.
  struct Row {
    std::int64_t step = 0;
    double time = 0.0, step_time_us = 0.0;
    std::vector<double> qpos, qvel, ctrl, act, sensordata, plugin_state, mocap_pos, mocap_quat,
        integration_state;
    std::vector<ContactRow> contacts;

    /// Returns the row as the writer takes it; valid while the row is.
    [[nodiscard]] RolloutRow view() const noexcept {
      return {step,       time,     step_time_us,     qpos,         qvel,
              ctrl,       act,      sensordata,       plugin_state, mocap_pos,
              mocap_quat, contacts, integration_state};
    }
  };
  /// Row `index` in [0, row_count()); reads blocks of kBlockRows, cheap in order.
  [[nodiscard]] const Row& row(std::int64_t index);
  /// Row indices at which an integration state is stored.
  [[nodiscard]] std::vector<std::int64_t> integration_rows() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tendril
