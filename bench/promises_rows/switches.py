"""2. Nothing switched off counts as good."""

import json
import signal
import time

from promises_rows.place import (
    REACH,
    TIP,
    Broken,
    arm,
    check,
    controller,
    each,
    experiment,
    not_passed,
    passed,
    refused,
    require,
    row,
    says,
    scene,
    sound,
)

WALL = '<geom name="wall" type="box" size="0.02 0.1 0.1" pos="0.04 0 0.15"/>'  # that the arm bends into
FORCE = check("wall_force_max", max=1)
INTO_WALL = arm(controller=REACH, bend_torque_limit=5)


def in_wall(place, flag="", option="", wall=WALL, head="", tail="", checks=(FORCE,)):
    """A scene whose arm presses against a wall."""
    place.scene(
        arm_toml=INTO_WALL,
        scene_xml=scene(target="0.1 0 0.12", flag=flag, option=option, before=wall, head=head, tail=tail),
        e_toml=experiment(*checks),
    )


@row("S-wall", 2, "with everything switched on the arm presses against the wall, and the check fails")
def wall_plain(place):
    in_wall(place)
    not_passed(place.run())
    force = float(place.metric("wall_force_max"))
    return require(force > 1, f"{force:.3g} N")


def refused_metric(place, *patterns):
    """A metric that the scene cannot provide: an error that names why."""
    answer = place.run()
    sound(answer)
    if answer.code == 0:
        raise Broken(f"passes: {answer.seen()}")
    if not says(answer, *patterns):
        raise Broken(f"{answer.seen()} (no line with {', '.join(patterns)})")
    return says(answer, *patterns)


CONTACTS_OFF = {
    "flag-contact": ('<flag contact="disable"/>', {"flag": 'contact="disable"'}, "contact"),
    "flag-constraint": ('<flag constraint="disable"/>', {"flag": 'constraint="disable"'}, "constraint"),
    "o-margin": (
        'o_margin="-1" with override',
        {"flag": 'override="enable"', "option": 'o_margin="-1"'},
        "o_margin|override",
    ),
    "mask-wall": (
        "the wall's contype and conaffinity 0",
        {"wall": WALL.replace("/>", ' contype="0" conaffinity="0"/>')},
        "wall_force|contype|collide",
    ),
    "mask-bits": (
        "other bits in the wall's masks than the robot has",
        {"wall": WALL.replace("/>", ' contype="4" conaffinity="8"/>')},
        "wall_force|contype|collide",
    ),
    "default-mask": (
        "masks of a default class",
        {
            "head": '<default><default class="ghost"><geom contype="0" conaffinity="0"/></default></default>',
            "wall": WALL.replace("/>", ' class="ghost"/>'),
        },
        "wall_force|contype|collide",
    ),
    "exclude": (
        "excludes of all links",
        {
            "tail": "<contact>"
            + "".join(f'<exclude body1="A_s{s}_l{n}" body2="world"/>' for s in (1, 2) for n in range(1, 6))
            + "</contact>"
        },
        "wall_force|exclude|collide",
    ),
}


def contacts_off(key, what, scene_parts, pattern):
    @row(f"S-contact-{key}", 2, f"{what}: a check of wall_force is an error, not 0 N")
    def show(place):
        in_wall(place, **scene_parts)
        return refused_metric(place, pattern)


for _key, (_what, _parts, _pattern) in CONTACTS_OFF.items():
    contacts_off(_key, _what, _parts, _pattern)


@row(
    "S-contact-metrics",
    2,
    "with contacts off no metric of contacts is 0: penetration, contact_count, wall_force_single",
)
def contact_metrics(place):
    def show(name):
        in_wall(place, flag='contact="disable"', checks=(check(f"{name}_max", max=1),))
        return refused_metric(place, "contact")

    names = ("penetration", "contact_count", "self_contact_count", "wall_force_single")
    return each({name: name for name in names}, show)


@row("S-contact-free", 2, "a scene in which nothing can be touched is reported when its wall_force is checked")
def nothing_to_touch(place):
    place.scene(e_toml=experiment(FORCE))
    answer = place.run()
    sound(answer)
    line = says(answer, "wall_force|collide|touch")
    return require(answer.code != 0 or "notice" in line, f"passes without a word: {answer.seen()}")


