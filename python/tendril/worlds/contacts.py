"""The contacts of an arm's tip on a device: plugin/arm_contacts.cpp and controllers/arm/tip_contacts.hpp."""

from __future__ import annotations

from typing import Any

import warp as wp

from tendril.worlds.arm import Arm, number, rows, vec3, wide, wide_matrix
from tendril.worlds.bound_arm import BoundArm
from tendril.worlds.controller import Engine

ROOM = 64  # contacts of a tip
TIP_RADII = 3.0  # that the tip is long
CONSTRAINT = wp.constant(1)  # mujoco_warp.ContactType: with a force
_LACKS_ROOM = wp.constant(1 << 30)  # a bit of `overflow` that the engine has not


@wp.struct
class Contacts:
    """Of one arm; rows are worlds."""

    link: wp.array(dtype=int)  # of each geom of the model; -1: not of the arm
    arc_length: wp.array(dtype=number)  # of each geom's body, m
    is_guide: wp.array(dtype=int)
    is_fixed: wp.array(dtype=int)
    tip_start: number  # arc length, m
    force: rows  # normal force on each link in the last step, N
    touches: wp.array2d(dtype=int)  # contacts of each link
    count: wp.array(dtype=int)  # of the tip's contacts, of which the rest has one column each, by arc length
    at: rows
    normal: wp.array2d(dtype=vec3)  # base frame, towards the arm
    of_link: wp.array2d(dtype=int)
    with_fixed: wp.array2d(dtype=int)


@wp.struct
class Found:
    """The engine's contacts of all worlds."""

    number: wp.array(dtype=int)
    world: wp.array(dtype=int)
    geom: wp.array(dtype=wp.vec2i)
    kind: wp.array(dtype=int)
    distance: wp.array(dtype=float)
    margin: wp.array(dtype=float)
    frame: wp.array(dtype=wp.mat33)
    dimension: wp.array(dtype=int)
    row: wp.array2d(dtype=int)  # of the constraints
    force: wp.array2d(dtype=float)  # of the constraints
    is_pyramid: bool


@wp.func
def _own_side(contacts: Contacts, found: Found, c: int):
    """Which geom of a contact is the arm's, 0 or 1; -1: it is not one of the arm with something else."""
    if c >= found.number[0] or (found.kind[c] & CONSTRAINT) == 0 or found.distance[c] >= found.margin[c]:
        return -1
    geom = found.geom[c]
    if geom[0] < 0 or geom[1] < 0:
        return -1
    first, second = contacts.link[geom[0]] >= 0, contacts.link[geom[1]] >= 0
    if first == second:
        return -1
    return wp.where(first, 0, 1)


@wp.kernel(module="unique", enable_backward=False)
def _clear(contacts: Contacts):
    world = wp.tid()
    contacts.count[world] = 0
    for link in range(contacts.touches.shape[1]):
        contacts.touches[world, link] = 0


@wp.kernel(module="unique", enable_backward=False)
def _collect(contacts: Contacts, found: Found, arm: Arm, engine: Engine, overflow: wp.array(dtype=int)):
    c = wp.tid()
    side = _own_side(contacts, found, c)
    if side < 0:
        return
    world = found.world[c]
    own, other = found.geom[c][side], found.geom[c][1 - side]
    link = contacts.link[own]
    wp.atomic_add(contacts.touches, world, link, 1)
    if contacts.is_guide[other] != 0 or contacts.arc_length[own] <= contacts.tip_start:
        return
    i = wp.atomic_add(contacts.count, world, 1)
    if i >= ROOM:
        overflow[world] = overflow[world] | _LACKS_ROOM
        return
    to_base = wp.transpose(wide_matrix(engine.xmat[world, arm.base_body]))
    frame = found.frame[c]  # its first row points from the first geom to the second
    sign = wp.where(side == 0, number(-1.0), number(1.0))
    contacts.at[world, i] = contacts.arc_length[own]
    contacts.normal[world, i] = sign * (to_base * wide(wp.vec3(frame[0, 0], frame[0, 1], frame[0, 2])))
    contacts.of_link[world, i] = link
    contacts.with_fixed[world, i] = contacts.is_fixed[other]


@wp.kernel(module="unique", enable_backward=False)
def _order(contacts: Contacts):
    """By arc length."""
    world = wp.tid()
    contacts.count[world] = wp.min(contacts.count[world], ROOM)
    for i in range(1, contacts.count[world]):
        at, normal = contacts.at[world, i], contacts.normal[world, i]
        link, fixed = contacts.of_link[world, i], contacts.with_fixed[world, i]
        j = i + 0
        while j > 0 and contacts.at[world, j - 1] > at:
            contacts.at[world, j] = contacts.at[world, j - 1]
            contacts.normal[world, j] = contacts.normal[world, j - 1]
            contacts.of_link[world, j] = contacts.of_link[world, j - 1]
            contacts.with_fixed[world, j] = contacts.with_fixed[world, j - 1]
            j -= 1
        contacts.at[world, j] = at
        contacts.normal[world, j] = normal
        contacts.of_link[world, j] = link
        contacts.with_fixed[world, j] = fixed


