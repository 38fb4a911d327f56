"""3. Robots are found by what they are, not by how they are called."""

from promises_rows.place import (
    FAR,
    TIP,
    Broken,
    check,
    each,
    experiment,
    not_passed,
    passed,
    require,
    row,
    says,
    scene,
    sound,
)

PREFIXES = ("arm/", "A-", "left", "a.", "A:", "x y_", "_", "A__", "tip_error_", "status", "Ü", "1")


def prefix_row(prefix):
    @row(
        f"R-prefix-{prefix.replace(' ', '~')}",
        3,
        f"an arm attached as `{prefix}` out of reach fails with its true tip error",
    )
    def show(place):
        place.scene(scene_xml=scene(prefix=prefix, target=FAR))
        answer = place.run()
        not_passed(answer)
        if answer.code == 2:
            raise Broken(answer.seen())
        value = place.metric("tip_error_end")
        return require(value is not None and float(value) > 0.2, f"tip_error_end {value} m: {answer.seen()}")


for _prefix in PREFIXES:
    prefix_row(_prefix)


@row("R-slash-plain", 3, "a scene without an experiment, its arm `arm/` out of reach: exit code 1")
def prefix_plain(place):
    place.scene(scene_xml=scene(prefix="arm/", target=FAR))
    return not_passed(place.run("scene.xml", "--duration", "1"))


@row("R-slash-status", 3, "a status of the arm `arm/` is checked")
def prefix_status(place):
    place.scene(scene_xml=scene(prefix="arm/", target=FAR), e_toml=experiment(check("status_end", max=0)))
    answer = place.run()
    if answer.code == 2:
        raise Broken(answer.seen())
    return not_passed(answer)


@row("R-slash-fault", 3, 'a fault with robot = "arm/" reaches it')
def prefix_fault(place):
    text = '[[fault]]\nkind = "bias"\nchannel = "tip"\nvalue = [0, 0.03, 0]\nrobot = "arm/"\n'
    place.scene(scene_xml=scene(prefix="arm/"), e_toml=experiment(TIP, text, duration=3.0))
    answer = place.run()
    sound(answer)
    if answer.code == 2:
        raise Broken(answer.seen())
    value = place.metric("tip_error_end")
    return require(value is not None and float(value) > 0.02, f"tip_error_end {value}")


@row("R-slash-report", 3, "the report of the arm `arm/` shows its tip error and its commands")
def prefix_report(place):
    place.scene(scene_xml=scene(prefix="arm/"), e_toml=experiment(duration=0.2))
    sound(place.run("e.toml"))
    folder = next(place.folder.glob("out/*"))
    answer = place.finish(place.start([place.interpreter, "-m", "tendril.report", folder], {"MPLBACKEND": "agg"}))
    sound(answer)
    text = (folder / "report.html").read_text()
    return require("ip error" in text and "commanded" in text, "report.html has neither tip error nor commands", "both")


OWN_SENSORS = {
    "tip_error": '<sensor><user name="B_tip_error" dim="1"/></sensor>',
    "same robot": '<sensor><framepos name="my_tip_error" objtype="body" objname="target"/></sensor>',
    "clock": '<sensor><clock name="tip_error"/></sensor>',
}


@row("R-own-sensor", 3, "a scene's own sensor that is named like a quantity is not taken for the robot's")
def own_sensor(place):
    def show(text):
        place.scene(scene_xml=scene(tail=text, target="0.03 0.02 0.19"), e_toml=experiment(TIP, duration=4.0))
        return passed(place.run())

    return each(OWN_SENSORS, show)


@row("R-own-status", 3, "a scene's own sensor `x_status` neither fails nor saves a run")
def own_status(place):
    place.scene(
        scene_xml=scene(tail='<sensor><user name="x_status" dim="1"/></sensor>', target=FAR),
        e_toml=experiment(check("status_end", max=0)),
    )
    return not_passed(place.run())


@row("R-own-site", 3, "a scene's own site `A_tip2`, body `B_base`, actuator `A_s1_q` do not confuse")
def own_names(place):
    bodies = '<body name="B_base" pos="1 0 0"><joint name="A_s9_l1_x"/><geom size="0.01"/><site name="A_tip2"/></body>'
    tail = '<actuator><motor name="A_s9_x" joint="A_s9_l1_x"/></actuator>'
    place.scene(
        scene_xml=scene(bodies=bodies, tail=tail, target="0.03 0.02 0.19"), e_toml=experiment(TIP, duration=4.0)
    )
    return passed(place.run())


