"""1. The plugin measures, the controller may only explain."""

from promises_rows.place import (
    TIP,
    Broken,
    arm,
    check,
    controller,
    experiment,
    not_passed,
    passed,
    require,
    row,
    scene,
    sound,
)

STILL = 0.05  # m that the tip of an arm that does not move is away from its target, at least
LIES = {
    "zero": ("reports a tip error of 0", "report.tip_error = 0.0"),
    "negative": ("reports a tip error of -5", "report.tip_error = -5.0"),
    "infinite": ("reports an infinite tip error", "report.tip_error = math.inf"),
    "minus-infinite": ("reports -inf", "report.tip_error = -math.inf"),
    "nan": ("reports NaN", "report.tip_error = math.nan"),
    "silent": ("reports nothing", "pass"),
    "wrong-frame": (
        "reports its error in the wrong frame",
        "report.tip_error = float(abs(np.linalg.norm(m.target[:3, 3]) - np.linalg.norm(m.tip[:3, 3])))",
    ),
    "tiny": ("reports 1e-300", "report.tip_error = 1e-300"),
    "once": ("reports 0 at every other step", "report.tip_error = 0.0 if int(memory[0]) % 2 else math.nan"),
}


def true_number(place, answer, name="tip_error_end", least=STILL):
    """The run fails, and its number is the true one."""
    not_passed(answer)
    value = place.metric(name)
    if value is None or not least <= float(value) < 10:
        raise Broken(f"{name} is {value}: {answer.seen()}")
    return f"{name} {float(value):.4g} m"


def lie(key, what, body):
    @row(f"V-lie-{key}", 1, f"an arm that does not move and whose controller {what} fails with the true error")
    def show(place):
        place.scene()
        return true_number(place, place.own(body))


for _key, (_what, _body) in LIES.items():
    lie(_key, _what, _body)


@row("V-lie-metrics", 1, "tip_error_max, _rms, _mean of a liar are of the truth")
def lie_metrics(place):
    names = [f"tip_error_{statistic}" for statistic in ("max", "rms", "mean")]
    place.scene(e_toml=experiment(*(check(name, max=0.001) for name in names)))
    answer = place.own("report.tip_error = 0.0")
    return ", ".join(true_number(place, answer, name) for name in names)


@row("V-lie-no-check", 1, "a scene without an experiment: a liar 0.1 m off is not well at the end")
def lie_no_check(place):
    place.scene()
    return not_passed(place.own("report.tip_error = 0.0", name="scene.xml"))


@row("V-lie-settle", 1, "settle_time of a liar is not 0")
def lie_settle(place):
    place.scene(e_toml=experiment(check("settle_time", threshold=0.001, max=0.5)))
    return not_passed(place.own("report.tip_error = 0.0"))


@row("V-lie-angle", 1, "an angle error that is reported as 0 is measured")
def lie_angle(place):
    place.scene(
        scene_xml=scene().replace('name="target" mocap="true"', 'name="target" mocap="true" euler="0 60 0"'),
        e_toml=experiment(check("angle_error_end", max=0.01)),
    )
    return not_passed(place.own("report.tip_error = 0.0; report.angle_error = 0.0"))


@row("V-lie-done", 1, "a status of arrival that a controller claims 0.1 m from its target fails")
def lie_done(place):
    place.scene(e_toml=experiment(check("status_end", max=1)))
    return not_passed(place.own("report.tip_error = 0.0; report.status = 1; report.progress = 1.0"))


@row("V-lie-progress", 1, "a progress of 1 that a controller claims without moving fails")
def lie_progress(place):
    place.scene(e_toml=experiment(check("progress_end", min=1)))
    return not_passed(place.own("report.tip_error = 0.0; report.progress = 1.0"))


@row("V-lie-following", 1, "following_error of an arm that cannot do what is commanded is measured")
def lie_following(place):
    place.scene(
        arm_toml=arm(bend_torque_limit=0.001),
        e_toml=experiment(check("following_error_max", max=0.05)),
    )
    answer = place.own("command.q[:] = 1.0; report.tip_error = 0.0")
    not_passed(answer)
    value = place.metric("following_error_max")
    return require(value is not None and float(value) > 0.1, f"following_error_max {value} rad")


@row("V-lie-sweep", 1, "a sweep counts a liar's runs as failed")
def lie_sweep(place):
    place.scene()
    place.put("own.py", controller("report.tip_error = 0.0"))
    answer = place.package(
        "sweep", "e.toml", "--seeds", "2", "--python", "own.py", "--controller", "my.own", "--no-report", "--out", "s"
    )
    require("0 of 2" in answer.text, answer.seen())
    return "0 of 2 passed"


@row("V-lie-session", 1, "td.Experiment: a liar's result fails")
def lie_session(place):
    place.scene()
    place.put("own.py", controller("report.tip_error = 0.0"))
    answer = place.python(
        "import own\nr = td.Experiment('e.toml').run(controller='my.own')\n"
        "print('passed' if r.passes else 'failed', r.metrics.get('tip_error_end'))\n"
    )
    require("failed" in answer.out, answer.seen())
    return answer.out.strip()


