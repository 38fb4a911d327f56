#include "controllers/interface/fields.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "controllers/interface/arm_controller.hpp"
#include "controllers/interface/mobile_controller.hpp"
#include "controllers/interface/snake_controller.hpp"

using namespace tendril;

namespace {

constexpr RobotSizes kSizes{7, 3};

/// Names are unique, and vectors and matrices have the shapes that their rows declare.
template <class S>
void check_fields(const S& owner) {
  INFO(S::kName);
  std::set<std::string> names;
  for_each_field<S>([&](const auto& field) {
    INFO(field.name);
    CHECK(names.insert(field.name).second);
    using T = FieldType<S, std::remove_cvref_t<decltype(field)>>;
    if constexpr (is_sized<T>) {
      CHECK(field.of(owner).rows() == field.shape.rows.of(kSizes));
      CHECK(field.of(owner).cols() == field.shape.columns.of(kSizes));
      CHECK(field.of(owner).isZero(0.0));
      CHECK(field.of(owner).size() > 0);
    }
  });
}

/// Shape of a field by its name, as documents show it.
template <class S>
std::string shape_of(const std::string& name) {
  std::string text;
  for_each_field<S>([&](const auto& field) {
    using T = FieldType<S, std::remove_cvref_t<decltype(field)>>;
    if (name == field.name) text = shape_text<T>(field.shape);
  });
  return text;
}

}  // namespace

TEST_CASE("fields: a measurement and a command have the sizes that their rows declare",
          "[fields]") {
  check_fields(ArmMeasurement(kSizes));
  check_fields(ArmCommand(kSizes));
  check_fields(SnakeMeasurement(kSizes));
  check_fields(SnakeCommand(kSizes));
  check_fields(MobileMeasurement(kSizes));
  check_fields(MobileCommand(kSizes));
  check_fields(MeasuredContact());
}

TEST_CASE("fields: shapes are shown by types and rows", "[fields]") {
  CHECK(shape_of<ArmMeasurement>("q") == "(n,)");
  CHECK(shape_of<ArmMeasurement>("tendon_length") == "(t,)");
  CHECK(shape_of<ArmMeasurement>("tip_jacobian") == "(6, n + 2)");
  CHECK(shape_of<ArmMeasurement>("uneven_deflection") == "(3, n)");
  CHECK(shape_of<ArmMeasurement>("tip") == "(4, 4)");
  CHECK(shape_of<ArmMeasurement>("gravity_deflection") == "(3,)");
  CHECK(shape_of<MobileMeasurement>("base") == "(3,)");
  CHECK(shape_of<ArmMeasurement>("time").empty());
  CHECK(shape_of<ArmMeasurement>("contacts").empty());
}

TEST_CASE("fields: a field can be part of a member", "[fields]") {
  ArmCommand command(kSizes);
  for_each_field<ArmCommand>([&](const auto& field) {
    if constexpr (std::is_same_v<FieldType<ArmCommand, std::remove_cvref_t<decltype(field)>>,
                                 double>)
      if (std::string(field.name) == "spin") field.of(command) = 0.5;
  });
  CHECK(command.base.spin == 0.5);
  CHECK(command.base.feed == 0.0);
}