SPEC = """
td.load_plugin() if hasattr(td, 'load_plugin') else None
from pathlib import Path
spec = mujoco.MjSpec.from_file('empty.xml')
child = {child}
frame = spec.worldbody.add_frame()
frame.attach_body(child.body('{base}'), {attach})
body = spec.worldbody.add_body(name='target', mocap=True, pos=[0.5, 0, 0.1])
{more}
model = spec.compile()
spec_xml = spec.to_xml()
data = mujoco.MjData(model)
for _ in range(200): mujoco.mj_step(model, data)
names = [model.sensor(i).name for i in range(model.nsensor)]
values = {{n: float(data.sensor(n).data[0]) for n in names if 'tip_error' in n or 'status' in n}}
print(values)
assert any(v > 0.2 for n, v in values.items() if 'tip_error' in n), 'no tip error: ' + repr(values)
"""
EMPTY = """<mujoco><option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10" iterations="100"/>
<compiler conflict="merge"/><worldbody/></mujoco>"""


def spec_row(key, what, attach, more="", child="mujoco.MjSpec.from_file('arm.toml')", base="base"):
    @row(f"R-spec-{key}", 3, f"mjSpec: {what}: the robot works, or one line refuses it")
    def show(place):
        place.scene()
        place.put("empty.xml", EMPTY)
        answer = place.python(SPEC.format(attach=attach, more=more, child=child, base=base))
        if answer.code < 0 or answer.code in (124, 134, 139):
            sound(answer)
        if answer.code != 0:
            last = answer.lines()[-1]
            named = "ModelError" in last or "tendril." in last or "robot" in last.lower()
            return require(named and "no tip error" not in last, last)
        return answer.out.strip().splitlines()[-1]


spec_row("prefix", "attached with a prefix", "'P_', ''")
spec_row("suffix", "attached with a suffix", "'', '_left'")
spec_row("both", "attached with prefix and suffix", "'P_', '_left'")
spec_row("slash", "attached with `arm/`", "'arm/', ''")
spec_row("none", "attached with neither", "'', ''")
spec_row("twice", "compiled twice", "'P_', ''", more="spec.compile()")
spec_row(
    "deleted",
    "another body is deleted and the spec compiled again",
    "'P_', ''",
    more="b = spec.worldbody.add_body(name='b'); b.add_geom(size=[.1, .1, .1]); spec.compile(); spec.delete(b)",
)
spec_row(
    "recompiled",
    "recompiled with state after a body was added",
    "'P_', ''",
    more="m = spec.compile(); d = mujoco.MjData(m); "
    "spec.worldbody.add_body(name='b').add_geom(size=[.1, .1, .1]); m, d = spec.recompile(m, d)",
)
spec_row(
    "link-deleted",
    "a link of the robot is deleted",
    "'P_', ''",
    more="spec.delete(spec.body('P_s2_l5'))",
)
spec_row(
    "sensor-deleted",
    "the robot's sensor of the tip error is deleted",
    "'P_', ''",
    more="[spec.delete(s) for s in list(spec.sensors) if s.name.endswith('angle_error')]",
)


REPLICATED = (
    '<replicate count="4" offset="0.05 0 0"><geom type="cylinder" size="0.01 0.1" pos="0.3 0.1 0.1"/></replicate>'
)


@row("R-replicate-after", 3, "<replicate> after an attached robot does not crash the program")
def replicate_after(place):
    place.scene(scene_xml=scene(bodies=REPLICATED), e_toml=experiment(duration=0.1))
    answer = place.run("scene.xml", "--duration", "0.1")
    sound(answer)
    return require(answer.code in (0, 1, 2), answer.seen())


@row("R-replicate-body", 3, "<replicate> of bodies after an attached robot does not crash the program")
def replicate_body(place):
    text = (
        '<replicate count="3" offset="0.05 0 0"><body name="p" pos="0.3 0 0"><freejoint/><geom '
        'size="0.01"/></body></replicate>'
    )
    place.scene(scene_xml=scene(bodies=text))
    answer = place.run("scene.xml", "--duration", "0.1")
    sound(answer)
    return answer.seen()