@row("S-sensor", 2, '<flag sensor="disable"/>: a check of the tip error is refused, not 0 m')
def sensors_off(place):
    place.scene(arm_toml=arm(bend_torque_limit=0.02), scene_xml=scene(flag='sensor="disable"'), e_toml=experiment(TIP))
    return refused_metric(place, "sensor")


@row("S-sensor-plain", 2, '<flag sensor="disable"/> and no checks: told, no status of 0')
def sensors_off_plain(place):
    place.scene(scene_xml=scene(flag='sensor="disable"', target="0.5 0 0.1"))
    answer = place.run("scene.xml", "--duration", "0.5")
    sound(answer)
    return require(says(answer, "sensor", "disable|switched off|off"), answer.seen())


@row("S-sensor-report", 2, '<flag sensor="disable"/>: td.Experiment is as honest as the program')
def sensors_off_python(place):
    place.scene(scene_xml=scene(flag='sensor="disable"', target="0.5 0 0.1"))
    answer = place.python("r = td.Experiment('e.toml').run(); print('passes' if r.passes else 'fails')")
    return require("passes" not in answer.out, answer.seen())


HINGED = 'kind = "snake"\njoints = 6\nlink_length = 0.06\n[controller]\nplugin = "tendril.snake"\ngoals = [1, 0]\n'
WELD = """<equality><weld body1="A_s2_l5" body2="post"/></equality>"""
FLAGS = {  # pattern; what needs it
    "actuation": ("actuation", {}),
    "spring": ("spring|stiffness", {}),
    "damper": ("damper|damping", {}),
    "gravcomp": ("", {}),
    "clampctrl": ("clampctrl", {}),
    "limit": ("limit", {"robot": HINGED}),
    "equality": ("equality", {"bodies": '<body name="post" pos="0 0 0.2"/>', "tail": WELD}),
    "constraint": ("constraint", {"before": WALL}),
    "contact": ("contact", {"before": WALL}),
}


def flag_told(key, pattern, parts):
    @row(f"S-flag-{key}", 2, f'<flag {key}="disable"/>, on which the scene depends, is reported before the first step')
    def show(place):
        others = {name: text for name, text in parts.items() if name != "robot"}
        place.scene(arm_toml=parts.get("robot"), scene_xml=scene(flag=f'{key}="disable"', **others))
        answer = place.run("scene.xml", "--duration", "0.1")
        sound(answer)
        line = says(answer, "notice|tendril:", pattern, "disable|switched off|flag")
        return require(line, answer.seen() + f" (no notice of {key})")


for _key, (_pattern, _parts) in FLAGS.items():
    if _pattern:
        flag_told(_key, _pattern, _parts)


@row("S-actuator-group", 2, 'actuatorgroupdisable="0", which switches off the servos, is reported')
def actuator_group(place):
    place.scene(scene_xml=scene(option='actuatorgroupdisable="0"'), e_toml=experiment(TIP, duration=0.2))
    answer = place.run()
    sound(answer)
    return require(says(answer, "actuatorgroupdisable|group 0|actuator"), answer.seen())


@row("S-springs-exact", 2, "a check that holds only because springs are off is not a pass without a word")
def springs_off(place):
    place.scene(scene_xml=scene(flag='spring="disable"'), e_toml=experiment(check("tip_error_end", max=1)))
    answer = place.run()
    return require(answer.code != 0 or says(answer, "notice", "spring"), answer.seen())


@row("S-limits-margin", 2, 'limit_margin with <flag limit="disable"/> is reported or refused')
def limit_margin(place):
    place.scene(
        scene_xml=scene(flag='limit="disable"'), e_toml=experiment(check("limit_margin_min", min=0), duration=0.2)
    )
    answer = place.run()
    return require(answer.code != 0 or says(answer, "notice", "limit"), answer.seen())


