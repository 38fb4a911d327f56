#include <kdl/chain.hpp>
#include <kdl/chainfksolverpos_recursive.hpp>
#include <kdl/chainiksolverpos_lma.hpp>
#include <kdl/chainiksolverpos_nr_jl.hpp>
#include <kdl/chainiksolvervel_pinv_givens.hpp>
#include <memory>

#include "link_chain.hpp"

namespace tendril {
namespace {

/// The chain with lengths times `scale`: KDL's solvers have one tolerance for meters and radians.
KDL::Chain kdl_chain(const LinkChain& chain, double scale) {
  const auto offset = [&](double length) { return KDL::Frame(KDL::Vector(0, 0, scale * length)); };
  KDL::Chain result;
  result.addSegment(KDL::Segment(KDL::Joint(KDL::Joint::Fixed), offset(chain.hinge_offset(0))));
  for (int j = 0; j < chain.joints(); ++j)
    result.addSegment(KDL::Segment(
        KDL::Joint(chain.about_x(j) ? KDL::Joint::RotX : KDL::Joint::RotY),
        offset(j + 1 < chain.joints() ? chain.hinge_offset(j + 1) : 0.5 * chain.link_length())));
  return result;
}

KDL::Frame kdl_frame(const Eigen::Isometry3d& X, double scale) {
  const Eigen::Matrix3d& R = X.linear();
  const Eigen::Vector3d p = scale * X.translation();
  return {KDL::Rotation(R(0, 0), R(0, 1), R(0, 2), R(1, 0), R(1, 1), R(1, 2), R(2, 0), R(2, 1),
                        R(2, 2)),
          KDL::Vector(p.x(), p.y(), p.z())};
}

/// Levenberg-Marquardt with KDL's default budget and, at `length_scale` 1, its default weights and
/// accuracy, which are our tolerances. Its initial damping suits arms of 0.5 to 3 m, so that the
/// chain scaled to that size is the easier case. It has no joint limits. Its weights are in the
/// base frame: roll about the tip's axis cannot be left free, so the target has the roll of the
/// pose that generated it.
struct Lma {
  Lma(const LinkChain& links, TipTask task, double length_scale)
      : scale(length_scale), chain(kdl_chain(links, scale)), solution(chain.getNrOfJoints()) {
    Eigen::Matrix<double, 6, 1> weights = Eigen::Matrix<double, 6, 1>::Zero();
    weights.head<3>().setConstant(1.0);
    if (task == TipTask::PositionAndDirection)
      weights.tail<3>().setConstant(scale * kPositionTolerance / kAngleTolerance);
    solver =
        std::make_unique<KDL::ChainIkSolverPos_LMA>(chain, weights, scale * kPositionTolerance);
  }
  void solve(const TipTarget& target, Eigen::VectorXd& angles) {
    start.data = angles;
    solver->CartToJnt(start, kdl_frame(target.X_BG, scale), solution);
    angles = solution.data;
  }

  double scale;
  KDL::Chain chain;
  KDL::JntArray start, solution;
  std::unique_ptr<KDL::ChainIkSolverPos_LMA> solver;
};

/// Newton-Raphson with joint limits, with the best and fastest of KDL's velocity solvers for this
/// task. Lengths are in units of 1 cm, for which the solver's single tolerance equals ours for
/// position and angle.
struct NewtonRaphson {
  explicit NewtonRaphson(const LinkChain& links)
      : chain(kdl_chain(links, kScale)),
        start(chain.getNrOfJoints()),
        solution(chain.getNrOfJoints()),
        low(chain.getNrOfJoints()),
        high(chain.getNrOfJoints()),
        position(chain),
        velocity(chain),
        solver(chain, filled(low, -links.hinge_limit()), filled(high, links.hinge_limit()),
               position, velocity, kMaxIterations, kAngleTolerance / std::sqrt(3.0)) {}
  void solve(const TipTarget& target, Eigen::VectorXd& angles) {
    start.data = angles;
    solver.CartToJnt(start, kdl_frame(target.X_BG, kScale), solution);
    angles = solution.data;
  }

 private:
  static constexpr double kScale = kAngleTolerance / kPositionTolerance;
  static constexpr unsigned kMaxIterations = 100;  // KDL's default

  static const KDL::JntArray& filled(KDL::JntArray& array, double value) {
    array.data.setConstant(value);
    return array;
  }

  KDL::Chain chain;
  KDL::JntArray start, solution, low, high;
  KDL::ChainFkSolverPos_recursive position;
  KDL::ChainIkSolverVel_pinv_givens velocity;
  KDL::ChainIkSolverPos_NR_JL solver;
};

template <class Solver>
Peer peer(std::string name, std::shared_ptr<Solver> solver) {
  return {std::move(name), [solver](const TipTarget& target, Eigen::VectorXd& angles) {
            solver->solve(target, angles);
          }};
}

}  // namespace

std::vector<Peer> kdl_peers(const LinkChain& chain, TipTask task) {
  std::vector<Peer> peers;
  peers.push_back(peer("kdl_lma", std::make_shared<Lma>(chain, task, 1.0)));
  peers.push_back(peer("kdl_lma_scaled", std::make_shared<Lma>(chain, task, 10.0)));
  if (task == TipTask::PositionAndDirection)
    peers.push_back(peer("kdl_nr_jl", std::make_shared<NewtonRaphson>(chain)));
  return peers;
}

}  // namespace tendril