@row("R-replicate-python", 3, "<replicate> after an attached robot does not crash MjModel.from_xml_path")
def replicate_python(place):
    place.scene(scene_xml=scene(bodies=REPLICATED))
    answer = place.python("m = mujoco.MjModel.from_xml_path('scene.xml'); print(m.ngeom)")
    sound(answer) if answer.code <= 0 else None
    return answer.seen()


@row("R-replicate-td", 3, "<replicate> after an attached robot does not crash td.load_scene")
def replicate_td(place):
    place.scene(scene_xml=scene(bodies=REPLICATED))
    answer = place.python("s = td.load_scene('scene.xml'); print('loaded')")
    sound(answer) if answer.code <= 0 else None
    return answer.seen()


def replicate_around(count):
    @row(
        f"R-replicate-{count}",
        3,
        f'<replicate count="{count}"> around <attach>: works, or one line with the word replicate',
    )
    def show(place):
        text = scene().replace(
            '<attach model="robot" body="base" prefix="A_"/>',
            f'<replicate count="{count}" offset="0.3 0 0"><attach model="robot" body="base" prefix="A_"/></replicate>',
        )
        place.scene(scene_xml=text)
        answer = place.run("scene.xml", "--duration", "0.1")
        sound(answer)
        return require(answer.code in (0, 1) or says(answer, "replicate"), answer.seen())


replicate_around(2)
replicate_around(3)


BOX = '<body name="box" pos="0.3 0 0.05"><freejoint/><geom type="box" size="0.03 0.03 0.03" mass="0.1"/></body>'


def key_row(key, what, qpos, bodies=BOX, more=""):
    @row(f"R-key-{key}", 3, f"a keyframe {what}: refused, or told with the counts")
    def show(place):
        place.scene(
            scene_xml=scene(
                before='<geom type="plane" size="1 1 0.1"/>',
                bodies=bodies,
                tail=f'<keyframe><key name="home" qpos="{qpos}" {more}/></keyframe>',
            ),
            e_toml=experiment(duration=0.1, head='keyframe = "home"\n'),
        )
        answer = place.run()
        sound(answer)
        return require(says(answer, r"key|home", r"\d"), answer.seen())


key_row("box", "that has the 7 numbers of a box behind the arm", "0.3 0.1 0.03 1 0 0 0")
key_row("short", "of 3 numbers of the arm", "0.1 0.1 0.1", bodies="")
key_row("one", "of one number", "0.3")
key_row(
    "ctrl", "whose ctrl is shorter than the model's", " ".join(["0"] * 20 + ["0.3 0 0.05 1 0 0 0"]), more='ctrl="0.5"'
)


@row("R-nested", 3, "an arm in a mast in a scene is found: prefix of a prefix")
def nested(place):
    place.scene()
    place.put(
        "mast.xml",
        '<mujoco><compiler conflict="merge"/><asset><model name="robot" file="arm.toml"/></asset><worldbody>'
        '<body name="mast"><geom size="0.01" pos="0 0 -0.2"/><attach model="robot" body="base" prefix="arm_"/></body>'
        "</worldbody></mujoco>",
    )
    text = scene(target=FAR).replace('model="robot" body="base" prefix="A_"', 'model="robot" body="mast" prefix="m/"')
    place.put("scene.xml", text.replace("arm.toml", "mast.xml"))
    answer = place.run()
    not_passed(answer)
    if answer.code == 2:
        raise Broken(answer.seen())
    value = place.metric("tip_error_end")
    return require(value is not None and float(value) > 0.2, f"tip_error_end {value}")


@row("R-prefixes", 3, "two arms, the prefix of one the start of the other's (`A`, `A_`): each has its own status")
def two_prefixes(place):
    more = '<frame pos="0.4 0 0"><attach model="robot" body="base" prefix="A"/></frame>'
    place.scene(scene_xml=scene(bodies=more, target="0.03 0.02 0.19"))
    answer = place.run("scene.xml", "--duration", "2")
    sound(answer)
    statuses = [s for s in answer.lines() if "not reached" in s or "working" in s]
    return require(answer.code == 2 or (answer.code == 1 and statuses), answer.seen())


@row("R-two-targets", 3, "a target named with the arm's prefix is found, or the message names it")
def prefixed_target(place):
    text = scene().replace('name="target"', 'name="A_target"')
    place.scene(scene_xml=text, e_toml=experiment(TIP, duration=3.0))
    answer = place.run()
    sound(answer)
    return require(answer.code in (0, 1) or says(answer, "A_target"), answer.seen())