CANNOT_FAIL = {
    "settle-time": (check("settle_time", threshold=1e-9, min=0), "settle"),
    "wall-force": (check("wall_force_max", min=0), "min"),
    "tip-error": (check("tip_error_max", min=0), "min"),
    "penetration": (check("penetration_max", min=-1), "min"),
    "contact-count": (check("contact_count_max", min=0), "min"),
    "status": (check("status_end", min=0), "min"),
    "status-max": (check("status_end", max=10), "max"),
    "infinite-limit": (check("tip_error_max", max="inf"), "inf|finite"),
}


def cannot_fail(key, table, pattern):
    @row(f"S-never-{key}", 2, f"a check that can never fail is named at load: {key}")
    def show(place):
        place.scene(scene_xml=scene(before=WALL), e_toml=experiment(table, duration=0.1))
        answer = place.run()
        sound(answer)
        line = says(answer, "notice|tendril:", pattern)
        return require(line, f"without a word: {answer.seen()}")


for _key, (_table, _pattern) in CANNOT_FAIL.items():
    cannot_fail(_key, _table, _pattern)


@row("S-never-settles", 2, "settle_time that never settles does not hold for any limit")
def never_settles(place):
    place.scene(e_toml=experiment(check("settle_time", threshold=1e-12, min=0, max=100), duration=0.5))
    return not_passed(place.run())


DIVERGING = scene().replace('integrator="discrete"', 'integrator="Euler"')


@row("S-diverged", 2, "a run that diverged is not a pass in summary.json, though all its checks hold")
def diverged(place):
    place.scene(
        scene_xml=DIVERGING,
        e_toml=experiment(check("tip_error_min", before=0.003, max=1)),
    )
    answer = place.run()
    data = place.summary()
    require(data["outcome"] == "diverged", f"outcome {data['outcome']}: {answer.seen()}")
    return require(data["verdict"] != "pass" and answer.code == 3, f"diverged, verdict {data['verdict']}")


@row("S-diverged-python", 2, "td.Result.passes() of a run that diverged is False")
def diverged_python(place):
    place.scene(
        scene_xml=DIVERGING,
        e_toml=experiment(check("tip_error_min", before=0.003, max=1)),
    )
    answer = place.python("r = td.Experiment('e.toml').run(); print(r.outcome, r.passes)")
    return require("diverged False" in answer.out, answer.seen())


@row("S-diverged-sweep", 2, "a sweep whose runs diverged counts no pass")
def diverged_sweep(place):
    place.scene(
        scene_xml=DIVERGING,
        e_toml=experiment(check("tip_error_min", before=0.003, max=1)),
    )
    answer = place.package("sweep", "e.toml", "--seeds", "1", "--out", "s", "--no-report")
    return require("0 of 1" in answer.text, answer.seen())


def interrupt(place, *words):
    place.scene(e_toml=experiment(check("tip_error_end", max=1), duration=4000))
    process = place.start([place.program, "run", "e.toml", *words])
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    return place.finish(process)


@row("S-interrupted", 2, "a run that was interrupted is not a pass in summary.json")
def interrupted(place):
    answer = interrupt(place, "--no-report")
    data = place.summary()
    return require(
        data["verdict"] != "pass" and answer.code == 130, f"{data['outcome']}, verdict {data['verdict']}, {answer.code}"
    )


@row("S-interrupted-report", 2, "the report of an interrupted run has no badge of success")
def interrupted_report(place):
    interrupt(place)
    folder = next(place.folder.glob("out/*"))
    if not (folder / "report.html").exists():
        answer = place.finish(place.start([place.interpreter, "-m", "tendril.report", folder]))
        require(answer.code == 0, answer.seen())
    text = (folder / "report.html").read_text()
    return require("checks hold" not in text and "check holds" not in text, "report.html: all checks hold")


@row("S-no-checks", 2, 'a sweep of an experiment without checks does not say "2 of 2 passed"')
def no_checks(place):
    place.scene(e_toml=experiment(duration=0.1))
    answer = place.package("sweep", "e.toml", "--seeds", "2", "--out", "s", "--no-report")
    return require("2 of 2 passed" not in answer.text and "100" not in answer.text, answer.seen())


@row("S-no-checks-page", 2, "the sweep's report of an experiment without checks shows no rate of success")
def no_checks_page(place):
    place.scene(e_toml=experiment(duration=0.1))
    sound(place.package("sweep", "e.toml", "--seeds", "2", "--out", "s"))
    text = (place.folder / "s/report.html").read_text()
    return require("100.0 %" not in text and "100 %" not in text, "report.html: 100 %")


