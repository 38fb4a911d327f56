"""Kinematics and inverse kinematics of one continuum robot in many poses, on one device."""

import functools
import types
from typing import Any, NamedTuple

import warp as wp

import tendril
from tendril.worlds import fabrikx, kinematics
from tendril.worlds import solver as solvers


class Solution(NamedTuple):
    """What `BatchKinematics.solve` found: arrays on the device with one item for each world, overwritten by the next
    solve. Where the target is not met, the pose of least position error at the end of a descent."""

    coordinates: wp.array  # (count, robot.coordinate_count), inside the limits
    feed: wp.array  # of the base, m
    met: wp.array  # whether both errors are within tolerance
    iterations: wp.array  # tip poses evaluated
    position_error: wp.array  # m
    angle_error: wp.array  # rad; 0 without a direction


class BatchKinematics:
    """The tip and the inverse kinematics of `count` poses of a robot.

    Arrays are Warp's, or any on the same device that DLPack gives Warp without a copy (NumPy, PyTorch, JAX), of
    `dtype`, one row for each world. Coordinates are those of `ContinuumRobot.coordinates`: u, v and, if it is
    extensible, s of each section. Results are in the robot's base frame, in arrays that the instance owns and the
    next call overwrites. No call allocates memory on the device or waits for it; the first one compiles its kernel.
    """

    def __init__(
        self,
        robot: tendril.ContinuumRobot,
        count: int,
        device: Any = None,
        dtype: type = wp.float32,
        requires_grad: bool = False,
        solver: str = "auto",
    ) -> None:
        """
        :param robot: a tendril.ContinuumRobot whose sections bend, without turning on their bases
        :param count: of worlds, >= 1
        :param device: of Warp; none: its default
        :param dtype: wp.float32 or wp.float64
        :param requires_grad: `tip_pose` and `jacobian` can be recorded on a wp.Tape, each once
        :param solver: of `solve`: "auto" or "fabrikx"
        :raises ModelError: an argument outside its range
        """
        if dtype not in (wp.float32, wp.float64):
            raise tendril.ModelError(f"dtype = {dtype!r}, must be wp.float32 or wp.float64")
        if count < 1:
            raise tendril.ModelError(f"count = {count}, must be >= 1")
        if solver not in ("auto", "fabrikx"):
            raise tendril.ModelError(f"solver = '{solver}', must be auto or fabrikx on a device")
        for number, section in enumerate(robot.sections, 1):
            if section.rotation != "bending":
                raise tendril.ModelError(
                    f"section {number}: rotation = '{section.rotation}', must be 'bending' on a device"
                )
        if solver == "fabrikx":
            tendril.Solver(robot, solver)  # refuses sections that it does not keep in their planes
        self.robot, self.count, self.device, self.dtype = robot, count, wp.get_device(device), dtype
        self.chain = kinematics.chain_of(robot, dtype, self.device)  #: for kernels of one's own
        self._work = solvers.work_for(robot, count, dtype, self.device)
        self._reaching = fabrikx.reaching_for(robot, count, dtype, self.device) if solver == "fabrikx" else None
        f = kinematics.functions(dtype)

        def array(*shape: int, kind: type = dtype) -> wp.array:
            return wp.zeros((count, *shape), dtype=kind, device=self.device, requires_grad=requires_grad)

        self._zero = wp.zeros(count, dtype=dtype, device=self.device)
        self._rotations = array(len(robot.sections) + 1, kind=f.mat33)
        self._ends = array(len(robot.sections) + 1, kind=f.vec3)
        self._poses = array(4, 4)
        self._jacobian = array(6, robot.coordinate_count)

    def tip_pose(self, coordinates: Any, feed: Any = None, spin: Any = None) -> wp.array:
        """Poses of the tip, (count, 4, 4).

        :param coordinates: (count, robot.coordinate_count)
        :param feed: of the base, (count,), m; none: 0
        :param spin: of the base, (count,), rad; none: 0
        """
        frames = [self._rotations, self._ends]
        self._launch("tip_pose", [*self._configuration(coordinates, feed, spin), *frames, self._poses])
        return self._poses

    def jacobian(self, coordinates: Any, feed: Any = None, spin: Any = None) -> wp.array:
        """Jacobians of the tip, (count, 6, robot.coordinate_count): rows 0 to 2 of its position, 3 to 5 of its z axis.

        Arguments as `tip_pose`.
        """
        frames = [self._rotations, self._ends]
        self._launch("jacobian", [*self._configuration(coordinates, feed, spin), *frames, self._jacobian])
        return self._jacobian

    def solve(
        self,
        targets: Any,
        start: Any = None,
        iterations: int = 3000,
        *,
        feed: Any = None,
        spin: Any = None,
        position_tolerance: float = 1e-5,
        angle_tolerance: float = 1e-3,
        restarts: int = 1000,
        seed: int = 1,
    ) -> Solution:
        """Coordinates that bring the tip to the targets, as tendril.Solver finds them; "auto" without its search for
        the closest pose. A world's solution does not depend on the others.

        :param targets: positions (count, 3), m, or poses (count, 4, 4), of which position and z axis are met
        :param start: (count, robot.coordinate_count), clamped to the limits; none: the straight robot
        :param iterations: of one target at most, >= 1; a target that is met takes no more
        :param feed: where the base starts, (count,), m, clamped to [0, feed_limit]; none: 0. It is solved for
        :param spin: of the base, (count,), rad, which the solution keeps; none: 0
        :param position_tolerance: m, > 0
        :param angle_tolerance: rad, > 0
        :param restarts: of "auto", from random poses, >= 0; 0 for tracking
        :param seed: of these poses, >= 0
        :raises ModelError: an argument outside its range; a target that is not finite is not met instead
        """
        for name, value, least in (("iterations", iterations, 1), ("restarts", restarts, 0), ("seed", seed, 0)):
            if value < least:
                raise tendril.ModelError(f"{name} = {value}, must be >= {least}")
        for name, value in (("position_tolerance", position_tolerance), ("angle_tolerance", angle_tolerance)):
            if not value > 0.0:
                raise tendril.ModelError(f"{name} = {value}, must be > 0")
        work, device_solver = self._work, solvers.solver_functions(self.dtype)
        wp.copy(work.feed, self._base("feed", feed))
        wp.copy(work.spin, self._base("spin", spin))
        if start is not None:
            wp.copy(work.pose, self._array("start", start, (self.robot.coordinate_count,)))
        budget = device_solver.Budget()
        budget.iterations, budget.restarts, budget.seed = iterations, restarts, wp.uint64(seed)
        budget.position_tolerance, budget.angle_tolerance = position_tolerance, angle_tolerance
        budget.least_progress = solvers.LEAST_PROGRESS
        goals = self._array("targets", targets, (3,), (4, 4)).reshape((self.count, -1))
        if self._reaching is None:
            self._launch("solve", [self.chain, goals, start is None, budget, work])
        else:
            self._launch("reach", [self.chain, goals, start is None, budget, self._reaching, work])
        return Solution(work.pose, work.feed, work.met, work.iterations, work.position_error, work.angle_error)

    def _launch(self, name: str, inputs: list[Any]) -> None:
        wp.launch(getattr(_kernels(self.dtype), name), self.count, inputs=inputs, device=self.device)

    def _configuration(self, coordinates: Any, feed: Any, spin: Any) -> tuple[Any, ...]:
        rows = self._array("coordinates", coordinates, (self.robot.coordinate_count,))
        return self.chain, rows, self._base("feed", feed), self._base("spin", spin)

    def _base(self, name: str, value: Any) -> wp.array:
        return self._zero if value is None else self._array(name, value, ())

    def _array(self, name: str, value: Any, *items: tuple[int, ...]) -> wp.array:
        """`value` as an array of numbers of one of the shapes (count, *item)."""
        if not hasattr(value, "__dlpack__"):
            raise tendril.ModelError(f"{name}: type = {type(value).__name__}, must be an array of Warp or with DLPack")
        array = value if isinstance(value, wp.array) and value.dtype == self.dtype else wp.from_dlpack(value)
        if array.dtype != self.dtype:
            raise tendril.ModelError(f"{name}: dtype = {array.dtype.__name__}, must be {self.dtype.__name__}")
        if array.device != self.device:
            raise tendril.ModelError(f"{name}: device = {array.device}, must be {self.device}")
        shapes = [(self.count, *item) for item in items]
        if array.shape not in shapes:
            raise tendril.ModelError(f"{name}: shape = {array.shape}, must be {' or '.join(map(str, shapes))}")
        return array


