"""Content that a recording shows: bodies, geoms, contacts, drawings, plots."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tendril._recorded import RecordedRun
from tendril.playback.blob import Blob, quantized, rounded
from tendril.report.labels import actuator_rows, unit_of

Array = npt.NDArray[Any]
PLOT_POINTS = 600  # of a line
DRAWINGS = 200  # moments, at most, at which what the controllers draw is taken
READ_FOR_DRAWINGS = 256_000_000  # bytes, so that the page of a long run with much memory is made in a second
LONGEST_CHAIN_BEND = math.radians(25)  # between two links of what is drawn as one smooth body
VISIBLE_GROUPS = (0, 1, 2)  # of geoms: those that the engine shows by default
PLANE, HEIGHT_FIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH = range(8)  # mjtGeom
ERRORS = ("tip_error", "path_error")  # quantities plotted at once


def _stacked(moments: list[Array], count: int) -> Array:
    """Returns the segments of several moments as one array (count, most, 7), NaN where a moment has fewer."""
    whole = np.full((count, max(len(part) for part in moments), 7), np.nan)
    for i, part in enumerate(moments):
        whole[i, : len(part)] = part
    return whole


class RecordedScene:
    """Model and data of a recording, its bodies, geoms and the poses of the frames."""

    def __init__(self, recording: RecordedRun, rows: Array) -> None:
        import mujoco

        self.recording, self.rows, self.mujoco = recording, rows, mujoco
        recording.require_states(rows)
        self.model: Any = recording.load_model(unknown_do_nothing=True)
        self.data: Any = mujoco.MjData(self.model)
        model = self.model
        moves = np.zeros(model.nbody, bool)
        for body in range(1, model.nbody):
            moves[body] = (
                moves[model.body_parentid[body]] or model.body_jntnum[body] > 0 or model.body_mocapid[body] >= 0
            )
        self.moving = np.flatnonzero(moves)
        in_skin = np.isin(model.geom_bodyid, model.skin_bonebodyid) & (model.geom_contype != 0)  # skins are left out
        shown = (np.isin(model.geom_group, VISIBLE_GROUPS) | in_skin) & (self.colors()[:, 3] > 0.01)
        self.geoms = np.flatnonzero(shown & (model.geom_type <= MESH))
        self.place(int(rows[0]))
        mujoco.mj_camlight(model, self.data)
        self.static_pos = self.data.geom_xpos.copy()
        self.static_quat = self._quaternions(self.data.geom_xmat)
        # A body without anything to see needs no poses.
        seen = set(model.geom_bodyid[self.geoms]) | set(model.cam_bodyid)
        self.moving = np.array([body for body in self.moving if body in seen], int)
        self.positions = np.empty((len(rows), len(self.moving), 3))
        self.quaternions = np.empty((len(rows), len(self.moving), 4))
        for i, row in enumerate(rows):
            self.place(int(row))
            self.positions[i], self.quaternions[i] = self.data.xpos[self.moving], self.data.xquat[self.moving]
        # One of the two quaternions of a rotation: the one next to that of the frame before.
        flips = np.sum(self.quaternions[1:] * self.quaternions[:-1], axis=2) < 0
        self.quaternions[1:] *= np.where(np.cumsum(flips, axis=0) % 2, -1.0, 1.0)[:, :, None]

    def place(self, row: int, mocap: int | None = None) -> None:
        """Poses of all bodies at a row."""
        recording, data = self.recording, self.data
        data.qpos[:] = recording.qpos[row]
        if self.model.nmocap:
            data.mocap_pos[:] = recording.mocap_pos[row if mocap is None else mocap]
            data.mocap_quat[:] = recording.mocap_quat[row if mocap is None else mocap]
        self.mujoco.mj_kinematics(self.model, data)

    def _quaternions(self, matrices: Array) -> Array:
        out = np.empty((len(matrices), 4))
        for quat, matrix in zip(out, matrices, strict=True):
            self.mujoco.mju_mat2Quat(quat, matrix.ravel())
        return out

    def colors(self) -> Array:
        """(geoms, 4)"""
        model = self.model
        colors = model.geom_rgba.copy()
        default = np.all(colors == np.array([0.5, 0.5, 0.5, 1.0], np.float32), axis=1) & (model.geom_matid >= 0)
        colors[default] = model.mat_rgba[model.geom_matid[default]]
        return colors  # type: ignore[no-any-return]

    # ---- geoms ------------------------------------------------------------------------------------------------------

    def geometry(self, blob: Blob) -> dict[str, Any]:
        """Geoms as `[type, body, mesh]` and a table of numbers; meshes; chains."""
        model, index = self.model, {int(body): i for i, body in enumerate(self.moving)}
        colors = self.colors()
        robot = self._is_robot
        rows, numbers = [], []
        meshes: dict[tuple[int, int], int] = {}
        for geom in self.geoms:
            kind, body = int(model.geom_type[geom]), index.get(int(model.geom_bodyid[geom]), -1)
            mesh = -1
            size = model.geom_size[geom].copy()
            textured = 0
            if kind in (MESH, HEIGHT_FIELD):
                key = (kind, int(model.geom_dataid[geom]))
                mesh = meshes.setdefault(key, len(meshes))
                size[:] = 1
            if kind == PLANE and (material := int(model.geom_matid[geom])) >= 0:
                textured = int(np.any(model.mat_texid[material] >= 0))
            pose = (
                (model.geom_pos[geom], model.geom_quat[geom])
                if body >= 0
                else (self.static_pos[geom], self.static_quat[geom])
            )
            rows.append([kind, body, mesh, textured, int(robot[geom])])
            numbers.append([*pose[0], *pose[1], *size, *colors[geom]])
        if rows:
            blob.add("geoms", np.array(numbers, np.float32).T)
        for (kind, number), mesh in meshes.items():
            points, faces = self.mesh(kind, number)
            low, high = points.min(axis=0), points.max(axis=0)
            blob.add(f"points{mesh}", quantized(points, low, high).T, 1)
            blob.add(f"faces{mesh}", faces.reshape(1, -1).astype(np.uint32), 1)
            blob.add(f"box{mesh}", np.array([[*low, *high]], np.float32))
        return {"geoms": rows, "meshes": len(meshes), "chains": self._chains()}

    def mesh(self, kind: int, number: int) -> tuple[Array, Array]:
        """Points (n, 3) and triangles (m, 3) of a mesh or height field."""
        if kind == HEIGHT_FIELD:
            return self._height_field(number)
        model = self.model
        vertices = slice(model.mesh_vertadr[number], model.mesh_vertadr[number] + model.mesh_vertnum[number])
        faces = slice(model.mesh_faceadr[number], model.mesh_faceadr[number] + model.mesh_facenum[number])
        return model.mesh_vert[vertices], model.mesh_face[faces]

    def _height_field(self, number: int) -> tuple[Array, Array]:
        model = self.model
        rows, columns = int(model.hfield_nrow[number]), int(model.hfield_ncol[number])
        x, y, top, _ = model.hfield_size[number]
        first = model.hfield_adr[number]
        heights = model.hfield_data[first : first + rows * columns] * top
        grid_y, grid_x = np.meshgrid(np.linspace(-y, y, rows), np.linspace(-x, x, columns), indexing="ij")
        corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
        faces = np.stack(
            [corner, corner + 1, corner + columns + 1, corner, corner + columns + 1, corner + columns], axis=1
        )
        return np.stack([grid_x.ravel(), grid_y.ravel(), heights], axis=1), faces

    def _chains(self) -> list[list[int]]:
        """Capsules of a robot that join end to end and bend little: places in the table of geoms, base first."""
        model = self.model
        index = {int(body): i for i, body in enumerate(self.moving)}
        links = {}
        for i, geom in enumerate(self.geoms):
            body = int(model.geom_bodyid[geom])
            if body in index and model.geom_type[geom] == CAPSULE:
                links[body] = None if body in links else (i, int(geom))
        ends = {}
        for body, link in links.items():
            if link is not None:
                axis = np.empty(3)
                self.mujoco.mju_rotVecQuat(axis, np.array([0.0, 0.0, 1.0]), model.geom_quat[link[1]])
                q = self.quaternions[:, index[body]]
                w, u = q[:, :1], q[:, 1:]

                def turned(v: Array, w: Array = w, u: Array = u) -> Array:
                    return np.asarray(v + 2 * np.cross(u, np.cross(u, v) + w * v))

                center = self.positions[:, index[body]] + turned(model.geom_pos[link[1]])
                ends[body] = (center, turned(axis), *model.geom_size[link[1]][:2])
        chains: dict[int, list[int]] = {}
        for body in sorted(ends):
            parent = int(model.body_parentid[body])
            while parent not in ends and parent in index and parent not in links:  # a body between two links
                parent = int(model.body_parentid[parent])
            chain = [body]
            if parent in ends and chains.get(parent, [None])[-1] == parent:
                (c0, a0, r0, h0), (c1, a1, r1, h1) = ends[parent], ends[body]
                gap = min(np.linalg.norm(c0 + side * h0 * a0 - (c1 - side * h1 * a1), axis=1).max() for side in (1, -1))
                bend = np.sum(a0 * a1, axis=1).min()
                if abs(r0 - r1) < 0.02 * r0 and gap < 0.5 * r0 and bend > math.cos(LONGEST_CHAIN_BEND):
                    chain = chains.pop(parent)
                    chain.append(body)
            chains[body] = chain
        found = [[links[body] for body in chain] for chain in chains.values() if len(chain) >= 4]
        return [[link[0] for link in chain if link] for chain in found]

    # ---- contacts, drawings, plots ----------------------------------------------------------------------------------

    def contacts(self, blob: Blob, low: Array, high: Array) -> dict[str, Any]:
        """Contact points and forces (world frame) of every frame. The engine gives the frames of the contacts again."""
        recording, model, data = self.recording, self.model, self.data
        counts, points, forces = [], [], []
        found = recording.contacts()
        first = np.searchsorted(found.row, self.rows)
        last = np.searchsorted(found.row, self.rows, side="right")
        for row, a, b in zip(self.rows, first, last, strict=True):
            counts.append(b - a)
            if a == b:
                continue
            self.place(max(int(row) - 1, 0), int(row))
            self.mujoco.mj_comPos(model, data)
            self.mujoco.mj_collision(model, data)
            force = np.zeros((b - a, 3))
            if data.ncon == b - a and np.allclose(data.contact.pos, found.position[a:b], atol=1e-7):
                frames = data.contact.frame.reshape(-1, 3, 3)
                force = np.einsum("nij,ni->nj", frames, found.force[a:b])
                # The force on what is not a robot, so that arrows of a robot point outwards.
                sign = np.where(self._is_robot[found.geom1[a:b]] | ~self._is_robot[found.geom2[a:b]], 1.0, -1.0)
                force *= sign[:, None]
            points.append(found.position[a:b])
            forces.append(force)
        if not points:
            return {"contacts": 0, "force": 0.0}
        point, force = np.concatenate(points), np.concatenate(forces)
        largest = float(np.abs(force).max()) or 1.0
        blob.add("contact_count", np.array([counts], np.uint16), 1)
        blob.add("contact_point", quantized(point, low, high, 4095).T, 1)
        blob.add(
            "contact_force",
            quantized(np.sign(force) * np.sqrt(np.abs(force)), -math.sqrt(largest), math.sqrt(largest), 1022).T,
        )
        return {"contacts": len(point), "force": largest}

    @property
    def _is_robot(self) -> Array:
        return np.array([geom["robot"] for geom in self.recording.tables["geoms"]] + [False], bool)

    def drawings(self, blob: Blob) -> list[dict[str, Any]]:
        """Target, path and planned centerline, as the controllers draw them: lines of one color over some moments."""
        if not self.model.nplugin or self.recording.is_log or "driven_by" in self.recording.texts:
            return []
        moments = self._drawing_moments()
        found: list[dict[str, Any]] = []
        for key, moment in self._drawn_lines(moments).items():
            whole = _stacked(moment, len(moments))
            # Segments that are the same at all moments, and those that change.
            still = np.isfinite(whole).all() and np.ptp(whole, axis=0).max() < 1e-6
            if still:
                whole = whole[:1]
            low, high = np.nanmin(whole[:, :, :6]), np.nanmax(whole[:, :, :6])
            ends = np.where(
                np.isnan(whole[:, :, :6]), 65535, quantized(np.nan_to_num(whole[:, :, :6]), low, high, 65534)
            )
            name = f"drawing{len(found)}"
            blob.add_smaller(name, ends.astype(np.uint16).transpose(1, 2, 0).reshape(whole.shape[1] * 6, -1))
            found.append(
                {
                    "name": name,
                    "radius": float(np.nanmax(whole[:, :, 6])),
                    "color": key[1:],
                    "sphere": key[0] == SPHERE,
                    "low": float(low),
                    "high": float(high),
                }
            )
        return found

    def _drawing_moments(self) -> npt.NDArray[Any]:
        """Returns the rows of the recording at which the controllers draw, evenly spread."""
        block = 8 * 256 * max(1, self.model.npluginstate)  # bytes that must be read for a row
        count = min(max(20, READ_FOR_DRAWINGS // block), DRAWINGS, len(self.rows))
        return np.asarray(self.rows[np.unique(np.linspace(0, len(self.rows) - 1, count).astype(int))])

    def _drawn_lines(self, moments: npt.NDArray[Any]) -> dict[tuple[int, ...], list[Array]]:
        """Returns, by kind of geom and color, what is drawn at each moment: rows of two ends and a radius."""
        mujoco, model, data, recording = self.mujoco, self.model, self.data, self.recording
        option = mujoco.MjvOption()
        for flags in (
            option.geomgroup,
            option.sitegroup,
            option.tendongroup,
            option.jointgroup,
            option.actuatorgroup,
            option.flags,
        ):
            flags[:] = 0
        scene = mujoco.MjvScene(model, maxgeom=4000)
        lines: dict[tuple[int, ...], list[Array]] = {}
        for i, row in enumerate(moments):
            self.place(int(row))
            data.qvel[:], data.act[:], data.time = recording.qvel[row], recording.act[row], recording.time[row]
            data.ctrl[:], data.plugin_state[:] = recording.ctrl[row], recording.row_of("plugin_state", int(row))
            mujoco.mj_forward(model, data)
            mujoco.mjv_updateScene(
                model, data, option, mujoco.MjvPerturb(), mujoco.MjvCamera(), mujoco.mjtCatBit.mjCAT_DECOR, scene
            )
            for geom in scene.geoms[: scene.ngeom]:
                if geom.category != mujoco.mjtCatBit.mjCAT_DECOR or geom.type not in (SPHERE, CAPSULE):
                    continue
                key = (int(geom.type), *(int(round(255 * float(c))) for c in geom.rgba))
                half = geom.mat[:, 2] * geom.size[2] if geom.type == CAPSULE else np.zeros(3)
                moment = lines.setdefault(key, [])
                while len(moment) <= i:
                    moment.append(np.empty((0, 7)))
                moment[i] = np.vstack([moment[i], [*(geom.pos - half), *(geom.pos + half), geom.size[0]]])
        return lines

    def plots(self, blob: Blob) -> list[dict[str, Any]]:
        """Wall force and sensors over time, each thinned to PLOT_POINTS values; of errors and forces the largest
        stay."""
        recording = self.recording
        first, last = int(self.rows[0]), int(self.rows[-1]) + 1
        edges = np.unique(np.linspace(first, last, min(PLOT_POINTS, last - first) + 1).astype(int))
        at = edges[1:] - 1

        def peaks(values: Array) -> Array:
            return np.maximum.reduceat(values[:last], edges[:-1])

        plots: list[tuple[str, str, bool, Array]] = []
        actuators = actuator_rows(recording.tables)
        for sensor in recording.tables["sensors"]:
            values = recording.sensordata[:, sensor["address"] : sensor["address"] + sensor["dimension"]]
            is_error = sensor["quantity"] in ERRORS
            lines = peaks(values[:, 0])[None] if is_error else values[at].T
            plots.append((sensor["name"] or f"sensor {sensor['address']}", unit_of(actuators, sensor), is_error, lines))
        if recording.has_robot_contacts:
            plots.append(("wall force", "N", True, peaks(recording.wall_force())[None]))
        shown: list[dict[str, Any]] = []
        for name, unit, at_once, lines in plots:
            finite = np.where(np.isfinite(lines), lines, np.nan)
            if np.isnan(finite).all() or not len(lines):
                continue
            low, high = float(np.nanmin(finite)), float(np.nanmax(finite))
            whole = np.where(np.isnan(finite), 4095, quantized(np.nan_to_num(finite), low, high, 4094))
            blob.add(f"plot{len(shown)}", whole.astype(np.uint16), 1)
            shown.append({"name": name, "unit": unit, "shown": at_once, "low": low, "high": high})
        blob.add("plot_time", np.rint((recording.time[at] - recording.time[0]) * 1e5)[None].astype(np.uint32), 1)
        return shown

    def cameras(self) -> list[dict[str, Any]]:
        model, index = self.model, {int(body): i for i, body in enumerate(self.moving)}
        self.place(int(self.rows[0]))
        self.mujoco.mj_camlight(model, self.data)
        found = []
        for i in range(model.ncam):
            body = index.get(int(model.cam_bodyid[i]), -1)
            if model.cam_mode[i] != self.mujoco.mjtCamLight.mjCAMLIGHT_FIXED:
                body = -1
            quat = np.empty(4)
            self.mujoco.mju_mat2Quat(quat, self.data.cam_xmat[i])
            pose = (model.cam_pos[i], model.cam_quat[i]) if body >= 0 else (self.data.cam_xpos[i], quat)
            found.append(
                {
                    "name": model.camera(i).name or f"camera {i}",
                    "body": body,
                    "pos": rounded(pose[0]),
                    "quat": rounded(pose[1]),
                    "fovy": float(model.cam_fovy[i]),
                }
            )
        found.sort(key=lambda camera: camera["name"] != "report")  # of several the first is the one of the images
        return found