WAIVERS = {
    "end": check("status_end", max=0),
    "end-of-9": check("status_end", max=9),
    "max-in-window": check("status_max", max=4, after=0.8),
    "min": check("status_min", max=0),
    "sensor": check("sensor:A_status:end", max=0),
}


@row("S-waiver", 2, "a fault of a controller (status 5) fails the run, whatever check of a status there is")
def waiver(place):
    def show(table):
        place.scene(scene_xml=scene(target="0 0 0.2"), e_toml=experiment(TIP, table))
        return not_passed(place.own("report.tip_error = 0.0; report.status = 5 if m.time < 0.5 else 0"))

    return each(WAIVERS, show)


@row("S-waiver-other-robot", 2, "a check of one robot's status does not waive the fault of another")
def waiver_other(place):
    place.scene(
        arm_toml=arm(controller='[controller]\nplugin = "my.own"\n'),
        scene_xml=scene(
            target="0 0 0.2",
            assets='<model name="other" file="other.toml"/>',
            bodies='<frame pos="0.5 0 0"><attach model="other" body="base" prefix="B_"/></frame>'
            '<body name="near" mocap="true" pos="0.5 0 0.2"/>',
        ),
        e_toml=experiment(check("sensor:B_status:end", max=0)),
    )
    place.put("other.toml", arm(controller=REACH.replace('"target"', '"near"')))
    place.put("own.py", controller("report.tip_error = 0.0; report.status = 5 if m.time < 0.5 else 0"))
    return not_passed(place.package("run", "e.toml", "--no-report", "--python", "own.py"))


@row("S-asked-fault", 2, "a check that asks for a fault (status_max from 5 to 5) is a pass")
def asked_fault(place):
    place.scene(scene_xml=scene(target="0 0 0.2"), e_toml=experiment(check("status_max", min=5, max=5)))
    return passed(place.own("report.status = 5 if m.time < 0.5 else 0"))


@row("S-window", 2, "a check whose window has no step does not hold")
def empty_window(place):
    place.scene(e_toml=experiment(check("tip_error_max", after=0.9999, before=0.99995, max=1)))
    answer = place.run()
    return not_passed(answer)


@row("S-table", 2, 'the outcome "diverged" is in the table of checks, not "ok" alone')
def diverged_table(place):
    place.scene(
        scene_xml=DIVERGING,
        e_toml=experiment(check("tip_error_min", before=0.003, max=1)),
    )
    answer = place.run()
    lines = [s for s in answer.lines() if "tip_error_min" in s]
    return require(lines and not any(s.rstrip().endswith("ok") for s in lines), lines[0] if lines else answer.seen())


@row("S-exception", 2, "a controller that raises in its last step fails the run")
def raises(place):
    place.scene(scene_xml=scene(target="0 0 0.2"))
    body = "report.tip_error = 0.0\n        if m.time > 0.995: raise RuntimeError('boom')"
    answer = place.own(body)
    return not_passed(answer)


@row("S-exit", 2, "a controller that ends the program by SystemExit does not end it with 0")
def exits(place):
    place.scene(scene_xml=scene(target="0 0 0.2"))
    body = "report.tip_error = 0.0\n        if m.time > 0.5: raise SystemExit(0)"
    return not_passed(place.own(body))


@row("S-sweep-digest", 2, "verdicts of the journal are those of summary.json")
def journal_verdict(place):
    place.scene(scene_xml=scene(target="0.5 0 0.1"))
    place.put("own.py", controller("report.tip_error = 0.0"))
    sound(place.package("sweep", "e.toml", "--seeds", "1", "--out", "s", "--no-report"))
    line = next((place.folder / "s/journal").glob("*.jsonl")).read_text().split(" ", 1)[1]
    data = json.loads(line)
    return require(data.get("verdict") == "fail", str(data)[:120])


@row("S-unknown-flag", 2, "an unknown metric is refused by name")
def unknown(place):
    place.scene(e_toml=experiment(check("tip_eror_end", max=1)))
    return refused(place.run(), "e.toml", "tip_eror")