@wp.kernel(module="unique", enable_backward=False)
def _forget_forces(chosen: wp.array(dtype=bool), contacts: Contacts):
    world = wp.tid()
    if not chosen[world]:
        return
    for link in range(contacts.force.shape[1]):
        contacts.force[world, link] = number(0.0)


@wp.kernel(module="unique", enable_backward=False)
def _read_forces(contacts: Contacts, found: Found):
    c = wp.tid()
    side = _own_side(contacts, found, c)
    if side < 0 or found.row[c, 0] < 0:
        return
    world, dimension = found.world[c], found.dimension[c]
    edges = wp.where(found.is_pyramid and dimension > 1, 2 * (dimension - 1), 1)
    force = found.force[world, found.row[c, 0]]
    for edge in range(1, edges):
        force += found.force[world, found.row[c, edge]]
    if wp.isfinite(force):
        wp.atomic_add(contacts.force, world, contacts.link[found.geom[c][side]], number(force))


@wp.func
def push(contacts: Contacts, world: int):
    """Sum of the normal forces of the tip's contacts, towards the arm, N: TipContacts::push."""
    sum = vec3()
    for i in range(contacts.count[world]):
        link = contacts.of_link[world, i]
        share = contacts.force[world, link] / number(contacts.touches[world, link])
        sum += share * contacts.normal[world, i]
    return sum


@wp.func
def correctable(contacts: Contacts, world: int, error: vec3, by_fixed: bool):
    """A tip error without its parts into walls, all or those that no force moves: TipContacts::correctable."""
    left = error
    for i in range(contacts.count[world]):
        into = wp.dot(contacts.normal[world, i], left)
        if into < number(0.0) and (contacts.with_fixed[world, i] != 0 or not by_fixed):
            left -= into * contacts.normal[world, i]
    return left


class BoundContacts:
    """The contacts of one arm in all worlds."""

    def __init__(self, bound: BoundArm, model: Any) -> None:
        """
        :param bound: whose controller senses contacts; of another one there are none
        """
        self._bound, table = bound, bound.tables[0]
        self._senses, self._is_pyramid = "contacts" in table and "sensed" not in table, int(model.opt.cone) == 0
        geoms = table["contacts"] if self._senses else {"link": [], "arc_length": [], "is_guide": [], "is_fixed": []}
        links = max((*geoms["link"], -1)) + 1
        length = sum(section.length for section in bound.robot.sections) + bound.robot.straight[:, 2].sum()
        contacts = Contacts()
        contacts.link, contacts.arc_length = bound.integers(geoms["link"]), bound.numbers(geoms["arc_length"])
        contacts.is_guide, contacts.is_fixed = bound.integers(geoms["is_guide"]), bound.integers(geoms["is_fixed"])
        contacts.tip_start = length - TIP_RADII * table["body_radius"]
        contacts.force, contacts.touches = bound.zeros(links), bound.zeros(links, kind=int)
        contacts.count, contacts.at = bound.zeros(kind=int), bound.zeros(ROOM)
        contacts.normal = bound.zeros(ROOM, kind=vec3)
        contacts.of_link, contacts.with_fixed = bound.zeros(ROOM, kind=int), bound.zeros(ROOM, kind=int)
        self.contacts = contacts
        self._all = wp.full(bound.count, True, dtype=bool, device=bound.device)

    def reset(self, chosen: Any) -> None:
        """Forgets the forces of the chosen worlds, (count,) of bool."""
        self._bound.launch(_forget_forces, [chosen, self.contacts])

    def measure(self, data: Any) -> None:
        """Reads the contacts of this step; after `BoundArm.measure`."""
        if not self._senses:
            return
        bound = self._bound
        bound.launch(_clear, [self.contacts])
        inputs = [self.contacts, self._found(data), bound.arm, bound.engine, data.overflow]
        wp.launch(_collect, data.naconmax, inputs=inputs, device=bound.device)
        bound.launch(_order, [self.contacts])

    def read_forces(self, data: Any) -> None:
        """At the end of a step."""
        if not self._senses:
            return
        self.reset(self._all)
        wp.launch(_read_forces, data.naconmax, inputs=[self.contacts, self._found(data)], device=self._bound.device)

    def _found(self, data: Any) -> Any:
        found, contact = Found(), data.contact
        found.number, found.world, found.geom, found.kind = data.nacon, contact.worldid, contact.geom, contact.type
        found.distance, found.margin, found.frame = contact.dist, contact.includemargin, contact.frame
        found.dimension, found.row, found.force = contact.dim, contact.efc_address, data.efc.force
        found.is_pyramid = self._is_pyramid
        return found
