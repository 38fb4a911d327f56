#pragma once

#include <mujoco/mujoco.h>

#include <array>
#include <limits>
#include <optional>
#include <vector>

namespace tendril::simulation {

/// Geoms that an image must show, as far as they are drawn (see image_options): those of robots;
/// without a robot those of moving bodies.
[[nodiscard]] std::vector<int> geoms_to_show(const mjModel& model);

/// A corner of the box around a geom in the world frame; poses must have been computed.
/// @param corner  0 to 7
void geom_corner(const mjModel& model, const mjData& data, int geom, int corner, mjtNum point[3]);

/// Tells whether a point is inside an image.
/// @param aspect  width / height of the image
[[nodiscard]] bool is_in_image(const mjvGLCamera& eye, double aspect, const mjtNum point[3]);

/// The nearest free camera that looks in the direction of another one and has a set of points
/// inside its image. With coordinates (x, y, z) along right, up and forward, a camera at c sees
/// the point p with tangents a, b of half its angles of view if
///
///     |x - c_x| <= a (z - c_z)  and  |y - c_y| <= b (z - c_z),
///
/// which is linear in c: the largest c_z is half the sum of the smallest a z - x and a z + x of all
/// points, divided by a; the same of y; and c_x, c_y halve what remains.
class Framing {
 public:
  /// @param data  with the poses of cameras (mj_camlight)
  Framing(const mjModel& model, const mjData& data, const mjvCamera& like, double aspect);

  void add(const mjtNum point[3]);

  /// Adds the corners of what a camera shows at the distance of the model's center.
  void add_image(const mjModel& model, const mjvGLCamera& eye);

  /// No value without points, or if the engine would not draw the farthest one.
  [[nodiscard]] std::optional<mjvCamera> camera() const;

 private:
  mjvCamera camera_;  // with the direction of the result
  double aspect_;
  mjtNum forward_[3], up_[3], right_[3];
  double near_, far_;             // planes between which the engine draws
  double tangent_x_, tangent_y_;  // of half the angles of view, less the margin
  double least_x_[2], least_y_[2], nearest_, farthest_;
};

/// View of a camera that nobody has placed: robots, all else that moves, and targets (mocap
/// bodies) at all instants that were added; and of what is stationary the bodies that one of these
/// comes near to, unless they are larger than all of them together: a shelf, but no floor and no
/// wall of a room. Geoms of the world are judged one by one. Tested by: framing_test.
class Subject {
 public:
  /// @param near_to  distance that is near, of the size of what moves: the diagonal of the box
  /// around it
  explicit Subject(const mjModel& model, double near_to = 0.1);

  /// Adds an instant.
  /// @param data  with the poses of geoms (mj_kinematics)
  void add(const mjData& data);

  /// Adds room for motions that are still to come: to each side some of the size of what moves.
  void add_room(double fraction);

  /// Geoms of what is stationary and is shown.
  /// @param data  with the poses of geoms
  [[nodiscard]] std::vector<int> surroundings(const mjData& data) const;

  /// Adds all of it to a camera's image.
  void add_to(Framing& framing, const mjData& data) const;

 private:
  using Point = std::array<mjtNum, 3>;
  struct Sphere {
    Point center;
    double radius;
  };

  const mjModel* model_;
  double near_;
  std::vector<int> moving_;
  std::vector<std::vector<int>> still_;  ///< geoms by body, those of the world each alone
  std::vector<Sphere> spheres_;          ///< around moving geoms, of all instants
  std::vector<Point> corners_;           ///< of the boxes around them
  std::vector<Point> room_;
};

/// The nearest free camera in the direction of another one that shows a scene as it is, before
/// a run: with room for motions, and with all obstacles about as far as what moves is large.
/// @param data  with the poses of geoms and cameras
[[nodiscard]] mjvCamera scene_camera(const mjModel& model, const mjData& data,
                                     const mjvCamera& like, double aspect);

/// A scene's camera if it shows all of the robots as they are, else the nearest free one in its
/// direction that does and shows also what it shows (Framing::add_image).
[[nodiscard]] mjvCamera complete_camera(const mjModel& model, const mjData& data,
                                        const mjvCamera& own, double aspect);

}  // namespace tendril::simulation
