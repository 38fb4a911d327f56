#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tendril/ik/ik_result.hpp"
#include "tendril/ik/section_map.hpp"

namespace tendril {

/// Any tip solver behind one type: what programs hold that let their user choose by name. Copies
/// are independent of each other. One solver serves one thread.
class AnySolver {
 public:
  template <class Solver>
  requires(!std::is_same_v<Solver, AnySolver>) && IkSolver<Solver> explicit AnySolver(Solver solver)
      : held_(std::make_unique<Holder<Solver>>(std::move(solver))) {}

  AnySolver(const AnySolver& other) : held_(other.held_->copy()) {}
  AnySolver(AnySolver&&) noexcept = default;
  AnySolver& operator=(AnySolver other) noexcept {
    held_ = std::move(other.held_);
    return *this;
  }
  ~AnySolver() = default;

  /// Solves with the solver held; allocates and throws nothing.
  [[nodiscard]] IkResult solve(const TipTarget& target, SectionStates start,
                               const BaseState& base = {}) noexcept {
    return held_->solve(target, start, base);
  }
  [[nodiscard]] const ContinuumRobot& robot() const noexcept { return held_->robot(); }

 private:
  struct Held {
    virtual ~Held() = default;
    [[nodiscard]] virtual IkResult solve(const TipTarget& target, SectionStates start,
                                         const BaseState& base) noexcept = 0;
    [[nodiscard]] virtual const ContinuumRobot& robot() const noexcept = 0;
    [[nodiscard]] virtual std::unique_ptr<Held> copy() const = 0;
  };
  template <class Solver>
  struct Holder final : Held {
    explicit Holder(Solver held) : solver(std::move(held)) {}
    IkResult solve(const TipTarget& target, SectionStates start,
                   const BaseState& base) noexcept override {
      return solver.solve(target, start, base);
    }
    const ContinuumRobot& robot() const noexcept override { return solver.robot(); }
    std::unique_ptr<Held> copy() const override { return std::make_unique<Holder>(*this); }
    Solver solver;
  };

  std::unique_ptr<Held> held_;
};

/// Options that every solver takes.
struct SolverOptions {
  int max_iterations = 0;             ///< >= 1; 0: the solver's own default
  double position_tolerance = 1e-5;   ///< [m], > 0
  double angle_tolerance = 1e-3;      ///< [rad], > 0
  std::optional<int> max_restarts{};  ///< >= 0, 0: only from the start; nothing: the solver's own
                                      ///< default. Solvers without restarts ignore it.
  bool feed_base = true;  ///< the base feed is solved for too, within [0, feed_limit] of the robot;
                          ///< false: taken as given, as by solvers of methods without base shift
  std::vector<SectionMap> section_maps = {};  ///< of FABRIKx, `FabrikxOptions::section_maps`; the
                                              ///< other solvers refuse them
};

enum class SolverGroup : std::uint8_t {
  Recommended,  ///< for use
  Published,    ///< methods of the literature, kept to compare with
};

/// A solver that can be made by name.
struct SolverInfo {
  const char* name;  ///< as users write it
  SolverGroup group;
  const char* summary;          ///< one line
  bool meets_roll = false;      ///< TipTask::Pose; else such targets are invalid
  bool single_section = false;  ///< of robots of one section; others are refused
  bool keeps_planes = false;    ///< of sections that bend in one plane; other solvers refuse them,
                                ///< but take planar robots
};

/// Every solver of the library: the default, the other recommended ones, then the published ones.
/// What lists solvers (the program's help, the laws in tests/ik/solver_laws_test.cpp, the settings
/// of controllers) reads them here, so that a new solver is its header, its source, its two lines
/// in tendril/CMakeLists.txt and its row in any_solver.cpp.
[[nodiscard]] std::span<const SolverInfo> solver_infos() noexcept;

/// Returns the row of a solver's name. Throws ModelError for another name (the text lists those
/// that there are).
[[nodiscard]] const SolverInfo& solver_info(const std::string& name);

/// The solver called `name`, one of `solver_infos()`. Throws ModelError for another name (the text
/// lists those that there are) and for options or robots that the solver refuses.
[[nodiscard]] AnySolver make_solver(const std::string& name, const ContinuumRobot& robot,
                                    const SolverOptions& options = {});

}  // namespace tendril