@functools.cache
def _kernels(dtype: type) -> types.SimpleNamespace:
    f, s, x = kinematics.functions(dtype), solvers.solver_functions(dtype), fabrikx.fabrikx_functions(dtype)
    vec3, mat33, Chain, Budget, Work, Goal = f.vec3, f.mat33, f.Chain, s.Budget, s.Work, s.Goal
    end_frames, write_jacobian, straight_start = f.end_frames, f.tip_jacobian, s.straight_start
    Reaching, solve_one, reach_one = x.Reaching, s.solve, x.reach
    numbers, rows, tables = wp.array(dtype=dtype), wp.array2d(dtype=dtype), wp.array3d(dtype=dtype)
    rotation_rows, end_rows = wp.array2d(dtype=mat33), wp.array2d(dtype=vec3)
    one, least_length = dtype(1.0), dtype(1e-30)

    @wp.kernel(module="unique")
    def tip_pose(
        chain: Chain,
        coordinates: rows,
        feed: numbers,
        spin: numbers,
        rotations: rotation_rows,
        ends: end_rows,
        poses: tables,
    ):
        world = wp.tid()
        end_frames(chain, coordinates[world], feed[world], spin[world], rotations[world], ends[world])
        R, tip = rotations[world, chain.sections], ends[world, chain.sections]
        for r in range(3):
            for c in range(3):
                poses[world, r, c] = R[r, c]
            poses[world, r, 3] = tip[r]
        poses[world, 3, 3] = one

    @wp.kernel(module="unique")
    def jacobian(
        chain: Chain,
        coordinates: rows,
        feed: numbers,
        spin: numbers,
        rotations: rotation_rows,
        ends: end_rows,
        jacobians: tables,
    ):
        world = wp.tid()
        end_frames(chain, coordinates[world], feed[world], spin[world], rotations[world], ends[world])
        write_jacobian(chain, coordinates[world], rotations[world], ends[world], jacobians[world])

    @wp.func
    def begin(chain: Chain, target: numbers, starts_straight: bool, work: Work, world: int):
        goal = Goal()
        goal.has_direction = target.shape[0] == 16
        if goal.has_direction:
            goal.position = vec3(target[3], target[7], target[11])
            direction = vec3(target[2], target[6], target[10])
            goal.direction = direction / wp.max(wp.length(direction), least_length)
        else:
            goal.position = vec3(target[0], target[1], target[2])
        if starts_straight:
            straight_start(chain, goal, work.feed[world], work.pose[world])
        return goal

    @wp.kernel(module="unique", enable_backward=False)
    def solve(chain: Chain, targets: rows, starts_straight: bool, budget: Budget, work: Work):
        world = wp.tid()
        goal = begin(chain, targets[world], starts_straight, work, world)
        solve_one(chain, goal, budget, work, world)

    @wp.kernel(module="unique", enable_backward=False)
    def reach(chain: Chain, targets: rows, starts_straight: bool, budget: Budget, reaching: Reaching, work: Work):
        world = wp.tid()
        goal = begin(chain, targets[world], starts_straight, work, world)
        reach_one(chain, goal, budget, reaching, work, world)

    return types.SimpleNamespace(tip_pose=tip_pose, jacobian=jacobian, solve=solve, reach=reach)
