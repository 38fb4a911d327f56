#include "tendril/kinematics/actuation.hpp"

#include <Eigen/QR>

namespace tendril {

Eigen::MatrixXd Actuation::projector() const {
  return directions *
         Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd>(directions).pseudoInverse();
}

}  // namespace tendril