@row("V-lie-table", 1, "what the controller reports remains visible along with the truth")
def lie_table(place):
    place.scene()
    place.own("report.tip_error = 0.0")
    text = str(place.summary())
    return require("reported" in text, "summary.json has no column of what was reported")


@row("V-lie-snake", 1, "a snake that does not move and reports a goal error of 0 fails with the true number")
def lie_snake(place):
    robot = 'kind = "snake"\njoints = 6\nlink_length = 0.06\n[controller]\nplugin = "tendril.snake"\ngoals = [1, 0]\n'
    place.scene(
        arm_toml=robot,
        scene_xml=scene(before='<geom type="plane" size="5 5 0.1"/>', target="1 0 0"),
        e_toml=experiment(check("tip_error_end", max=0.01), duration=0.5),
    )
    return not_passed(place.own("report.tip_error = 0.0", kind="snake"))


ROVER = """kind = "mobile"
name = "rover"
[platform]
length = 0.4
width = 0.3
height = 0.1
speed_limit = 0.5
acceleration_limit = 0.5
[arm]
file = "arm.toml"
mount = [0.1, 0, 0.1]
[controller]
plugin = "tendril.base_placement"
target = "target"
"""


def rover(place, *tables, duration=4.0):
    place.write(
        arm_toml=arm(),
        rover_toml=ROVER,
        scene_xml=scene(
            robot="rover.toml", prefix="M_", target="0.5 0.05 0.26", before='<geom type="plane" size="5 5 0.1"/>'
        ),
        e_toml=experiment(check("tip_error_end", max=0.002), *tables, duration=duration),
    )


def fault(kind="bias", channel="tip", value="[0, 0, 0.05]", more=""):
    return f'[[fault]]\nkind = "{kind}"\nchannel = "{channel}"\nvalue = {value}\n{more}'


@row("V-lie-platform", 1, "a platform whose controller does nothing and reports 0 fails with the true number")
def lie_platform(place):
    rover(place, duration=0.5)
    return true_number(place, place.own("report.tip_error = 0.0", kind="platform"))


@row("V-platform-plain", 1, "an arm on a platform without faults reaches its target")
def platform_plain(place):
    rover(place)
    return passed(place.run())


def platform_fault(key, what, text, least):
    @row(f"V-fault-{key}", 1, f"{what} reaches the arm on a platform: the true tip error shows it")
    def show(place):
        rover(place, text)
        answer = place.run()
        if answer.code == 2:
            raise Broken(answer.seen())
        value = place.metric("tip_error_end")
        return require(value is not None and float(value) >= least, f"tip_error_end {value} m")


platform_fault("tip", "a bias of 50 mm of the tip", fault(), 0.02)
platform_fault("target", "a bias of 50 mm of the target", fault(channel="target", value="[-0.05, 0, 0]"), 0.04)
platform_fault("arm", 'a bias of the tip with robot = "M_arm_"', fault(more='robot = "M_arm_"\n'), 0.02)
platform_fault(
    "scale", "a tip that is seen 1.3 times as far", '[[fault]]\nkind = "scale"\nchannel = "tip"\nfactor = 1.3\n', 0.01
)
platform_fault("freeze", "a tip that is frozen", '[[fault]]\nkind = "freeze"\nchannel = "tip"\nstart = 0.5\n', 0.002)


@row("V-fault-set", 1, "controller.* of an experiment reaches the arm on a platform")
def platform_setting(place):
    rover(place)
    plain = place.run()
    first = place.metric("tip_error_end") if plain.code in (0, 1) else None
    answer = place.run("e.toml", "--set", "controller.integral_gain=0", "--set", "robot.section.*.mass=0.3")
    if answer.code == 2:
        return answer.seen()  # told
    second = place.metric("tip_error_end")
    return require(first != second, f"no effect: {first} and {second}")


@row("V-own-quantity", 1, "the page of checks says that own quantities, such as settled_error, are of what is seen")
def own_quantity(place):
    source = place.options.root / "scenes/youbot_targets"
    text = (source / "youbot_targets.toml").read_text().replace('scene = "', f'scene = "{source}/')
    added = check("sensor:Y_settled_error:max", max=0.003) + fault(channel="target", value="[0.05, 0, 0]")
    place.put("e.toml", text + added)
    answer = place.run("e.toml", "--duration", "12")
    sound(answer)
    value = place.metric("sensor:Y_settled_error:max")
    page = " ".join((place.options.root / "docs/reference/experiment_file.md").read_text().split())
    said = "a controller's own quantities, such as `settled_error`, use what the controller measured"
    return require(said in page and float(value) < 0.02, f"settled_error {value} m, its target seen 50 mm off")


@row("V-honest-pass", 1, "a controller in Python that does its task passes")
def honest(place):
    body = "command.q[:] = 0.0; report.tip_error = float(np.linalg.norm(m.target[:3, 3] - m.tip[:3, 3]))"
    place.scene(
        scene_xml=scene(target="0 0 0.2"),
        e_toml=experiment(TIP, duration=1.0),
    )
    return passed(place.own(body))
