'use strict';
// Plays a packed recording (tendril/_playback.py) with WebGL 2. No library, no request.

const $ = id => document.getElementById(id);
const root = document.documentElement;
const problems = [];
function fail(text) {
  problems.push(text);
  root.dataset.state = 'failed';
  root.dataset.errors = problems.join(' | ');
  $('message').textContent = text;
  $('message').hidden = false;
}
addEventListener('error', event => fail(event.message));
addEventListener('unhandledrejection', event => fail(String(event.reason)));
addEventListener('securitypolicyviolation', event => fail(`refused: ${event.blockedURI} ${event.violatedDirective}`));

// ---- Data -----------------------------------------------------------------------------------------------------------

// Planes of bytes of zigzag differences, channel by channel; see Blob in _playback.py.
function decode([kind, channels, n, order], bytes) {
  const width = Number(kind[1]), count = channels * n;
  const words = width === 2 ? new Uint16Array(count) : new Uint32Array(count);
  for (let b = 0; b < width; ++b) for (let i = 0; i < count; ++i) words[i] |= bytes[b * count + i] << (8 * b);
  if (order) for (let i = 0; i < count; ++i) words[i] = (words[i] >>> 1) ^ -(words[i] & 1);
  for (let o = 0; o < order; ++o) {
    for (let c = 0; c < channels; ++c) {
      for (let i = c * n + 1; i < (c + 1) * n; ++i) words[i] += words[i - 1];
    }
  }
  return kind[0] === 'f' ? new Float32Array(words.buffer) : words;
}

async function unpack() {
  const packed = Uint8Array.from(atob($('data').textContent), c => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const content = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  let at = 4 + length;
  for (const [name, form] of Object.entries(content.arrays)) {
    const size = form[1] * form[2] * Number(form[0][1]);
    content.arrays[name] = Object.assign(decode(form, bytes.subarray(at, at + size)), {channels: form[1], n: form[2]});
    at += size;
  }
  return content;
}

// ---- Vectors, rotations (w, x, y, z), matrices by columns ------------------------------------------------------------

const add = (a, b, s = 1) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const scale = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const norm = a => Math.hypot(a[0], a[1], a[2]);
const unit = a => scale(a, 1 / (norm(a) || 1));
const clamp = (x, low, high) => Math.min(high, Math.max(low, x));
function turn(q, v) {
  const u = [q[1], q[2], q[3]];
  return add(v, cross(u, add(cross(u, v), v, q[0])), 2);
}
function product(a, b) {
  return [a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3], a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
          a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1], a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]];
}
// From z to a direction.
function towards(d) {
  if (d[2] < -0.999999) return [0, 1, 0, 0];
  const q = [1 + d[2], -d[1], d[0], 0], n = Math.hypot(...q);
  return q.map(x => x / n);
}
function multiply(a, b) {
  const out = new Float32Array(16);
  for (let c = 0; c < 4; ++c) for (let r = 0; r < 4; ++r) {
    for (let k = 0; k < 4; ++k) out[4 * c + r] += a[4 * k + r] * b[4 * c + k];
  }
  return out;
}
// World to a camera with axes right, up, forward.
function view(eye, right, up, forward) {
  const back = scale(forward, -1);
  return [right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0,
          -dot(right, eye), -dot(up, eye), -dot(back, eye), 1];
}
// `shift`: how far the middle is left of the middle of the image, as part of half its width.
function perspective(fovy, aspect, near, far, shift) {
  const f = 1 / Math.tan(fovy / 2);
  return [f / aspect, 0, 0, 0, 0, f, 0, 0, shift, 0, (far + near) / (near - far), -1, 0, 0, 2 * far * near / (near - far), 0];
}

// ---- Shapes: position, normal, share of the half length along z ------------------------------------------------------

// A surface of revolution around z of a profile [radius, z, normal radius, normal z, along].
function revolve(profile, slices = 28) {
  const vertices = [], faces = [];
  profile.forEach(([r, z, nr, nz, along]) => {
    for (let i = 0; i <= slices; ++i) {
      const a = 2 * Math.PI * i / slices, c = Math.cos(a), s = Math.sin(a);
      vertices.push(r * c, r * s, z, nr * c, nr * s, nz, along);
    }
  });
  for (let j = 0; j + 1 < profile.length; ++j) for (let i = 0; i < slices; ++i) {
    const a = j * (slices + 1) + i, b = a + slices + 1;
    faces.push(a, a + 1, b + 1, a, b + 1, b);
  }
  return {vertices: new Float32Array(vertices), faces: new Uint32Array(faces)};
}
function sphere(along) {
  const profile = [], rings = 8;
  for (let i = -rings; i <= rings; ++i) {
    const a = Math.PI / 2 * i / rings, c = Math.cos(a), s = Math.sin(a);
    if (i === 0) profile.push([1, 0, 1, 0, -along]);
    profile.push([c, s, c, s, i < 0 ? -along : along]);
  }
  return revolve(profile);
}
function box() {
  const vertices = [], faces = [];
  for (let axis = 0; axis < 3; ++axis) for (const side of [-1, 1]) {
    const first = vertices.length / 7;
    for (const [u, v] of [[-1, -1], [1, -1], [1, 1], [-1, 1]]) {
      const p = [0, 0, 0], n = [0, 0, 0];
      p[axis] = n[axis] = side;
      p[(axis + 1) % 3] = u * side;
      p[(axis + 2) % 3] = v;
      vertices.push(...p, ...n, 0);
    }
    faces.push(first, first + 1, first + 2, first, first + 2, first + 3);
  }
  return {vertices: new Float32Array(vertices), faces: new Uint32Array(faces)};
}
// Normals of the faces around a corner that are within 40 degrees are averaged.
function mesh(points, triangles) {
  const corners = triangles.length, normals = [], around = new Map();
  const at = i => [points[3 * i], points[3 * i + 1], points[3 * i + 2]];
  for (let f = 0; f < corners; f += 3) {
    const a = at(triangles[f]);
    const n = cross(add(at(triangles[f + 1]), a, -1), add(at(triangles[f + 2]), a, -1));
    normals.push(n);
    for (let k = 0; k < 3; ++k) {
      const key = at(triangles[f + k]).join();
      if (!around.has(key)) around.set(key, []);
      around.get(key).push(n);
    }
  }
  const vertices = new Float32Array(7 * corners), faces = Uint32Array.from({length: corners}, (_, i) => i);
  for (let i = 0; i < corners; ++i) {
    const p = at(triangles[i]), own = normals[Math.floor(i / 3)];
    let n = [0, 0, 0];
    for (const other of around.get(p.join())) if (dot(other, own) > 0.77 * norm(other) * norm(own)) n = add(n, other);
    vertices.set([...p, ...unit(n), 0], 7 * i);
  }
  return {vertices, faces};
}

// ---- Shaders --------------------------------------------------------------------------------------------------------

const SURFACE = `#version 300 es
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in float along;
layout(location = 3) in vec3 place;
layout(location = 4) in vec4 rotation;
layout(location = 5) in vec4 size;
layout(location = 6) in vec4 color;
uniform mat4 camera;
out vec3 world; out vec3 outward; out vec4 tint;
invariant gl_Position;
vec3 turned(vec3 v) { return v + 2.0 * cross(rotation.yzw, cross(rotation.yzw, v) + rotation.x * v); }
void main() {
  world = place + turned(position * size.xyz + vec3(0.0, 0.0, along * size.w));
  outward = turned(normal / size.xyz);
  tint = color;
  gl_Position = camera * vec4(world, 1.0);
}`;
const LIGHT = `
uniform highp sampler2DShadow shadows;
uniform mat4 light;
uniform vec3 sun; uniform float shade; uniform float softness;
float lit(vec3 p, vec3 n) {
  if (shade == 0.0) return 1.0;
  vec4 q = light * vec4(p + n * softness, 1.0);
  vec3 s = q.xyz / q.w * 0.5 + 0.5;
  if (any(lessThan(s, vec3(0.0))) || any(greaterThan(s, vec3(1.0)))) return 1.0;
  float sum = 0.0;
  for (int x = -2; x < 2; ++x) for (int y = -2; y < 2; ++y)
    sum += texture(shadows, vec3(s.xy + (vec2(x, y) + 0.5) * 1.7 / 2048.0, s.z - 0.0008));
  return mix(1.0, sum / 16.0, shade);
}`;
const MATT = `#version 300 es
precision highp float;
in vec3 world; in vec3 outward; in vec4 tint;
uniform vec3 eye; uniform vec3 above; uniform vec3 below; uniform float glow; uniform float fade;
out vec4 result;
${LIGHT}
void main() {
  vec3 n = normalize(outward), v = normalize(eye - world);
  if (dot(n, v) < 0.0) n = -n;
  float visible = lit(world, n);
  vec3 fill = normalize(vec3(-sun.y, sun.x, 0.35));
  float key = max(0.0, (dot(n, sun) + 0.12) / 1.12) * visible;
  float second = max(0.0, (dot(n, fill) + 0.4) / 1.4);
  vec3 ambient = mix(below, above, 0.5 + 0.5 * n.z);
  float shine = pow(max(0.0, dot(n, normalize(sun + v))), 30.0) * visible;
  float edge = pow(1.0 - max(0.0, dot(n, v)), 4.0);
  vec3 base = pow(tint.rgb, vec3(2.2));
  vec3 c = base * (ambient + 0.85 * key + 0.16 * second) + 0.035 * shine + 0.05 * edge * above;
  c = mix(c, base, glow);
  result = vec4(pow(c, vec3(1.0 / 2.2)), tint.a * fade);
}`;
const FLOOR = `#version 300 es
layout(location = 0) in vec3 position;
layout(location = 3) in vec3 place;
layout(location = 4) in vec4 rotation;
layout(location = 5) in vec4 size;
uniform mat4 camera;
out vec3 world; out vec2 flat_;
vec3 turned(vec3 v) { return v + 2.0 * cross(rotation.yzw, cross(rotation.yzw, v) + rotation.x * v); }
void main() {
  flat_ = position.xy * size.xy;
  world = place + turned(vec3(flat_, 0.0));
  gl_Position = camera * vec4(world, 1.0);
}`;
const GRID = `#version 300 es
precision highp float;
in vec3 world; in vec2 flat_;
uniform vec3 eye; uniform vec3 ground; uniform vec3 ruled; uniform vec3 middle; uniform float reach; uniform float cell; uniform float endless;
uniform float shadow_strength;
out vec4 result;
${LIGHT}
float lines(vec2 p, float width) {
  vec2 w = fwidth(p), d = abs(fract(p - 0.5) - 0.5) / w;
  return (1.0 - min(min(d.x, d.y) / width, 1.0)) * (1.0 - smoothstep(0.15, 0.6, max(w.x, w.y)));
}
void main() {
  float d = length(world.xy - middle.xy) / reach;
  float seen = endless > 0.0 ? 1.0 - smoothstep(0.35, 1.0, d) : 1.0;
  float visible = lit(world, vec3(0.0, 0.0, 1.0));
  vec3 c = mix(ground, ruled, 0.55 * lines(world.xy / cell, 1.1) + 0.45 * lines(world.xy / (5.0 * cell), 1.3));
  c *= mix(1.0 - shadow_strength, 1.0, visible);
  result = vec4(c, seen * (eye.z < world.z ? 0.25 : 1.0));
}`;
const SKY_VERTEX = `#version 300 es
out vec2 at;
void main() { at = vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0); gl_Position = vec4(at, 1.0, 1.0); }`;
const SKY = `#version 300 es
precision highp float;
in vec2 at;
uniform vec3 right; uniform vec3 up; uniform vec3 forward;
uniform vec3 zenith; uniform vec3 horizon; uniform vec3 nadir;
out vec4 result;
void main() {
  float z = normalize(forward + at.x * right + at.y * up).z;
  vec3 c = mix(horizon, z > 0.0 ? zenith : nadir, smoothstep(0.0, 0.75, abs(z)));
  result = vec4(c + (fract(sin(dot(gl_FragCoord.xy, vec2(12.9898, 78.233))) * 43758.5453) - 0.5) / 255.0, 1.0);
}`;
const DEPTH = `#version 300 es
precision highp float;
void main() {}`;

const THEMES = {
  light: {zenith: [0.80, 0.86, 0.92], horizon: [0.953, 0.962, 0.972], nadir: [0.90, 0.915, 0.93], ground: [0.905, 0.917, 0.93],
    ruled: [0.70, 0.735, 0.77], above: [0.44, 0.46, 0.49], below: [0.23, 0.225, 0.22], shadow: 0.30},
  dark: {zenith: [0.075, 0.09, 0.11], horizon: [0.155, 0.18, 0.205], nadir: [0.10, 0.115, 0.13], ground: [0.135, 0.155, 0.178],
    ruled: [0.30, 0.335, 0.37], above: [0.33, 0.36, 0.41], below: [0.12, 0.13, 0.15], shadow: 0.45},
};
const SUN = unit([-0.38, -0.55, 0.9]);
const PLANE = 0, HEIGHT_FIELD = 1, SPHERE = 2, CAPSULE = 3, ELLIPSOID = 4, CYLINDER = 5, BOX = 6, MESH = 7, CONE = 8;
const ACTUAL = [0.85, 0.16, 0.16, 1];  // centerline
const STRIDE = 15;  // numbers of an instance: place, rotation, size, half length, color
const SHADOW_SIZE = 2048, SIDES = 22, RINGS = 3;

// ---- Player ---------------------------------------------------------------------------------------------------------

class Player {
  constructor(content, gl) {
    this.content = content;
    this.a = content.arrays;
    this.gl = gl;
    this.times = Float64Array.from(this.a.tick, tick => content.start + tick * content.timestep);
    this.first = this.times[0];
    this.last = this.times[this.times.length - 1];
    this.places = new Float64Array(3 * content.bodies);
    this.turns = new Float64Array(4 * content.bodies);
    this.time = this.first;
    this.show = {contacts: true, plan: false, shadows: true};
    this.readGeoms();
    this.measure();
    this.makeScene();
    this.theme();
  }

  // ---- Motion

  // Poses of the bodies at a time, between two frames.
  pose(time) {
    const {times, a, content, places, turns} = this, n = times.length;
    let low = 0, high = n - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (times[middle] <= time) low = middle; else high = middle;
    }
    const u = high > low ? clamp((time - times[low]) / (times[high] - times[low]), 0, 1) : 0;
    this.frame = u < 0.5 ? low : high;
    for (let c = 0; c < places.length; ++c) {
      const v = a.position[c * n + low] * (1 - u) + a.position[c * n + high] * u;
      places[c] = content.low[c % 3] + (content.high[c % 3] - content.low[c % 3]) * v / 65535;
    }
    for (let b = 0; b < content.bodies; ++b) {
      let length = 0;
      for (let k = 0; k < 4; ++k) {
        const c = 4 * b + k;
        turns[c] = (a.rotation[c * n + low] * (1 - u) + a.rotation[c * n + high] * u) * 2 / 65535 - 1;
        length += turns[c] * turns[c];
      }
      for (let k = 0; k < 4; ++k) turns[4 * b + k] /= Math.sqrt(length);
    }
  }
  bodyPlace(body) { return [this.places[3 * body], this.places[3 * body + 1], this.places[3 * body + 2]]; }
  bodyTurn(body) { return Array.from(this.turns.subarray(4 * body, 4 * body + 4)); }

  readGeoms() {
    const {a, content} = this, n = content.geoms.length;
    this.geoms = content.geoms.map(([type, body, meshNumber, textured, robot], i) => {
      const x = k => a.geoms[k * n + i];
      return {type, body, mesh: meshNumber, textured, robot, place: [x(0), x(1), x(2)], rotation: [x(3), x(4), x(5), x(6)],
        size: [x(7), x(8), x(9)], color: [x(10), x(11), x(12), x(13)]};
    });
    this.chains = content.chains.map(chain => chain.map(i => this.geoms[i]));
    for (const chain of this.chains) for (const geom of chain) geom.chained = true;
  }
  worldPose(geom) {
    if (geom.body < 0) return [geom.place, geom.rotation];
    const q = this.bodyTurn(geom.body);
    return [add(this.bodyPlace(geom.body), turn(q, geom.place)), product(q, geom.rotation)];
  }
  reachOf(geom) {
    if (geom.type === MESH || geom.type === HEIGHT_FIELD) {
      const b = this.a['box' + geom.mesh];
      return Math.hypot(...[0, 1, 2].map(k => Math.max(Math.abs(b[k]), Math.abs(b[k + 3]))));
    }
    const [x, y, z] = geom.size;
    return geom.type === SPHERE ? x : geom.type === CAPSULE ? x + y : geom.type === CYLINDER ? Math.hypot(x, y) : Math.hypot(x, y, z);
  }

  // Points that an image must show: robots (without one: what moves) over the whole motion, and what is stationary near them.
  measure() {
    const points = [], n = this.times.length, robots = this.geoms.some(g => g.robot);
    const moving = this.geoms.filter(g => robots ? g.robot : g.body >= 0);
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
    const take = (p, r) => {
      points.push([...p, r]);
      for (let k = 0; k < 3; ++k) { low[k] = Math.min(low[k], p[k] - r); high[k] = Math.max(high[k], p[k] + r); }
    };
    const count = Math.min(n, 48);
    for (let i = 0; i < count && moving.length; ++i) {
      this.pose(this.times[Math.round(i * (n - 1) / Math.max(1, count - 1))]);
      for (const geom of moving) take(this.worldPose(geom)[0], this.reachOf(geom));
    }
    const still = this.geoms.filter(g => g.body < 0 && g.type !== PLANE && !moving.includes(g));
    const space = points.length ? 0.2 * norm(add(high, low, -1)) : Infinity;
    const [l, h] = [low.slice(), high.slice()];
    for (const geom of still) {
      const r = this.reachOf(geom);
      const near = geom.place.every((x, k) => !points.length || (x > l[k] - space && x < h[k] + space));
      if ((near && r < 2 * space) || !moving.length) take(geom.place, Math.min(r, 2 * space));
    }
    if (!points.length) take(this.content.center, this.content.extent / 2);
    this.points = points;
    this.low = low;
    this.high = high;
    this.middle = scale(add(low, high), 0.5);
    this.radius = norm(add(high, low, -1)) / 2;
  }

  // ---- Scene on the graphics card

  program(vertex, fragment) {
    const {gl} = this, program = gl.createProgram();
    for (const [type, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    const uniforms = {};
    for (let i = 0; i < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); ++i) {
      const {name} = gl.getActiveUniform(program, i);
      uniforms[name] = gl.getUniformLocation(program, name);
    }
    return {program, uniforms};
  }

  // Vertices of a shape and room for its instances.
  batch(shape, capacity) {
    const {gl} = this, vao = gl.createVertexArray();
    gl.bindVertexArray(vao);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, shape.vertices, gl.STATIC_DRAW);
    [[0, 3, 0], [1, 3, 12], [2, 1, 24]].forEach(([location, size, offset]) => {
      gl.enableVertexAttribArray(location);
      gl.vertexAttribPointer(location, size, gl.FLOAT, false, 28, offset);
    });
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, shape.faces, gl.STATIC_DRAW);
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, 4 * STRIDE * capacity, gl.DYNAMIC_DRAW);
    [[3, 3, 0], [4, 4, 12], [5, 4, 28], [6, 4, 44]].forEach(([location, size, offset]) => {
      gl.enableVertexAttribArray(location);
      gl.vertexAttribPointer(location, size, gl.FLOAT, false, 4 * STRIDE, offset);
      gl.vertexAttribDivisor(location, 1);
    });
    gl.bindVertexArray(null);
    return {vao, buffer, faces: shape.faces.length, data: new Float32Array(STRIDE * capacity), count: 0, capacity};
  }
  put(batch, place, rotation, size, half, color) {
    if (batch.count === batch.capacity) return;
    const at = STRIDE * batch.count++;
    batch.data.set(place, at);
    batch.data.set(rotation, at + 3);
    batch.data.set(size, at + 7);
    batch.data[at + 10] = half;
    batch.data.set(color, at + 11);
  }
  upload(batch) {
    const {gl} = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, batch.buffer);
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, batch.data.subarray(0, STRIDE * batch.count));
  }

  makeScene() {
    const {gl, content, a} = this;
    this.matt = this.program(SURFACE, MATT);
    this.depth = this.program(SURFACE, DEPTH);
    this.floor = this.program(FLOOR, GRID);
    this.sky = this.program(SKY_VERTEX, SKY);
    this.empty = gl.createVertexArray();
    const shapes = {[SPHERE]: sphere(0), [CAPSULE]: sphere(1),
      [CYLINDER]: revolve([[0, -1, 0, -1, 0], [1, -1, 0, -1, 0], [1, -1, 1, 0, 0], [1, 1, 1, 0, 0], [1, 1, 0, 1, 0], [0, 1, 0, 1, 0]]),
      [BOX]: box(), [CONE]: revolve([[0, 0, 0, -1, 0], [1, 0, 0, -1, 0], [1, 0, 0.7, 0.7, 0], [0, 1, 0.7, 0.7, 0]], 20),
      [PLANE]: {vertices: new Float32Array([[-1, -1], [1, -1], [1, 1], [-1, 1]].flatMap(([x, y]) => [x, y, 0, 0, 0, 1, 0])),
        faces: new Uint32Array([0, 1, 2, 0, 2, 3])}};
    shapes[ELLIPSOID] = shapes[SPHERE];
    for (let i = 0; i < content.meshes; ++i) {
      const n = a['points' + i].n, b = a['box' + i], points = new Float64Array(3 * n);
      for (let k = 0; k < 3; ++k) for (let j = 0; j < n; ++j) {
        points[3 * j + k] = b[k] + (b[k + 3] - b[k]) * a['points' + i][k * n + j] / 65535;
      }
      shapes['mesh' + i] = mesh(points, a['faces' + i]);
    }
    // Geoms of one shape, opaque, transparent, or of a robot (transparent with the planned centerline).
    this.batches = {};
    for (const geom of this.geoms) {
      if (geom.type === PLANE || geom.chained) continue;
      const shape = geom.mesh >= 0 ? 'mesh' + geom.mesh : geom.type;
      const layer = geom.color[3] < 0.99 ? 'clear' : geom.robot ? 'robot' : 'solid';
      geom.key = layer + ' ' + shape;
      (this.batches[geom.key] ??= {shape, layer, geoms: []}).geoms.push(geom);
    }
    for (const group of Object.values(this.batches)) group.batch = this.batch(shapes[group.shape], group.geoms.length);
    this.planes = this.geoms.filter(g => g.type === PLANE);
    this.planeBatch = this.batch(shapes[PLANE], 1);
    // Continuum bodies.
    this.tubes = this.chains.map(chain => this.makeTube(chain));
    this.caps = this.batch(shapes[SPHERE], 2 * this.chains.length + 1);
    // Contacts and what the controllers draw.
    let most = 1;
    this.contactStart = [0];
    if (content.contacts) for (const count of a.contact_count) {
      most = Math.max(most, count);
      this.contactStart.push(this.contactStart[this.contactStart.length - 1] + count);
    }
    this.marks = [this.batch(shapes[SPHERE], most), this.batch(shapes[CYLINDER], most), this.batch(shapes[CONE], most)];
    const segments = [...this.chains.map(chain => chain.length), ...content.drawings.map(d => a[d.name].channels / 6)].reduce((x, y) => x + y, 1);
    this.lines = this.batch(shapes[CAPSULE], segments);
    this.spheres = this.batch(shapes[SPHERE], segments);

    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, SHADOW_SIZE, SHADOW_SIZE);
    for (const [name, value] of [[gl.TEXTURE_MIN_FILTER, gl.LINEAR], [gl.TEXTURE_MAG_FILTER, gl.LINEAR],
      [gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE], [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE], [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE]]) {
      gl.texParameteri(gl.TEXTURE_2D, name, value);
    }
    this.shadowMap = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.shadowMap);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, texture, 0);
    gl.drawBuffers([gl.NONE]);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);

    const r = 1.05 * this.radius, right = unit(cross(SUN, [0, 0, 1])), up = cross(right, scale(SUN, -1));
    const eye = add(this.middle, SUN, 3 * r);
    const box_ = [1 / r, 0, 0, 0, 0, 1 / r, 0, 0, 0, 0, -2 / (6 * r), 0, 0, 0, -1, 1];
    this.light = multiply(box_, view(eye, right, up, scale(SUN, -1)));
    this.softness = 3 * r / SHADOW_SIZE;
  }

  // One smooth body through the ends of a chain of capsules.
  makeTube(chain) {
    const {gl} = this, rings = chain.length * (RINGS + 1), vao = gl.createVertexArray(), faces = [];
    for (let ring = 0; ring + 1 < rings; ++ring) {
      for (let i = 0; i < SIDES; ++i) {
        const a = ring * SIDES + i, b = ring * SIDES + (i + 1) % SIDES;
        faces.push(a, b, b + SIDES, a, b + SIDES, a + SIDES);
      }
    }
    gl.bindVertexArray(vao);
    const buffer = gl.createBuffer(), data = new Float32Array(10 * rings * SIDES);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data.byteLength, gl.DYNAMIC_DRAW);
    [[0, 3, 0], [1, 3, 12], [6, 4, 24]].forEach(([location, size, offset]) => {
      gl.enableVertexAttribArray(location);
      gl.vertexAttribPointer(location, size, gl.FLOAT, false, 40, offset);
    });
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, new Uint32Array(faces), gl.STATIC_DRAW);
    gl.bindVertexArray(null);
    return {chain, vao, buffer, data, faces: faces.length, layer: chain[0].color[3] < 0.99 ? 'clear' : 'robot'};
  }
  bendTube(tube) {
    const {chain, data} = tube, joints = [];
    const poses = chain.map(geom => this.worldPose(geom)), ahead = add(poses[1][0], poses[0][0], -1);
    const side = dot(turn(poses[0][1], [0, 0, 1]), ahead) < 0 ? -1 : 1;  // links may point to the base
    chain.forEach((geom, i) => {
      const [place, rotation] = poses[i], half = turn(rotation, [0, 0, side * geom.size[1]]);
      const start = add(place, half, -1), end = add(place, half);
      if (i) joints[i] = scale(add(joints[i], start), 0.5); else joints[0] = start;
      joints[i + 1] = end;
    });
    tube.joints = joints;
    const n = chain.length, tangent = joints.map((_, i) =>
      i === 0 ? add(joints[1], joints[0], -1) : i === n ? add(joints[n], joints[n - 1], -1) : scale(add(joints[i + 1], joints[i - 1], -1), 0.5));
    let across = unit(cross(tangent[0], Math.abs(unit(tangent[0])[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0])), at = 0;
    for (let i = 0; i < n; ++i) {
      const radius = chain[i].size[0], color = chain[i].color;
      for (let k = 0; k <= RINGS; ++k) {
        const t = k / RINGS, t2 = t * t, t3 = t2 * t;  // Hermite's cubic
        const p = [0, 1, 2].map(c => (2 * t3 - 3 * t2 + 1) * joints[i][c] + (t3 - 2 * t2 + t) * tangent[i][c] +
          (3 * t2 - 2 * t3) * joints[i + 1][c] + (t3 - t2) * tangent[i + 1][c]);
        const d = unit([0, 1, 2].map(c => 6 * (t2 - t) * (joints[i][c] - joints[i + 1][c]) + (3 * t2 - 4 * t + 1) * tangent[i][c] +
          (3 * t2 - 2 * t) * tangent[i + 1][c]));
        across = unit(add(across, d, -dot(across, d)));
        const other = cross(d, across);
        for (let j = 0; j < SIDES; ++j) {
          const c = Math.cos(2 * Math.PI * j / SIDES), s = Math.sin(2 * Math.PI * j / SIDES);
          for (let m = 0; m < 3; ++m) {
            data[at + 3 + m] = c * across[m] + s * other[m];
            data[at + m] = p[m] + radius * data[at + 3 + m];
          }
          data.set(color, at + 6);
          at += 10;
        }
      }
    }
    const {gl} = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, tube.buffer);
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, data);
    for (const [i, joint] of [[0, 0], [n - 1, n]]) {
      this.put(this.caps, joints[joint], [1, 0, 0, 0], Array(3).fill(chain[i].size[0]), 0, chain[i].color);
    }
  }

  place() {
    this.pose(this.time);
    for (const {geoms, batch} of Object.values(this.batches)) {
      batch.count = 0;
      for (const geom of geoms) {
        const [place, rotation] = this.worldPose(geom), [x, y, z] = geom.size;
        const size = {[SPHERE]: [x, x, x], [CAPSULE]: [x, x, x], [CYLINDER]: [x, x, y]}[geom.type] || [x, y, z];
        this.put(batch, place, rotation, size, geom.type === CAPSULE ? y : 0, geom.color);
      }
      this.upload(batch);
    }
    this.caps.count = 0;
    for (const tube of this.tubes) this.bendTube(tube);
    this.upload(this.caps);
    this.placeContacts();
    this.placeDrawings();
  }
  placeContacts() {
    const {content, a, marks, frame} = this, n = content.contacts, e = content.extent;
    for (const batch of marks) batch.count = 0;
    if (n && this.show.contacts) for (let i = this.contactStart[frame]; i < this.contactStart[frame + 1]; ++i) {
      const p = [0, 1, 2].map(k => content.contact_low[k] + (content.contact_high[k] - content.contact_low[k]) * a.contact_point[k * n + i] / 4095);
      const root_ = Math.sqrt(content.force);
      const force = [0, 1, 2].map(k => { const s = (a.contact_force[k * n + i] / 511 - 1) * root_; return s * Math.abs(s); });
      const f = norm(force), color = [0.96, 0.33, 0.10, 1], thin = 0.0035 * e;
      this.put(marks[0], p, [1, 0, 0, 0], [1.5 * thin, 1.5 * thin, 1.5 * thin], 0, [0.98, 0.75, 0.18, 1]);
      const length = 0.1 * f * e / (1 + 0.4 * f);
      if (length < thin) continue;
      const d = scale(force, 1 / f), q = towards(d), head = Math.min(4 * thin, 0.5 * length);
      this.put(marks[1], add(p, d, (length - head) / 2), q, [thin, thin, (length - head) / 2], 0, color);
      this.put(marks[2], add(p, d, length - head), q, [2.2 * thin, 2.2 * thin, head], 0, color);
    }
    marks.forEach(batch => this.upload(batch));
  }
  placeDrawings() {
    const {content, a, lines, spheres} = this;
    lines.count = spheres.count = 0;
    for (const drawing of content.drawings) {
      const v = a[drawing.name], moment = Math.round((v.n - 1) * this.frame / Math.max(1, this.times.length - 1));
      const color = drawing.color.map(c => c / 255);
      color[3] = 1;
      const thick = Math.max(drawing.radius, 0.0018 * content.extent);
      for (let s = 0; s < v.channels / 6; ++s) {
        const x = k => v[(6 * s + k) * v.n + moment];
        if (x(0) === 65535) continue;
        const at = k => drawing.low + (drawing.high - drawing.low) * x(k) / 65534;
        const p = [at(0), at(1), at(2)], q = [at(3), at(4), at(5)], d = add(q, p, -1), length = norm(d);
        if (drawing.sphere) this.put(spheres, p, [1, 0, 0, 0], [thick, thick, thick], 0, color);
        else this.put(lines, scale(add(p, q), 0.5), towards(unit(d)), [thick, thick, thick], length / 2, color);
      }
    }
    if (this.show.plan) for (const {joints} of this.tubes) for (let i = 0; i + 1 < joints.length; ++i) {
      const d = add(joints[i + 1], joints[i], -1), thick = 0.0026 * content.extent;
      this.put(lines, add(joints[i], d, 0.5), towards(unit(d)), [thick, thick, thick], norm(d) / 2, ACTUAL);
    }
    this.upload(lines);
    this.upload(spheres);
  }

  // ---- Drawing

  theme() {
    this.colors = THEMES[matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'];
  }
  drawBatch(batch) {
    if (!batch.count) return;
    const {gl} = this;
    gl.bindVertexArray(batch.vao);
    gl.drawElementsInstanced(gl.TRIANGLES, batch.faces, gl.UNSIGNED_INT, 0, batch.count);
  }
  drawTube(tube) {
    const {gl} = this;
    gl.bindVertexArray(tube.vao);
    gl.vertexAttrib1f(2, 0);
    gl.vertexAttrib3f(3, 0, 0, 0);
    gl.vertexAttrib4f(4, 1, 0, 0, 0);
    gl.vertexAttrib4f(5, 1, 1, 1, 0);
    gl.drawElements(gl.TRIANGLES, tube.faces, gl.UNSIGNED_INT, 0);
  }
  drawLayer(layer) {
    for (const group of Object.values(this.batches)) if (group.layer === layer) this.drawBatch(group.batch);
    for (const tube of this.tubes) if (tube.layer === layer) this.drawTube(tube);
    if (this.tubes.length && this.tubes[0].layer === layer) this.drawBatch(this.caps);
  }
  use({program, uniforms}, values) {
    const {gl} = this;
    gl.useProgram(program);
    for (const [name, value] of Object.entries(values)) {
      if (!(name in uniforms)) continue;
      if (value.length === 16) gl.uniformMatrix4fv(uniforms[name], false, value);
      else if (value.length === 3) gl.uniform3fv(uniforms[name], value);
      else gl.uniform1f(uniforms[name], value);
    }
    if (uniforms.shadows) gl.uniform1i(uniforms.shadows, 0);
  }
  draw() {
    const {gl} = this, canvas = gl.canvas, ratio = Math.min(devicePixelRatio || 1, 2);
    const width = Math.round(canvas.clientWidth * ratio), height = Math.round(canvas.clientHeight * ratio);
    if (!width || !height) return;
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
    this.place();
    const c = this.eye(width / height), t = this.colors;
    const distance = norm(add(c.place, this.middle, -1));
    const near = Math.max(0.002 * this.radius, 0.02 * (distance - this.radius)), far = distance + 40 * this.radius;
    const camera = multiply(perspective(c.fovy, width / height, near, far, this.shift()), view(c.place, c.right, c.up, c.forward));
    const common = {camera, eye: c.place, light: this.light, sun: SUN, above: t.above, below: t.below, softness: this.softness,
      shade: this.show.shadows ? 1 : 0, glow: 0, fade: 1};
    gl.enable(gl.DEPTH_TEST);
    gl.disable(gl.BLEND);
    if (this.show.shadows) {
      gl.bindFramebuffer(gl.FRAMEBUFFER, this.shadowMap);
      gl.viewport(0, 0, SHADOW_SIZE, SHADOW_SIZE);
      gl.clear(gl.DEPTH_BUFFER_BIT);
      this.use(this.depth, {camera: this.light});
      gl.enable(gl.POLYGON_OFFSET_FILL);
      gl.polygonOffset(1, 2);
      this.drawLayer('solid');
      this.drawLayer('robot');
      gl.disable(gl.POLYGON_OFFSET_FILL);
      gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    }
    gl.viewport(0, 0, width, height);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.disable(gl.DEPTH_TEST);
    gl.bindVertexArray(this.empty);
    const half = Math.tan(c.fovy / 2);
    this.use(this.sky, {right: scale(c.right, half * width / height), up: scale(c.up, half), forward: add(c.forward, c.right, this.shift() * half * width / height), zenith: t.zenith,
      horizon: t.horizon, nadir: t.nadir});
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    gl.enable(gl.DEPTH_TEST);
    this.use(this.matt, common);
    this.drawLayer('solid');
    if (!this.show.plan) this.drawLayer('robot');
    this.use(this.matt, {glow: 0.55, shade: 0});
    for (const batch of [this.lines, this.spheres, ...this.marks]) this.drawBatch(batch);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    this.drawFloor(common);
    this.use(this.matt, {...common, fade: 1});
    this.drawClear('clear', 1);
    if (this.show.plan) this.drawClear('robot', 0.28);
    // Marks behind other things shine through.
    gl.depthFunc(gl.GREATER);
    this.use(this.matt, {glow: 1, fade: 0.45});
    for (const batch of [this.spheres, ...this.marks]) this.drawBatch(batch);
    gl.depthFunc(gl.LESS);
    gl.bindVertexArray(null);
    this.showTime();
  }
  // Front surfaces alone: overlapping parts of one thing do not add up.
  drawClear(layer, fade) {
    const {gl} = this;
    this.use(this.matt, {fade});
    gl.colorMask(false, false, false, false);
    this.drawLayer(layer);
    gl.colorMask(true, true, true, true);
    gl.depthFunc(gl.LEQUAL);
    this.drawLayer(layer);
    gl.depthFunc(gl.LESS);
  }
  drawFloor(common) {
    const reach = 5 * this.radius, cell = 10 ** Math.round(Math.log10(this.radius / 5));
    for (const plane of this.planes) {
      const [place, rotation] = this.worldPose(plane), normal = turn(rotation, [0, 0, 1]);
      const level = normal[2] > 0.999 && plane.body < 0;
      const own = plane.textured ? null : plane.color.slice(0, 3);
      const ground = own ? this.colors.ground.map((g, k) => 0.55 * g + 0.45 * own[k] * (g + 0.25)) : this.colors.ground;
      this.use(this.floor, {...common, ground, ruled: this.colors.ruled, middle: this.middle, reach, cell, endless: level ? 1 : 0,
        shadow_strength: this.colors.shadow});
      this.planeBatch.count = 0;
      const size = level ? [1.2 * reach, 1.2 * reach, 1] : [plane.size[0] || reach, plane.size[1] || reach, 1];
      this.put(this.planeBatch, level ? [this.middle[0], this.middle[1], place[2]] : place, level ? [1, 0, 0, 0] : rotation, size, 0, plane.color);
      this.upload(this.planeBatch);
      this.drawBatch(this.planeBatch);
    }
  }

  // ---- Cameras

  // Plots cover a part of the image.
  shift() {
    const panel = $('panel'), width = this.gl.canvas.clientWidth;
    return panel.hidden || width < 760 ? 0 : (panel.offsetWidth + 14) / width;
  }

  // Of the scene, or the free one.
  eye(aspect) {
    const fixed = this.content.cameras[this.camera];
    if (fixed) {
      const q = fixed.body < 0 ? fixed.quat : product(this.bodyTurn(fixed.body), fixed.quat);
      const place = fixed.body < 0 ? fixed.pos : add(this.bodyPlace(fixed.body), turn(this.bodyTurn(fixed.body), fixed.pos));
      return {place, right: turn(q, [1, 0, 0]), up: turn(q, [0, 1, 0]), forward: turn(q, [0, 0, -1]), fovy: fixed.fovy * Math.PI / 180};
    }
    const {azimuth, elevation, distance, target} = this.free;
    const forward = [Math.cos(elevation) * Math.cos(azimuth), Math.cos(elevation) * Math.sin(azimuth), Math.sin(elevation)];
    const right = [Math.sin(azimuth), -Math.cos(azimuth), 0];
    return {place: add(target, forward, -distance), right, up: cross(right, forward), forward, fovy: 40 * Math.PI / 180};
  }
  // The free camera in the direction of the scene's first one, as near as possible so that it shows everything that moves.
  frameAll() {
    let forward = unit([-0.6, 0.7, -0.45]);
    const first = this.content.cameras[0];
    if (first && first.body < 0) forward = turn(first.quat, [0, 0, -1]);
    forward[2] = Math.min(forward[2], -0.08);
    forward = unit(forward);
    this.camera = -1;
    this.free = {azimuth: Math.atan2(forward[1], forward[0]), elevation: clamp(Math.asin(forward[2]), -1.45, 1.45), distance: 1, target: this.middle};
    const canvas = this.gl.canvas, aspect = Math.max(0.2, canvas.clientWidth / Math.max(1, canvas.clientHeight));
    const c = this.eye(aspect), tangentY = Math.tan(c.fovy / 2) * 0.86, tangentX = tangentY * aspect * (1 - this.shift());
    // As in the program: a camera at x sees a point when |x_p - x| <= a (z_p - z).
    const least = {x: [Infinity, Infinity], y: [Infinity, Infinity]};
    for (const p of this.points) {
      const r = p[3], x = dot(p, c.right), y = dot(p, c.up), z = dot(p, c.forward);
      const wx = r * Math.hypot(1, tangentX), wy = r * Math.hypot(1, tangentY);
      least.x = [Math.min(least.x[0], tangentX * z - x - wx), Math.min(least.x[1], tangentX * z + x - wx)];
      least.y = [Math.min(least.y[0], tangentY * z - y - wy), Math.min(least.y[1], tangentY * z + y - wy)];
    }
    const z = Math.min((least.x[0] + least.x[1]) / (2 * tangentX), (least.y[0] + least.y[1]) / (2 * tangentY));
    const x = (least.x[1] - least.x[0]) / 2, y = (least.y[1] - least.y[0]) / 2;
    const place = add(add(scale(c.right, x), c.up, y), c.forward, z);
    const distance = Math.max(0.1 * this.radius, dot(add(this.middle, place, -1), c.forward));
    Object.assign(this.free, {distance, target: add(place, c.forward, distance)});
  }
  // Leaves a camera of the scene where it is.
  release() {
    const fixed = this.content.cameras[this.camera];
    if (!fixed) return;
    const c = this.eye(1), distance = Math.max(0.2 * this.radius, dot(add(this.middle, c.place, -1), c.forward));
    this.camera = -1;
    this.free = {azimuth: Math.atan2(c.forward[1], c.forward[0]), elevation: clamp(Math.asin(clamp(c.forward[2], -1, 1)), -1.55, 1.55),
      distance, target: add(c.place, c.forward, distance)};
    $('camera').value = -1;
  }
  rotate(dx, dy) {
    this.release();
    this.free.azimuth -= 0.006 * dx;
    this.free.elevation = clamp(this.free.elevation - 0.006 * dy, -1.55, 1.55);
  }
  pan(dx, dy) {
    this.release();
    const c = this.eye(1), s = 2 * this.free.distance * Math.tan(c.fovy / 2) / this.gl.canvas.clientHeight;
    this.free.target = add(add(this.free.target, c.right, -s * dx), c.up, s * dy);
  }
  zoom(factor) {
    this.release();
    this.free.distance = clamp(this.free.distance * factor, 0.02 * this.radius, 30 * this.radius);
  }
  showTime() {}
}

// ---- Plots ----------------------------------------------------------------------------------------------------------

const COLORS = ['#1f6fb4', '#e08214', '#2a9d5c', '#c0392b', '#7b5ea7', '#8c6d46', '#d6589f', '#5f6b76'];
const BRIGHT = ['#6bb1f0', '#f2a65a', '#63c994', '#f07f72', '#b39ae0', '#c9a77f', '#f195c6', '#a5b1bd'];

function readable(value, unit_) {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value) < 1e-9 ? 0 : Math.abs(value), scaled = ['m', 'N', 's', 'rad', 'm/s'].includes(unit_);
  if (scaled && size > 0 && size < 0.1) {
    return size < 1e-4 ? `${(1e6 * value).toPrecision(3)} µ${unit_}` : `${(1e3 * value).toPrecision(3)} m${unit_}`;
  }
  const text = size >= 1000 ? value.toFixed(0) : String(size && Number(value.toPrecision(3)));
  return unit_ && !unit_.includes(',') ? `${text} ${unit_}` : text;
}

class Plots {
  constructor(player, seek) {
    this.player = player;
    this.seek = seek;
    this.content = player.content;
    const ticks = player.a.plot_time;
    this.times = Float64Array.from(ticks, tick => this.content.start + tick * 1e-5);
    this.shown = new Map();
    const list = $('more');
    list.add(new Option('Plot a sensor …', ''));
    this.content.plots.forEach((plot, i) => list.add(new Option(plot.name + (plot.unit && !plot.unit.includes(',') ? ` [${plot.unit}]` : ''), i)));
    list.onchange = () => {
      if (list.value !== '') this.toggle(Number(list.value));
      list.value = '';
    };
    this.content.plots.forEach((plot, i) => { if (plot.shown && (plot.high > 0 || plot.name === 'wall force') && this.shown.size < 4) this.toggle(i); });
  }
  toggle(i) {
    if (this.shown.has(i)) {
      this.shown.get(i).element.remove();
      this.shown.delete(i);
      return;
    }
    const plot = this.content.plots[i], element = document.createElement('div');
    element.className = 'plot';
    const head = document.createElement('div'), name = document.createElement('b'), value = document.createElement('span');
    const close = document.createElement('button'), canvas = document.createElement('canvas');
    head.className = 'head';
    name.textContent = name.title = plot.name;
    close.textContent = '×';
    close.title = 'close';
    close.onclick = () => this.toggle(i);
    const right = document.createElement('span');
    right.append(value, close);
    head.append(name, right);
    element.append(head, canvas);
    $('plots').append(element);
    const to = event => {
      const box = canvas.getBoundingClientRect();
      this.seek(this.player.first + (event.clientX - box.left) / box.width * (this.player.last - this.player.first));
    };
    canvas.onpointerdown = event => { canvas.setPointerCapture(event.pointerId); to(event); };
    canvas.onpointermove = event => { if (event.buttons) to(event); };
    const v = this.player.a['plot' + i];
    const at = (line, k) => v[line * v.n + k] === 4095 ? NaN : plot.low + (plot.high - plot.low) * v[line * v.n + k] / 4094;
    this.shown.set(i, {element, canvas, value, plot, at, lines: v.channels, n: v.n, image: null});
    this.draw();
  }
  // Lines are drawn once, the moment over them.
  draw() {
    const {first, last, time} = this.player;
    const dark = matchMedia('(prefers-color-scheme: dark)').matches, style = getComputedStyle(root);
    for (const shown of this.shown.values()) {
      const {canvas, plot, at, lines, n} = shown, ratio = devicePixelRatio || 1;
      const width = canvas.clientWidth, height = canvas.clientHeight;
      if (!width) continue;
      const key = `${width} ${height} ${ratio} ${dark}`;
      const x = t => (t - first) / (last - first || 1) * width;
      let low = Math.min(plot.low, plot.shown ? 0 : plot.low), high = plot.high;
      const top = high;
      if (high - low < 1e-9) high = low + 1;
      const y = value => 3 + (height - 6) * (1 - (value - low) / (high - low));
      if (shown.key !== key) {
        shown.key = key;
        shown.image = document.createElement('canvas');
        shown.image.width = canvas.width = Math.round(width * ratio);
        shown.image.height = canvas.height = Math.round(height * ratio);
        const g = shown.image.getContext('2d');
        g.scale(ratio, ratio);
        g.fillStyle = style.getPropertyValue('--fault');
        for (const fault of this.content.faults) g.fillRect(x(fault.start), 0, x(fault.end ?? last) - x(fault.start), height);
        g.strokeStyle = style.getPropertyValue('--plot-grid');
        g.lineWidth = 1;
        for (const part of [0.02, 0.5, 0.98]) {
          g.beginPath(); g.moveTo(0, Math.round(height * part) + 0.5); g.lineTo(width, Math.round(height * part) + 0.5); g.stroke();
        }
        g.lineWidth = 1.5;
        g.lineJoin = 'round';
        for (let line = 0; line < lines; ++line) {
          g.strokeStyle = (dark ? BRIGHT : COLORS)[line % 8];
          g.beginPath();
          let pen = false;
          for (let k = 0; k < n; ++k) {
            const value = at(line, k);
            if (Number.isNaN(value)) { pen = false; continue; }
            if (pen) g.lineTo(x(this.times[k]), y(value)); else g.moveTo(x(this.times[k]), y(value));
            pen = true;
          }
          g.stroke();
        }
        g.font = '11px system-ui, sans-serif';
        g.fillStyle = style.getPropertyValue('--soft');
        g.textAlign = 'right';
        g.strokeStyle = style.getPropertyValue('--page');
        g.lineWidth = 3;
        g.strokeText(readable(top, plot.unit), width - 2, 13);
        g.fillText(readable(top, plot.unit), width - 2, 13);
      }
      const g = canvas.getContext('2d');
      g.clearRect(0, 0, canvas.width, canvas.height);
      g.drawImage(shown.image, 0, 0);
      g.fillStyle = style.getPropertyValue('--ink');
      g.fillRect(Math.round(clamp(x(time), 0, width - 1) * ratio), 0, Math.max(1, ratio), canvas.height);
      let k = 0;
      while (k + 1 < n && this.times[k] < time - 1e-9) ++k;
      shown.value.textContent = Array.from({length: Math.min(lines, 3)}, (_, line) => readable(at(line, k), plot.unit)).join(', ') + (lines > 3 ? ' …' : '');
    }
  }
}

// ---- Controls -------------------------------------------------------------------------------------------------------

const KEYS = [['Space', 'play, pause'], ['← →', 'one frame (Shift: ten)'], ['Page ↑ ↓', 'a tenth'], ['Home, End', 'start, end'],
  ['+ −', 'speed'], ['Tab, Esc', 'next camera; free camera'], ['C', 'contacts and forces'], ['P', 'planned and actual centerline'],
  ['S', 'shadows'], ['L', 'plots'], ['F1', 'this list'], ['Drag', 'rotate (right or Shift: move)'], ['Wheel', 'zoom'], ['Double-click', 'show everything']];
const SPEEDS = [0.125, 0.25, 0.5, 1, 2, 4, 8];

function controls(player) {
  const canvas = $('view'), slider = $('slider'), state = {playing: false, speed: 1, before: 0, dirty: true};
  const redraw = () => { state.dirty = true; };
  const seek = time => { player.time = clamp(time, player.first, player.last); redraw(); };
  const plots = new Plots(player, time => { play(false); seek(time); });
  const play = on => {
    if (on && player.time >= player.last) player.time = player.first;
    state.playing = on;
    state.before = 0;
    $('icon').setAttribute('d', on ? 'M6 4h4v16H6zM14 4h4v16h-4z' : 'M7 4v16l13-8z');
    redraw();
  };
  const setSpeed = speed => { state.speed = speed; $('speed').value = speed; };
  const setCamera = number => { player.camera = number; $('camera').value = number; redraw(); };
  const toggle = name => { player.show[name] = !player.show[name]; redraw(); };
  const panel = () => { $('panel').hidden = !$('panel').hidden; redraw(); };
  const help = () => { $('help').hidden = !$('help').hidden; };
  const step = frames => {
    play(false);
    player.pose(player.time);
    seek(player.times[clamp(player.frame + frames, 0, player.times.length - 1)]);
  };

  for (const speed of SPEEDS) $('speed').add(new Option(speed < 1 ? `1/${1 / speed} ×` : `${speed} ×`, speed));
  setSpeed(1);
  $('camera').add(new Option('free camera', -1));
  player.content.cameras.forEach((camera, i) => $('camera').add(new Option(camera.name, i)));
  for (const [key, text] of KEYS) {
    const line = document.createElement('div'), name = document.createElement('b');
    name.textContent = key;
    line.append(name, text);
    $('help').append(line);
  }
  const span = player.last - player.first || 1;
  for (const fault of player.content.faults) {
    const mark = document.createElement('i');
    mark.style.left = `${100 * (fault.start - player.first) / span}%`;
    mark.style.width = `${100 * ((fault.end ?? player.last) - fault.start) / span}%`;
    mark.title = fault.name;
    $('faults').append(mark);
  }
  slider.min = player.first;
  slider.max = player.last;
  player.showTime = () => {
    slider.value = player.time;
    $('time').textContent = `${player.time.toFixed(2)} s`;
    if (!$('panel').hidden) plots.draw();
  };
  $('panel').hidden = innerWidth < 760 || !player.content.plots.length;
  $('subtitle').textContent += player.content.outcome === 'done' ? '' : `, ${player.content.outcome}`;

  slider.oninput = () => { play(false); seek(Number(slider.value)); };
  $('play').onclick = () => play(!state.playing);
  $('speed').onchange = () => setSpeed(Number($('speed').value));
  $('camera').onchange = () => setCamera(Number($('camera').value));
  $('show-plots').onclick = panel;
  $('show-help').onclick = help;
  const actions = {' ': () => play(!state.playing), ArrowRight: e => step(e.shiftKey ? 10 : 1), ArrowLeft: e => step(e.shiftKey ? -10 : -1),
    PageUp: () => seek(player.time - span / 10), PageDown: () => seek(player.time + span / 10), Home: () => seek(player.first),
    End: () => seek(player.last), Backspace: () => seek(player.first),
    '+': () => setSpeed(SPEEDS[Math.min(SPEEDS.indexOf(state.speed) + 1, SPEEDS.length - 1)]),
    '-': () => setSpeed(SPEEDS[Math.max(SPEEDS.indexOf(state.speed) - 1, 0)]), c: () => toggle('contacts'), p: () => toggle('plan'),
    s: () => toggle('shadows'), l: panel, i: panel, Escape: () => { player.release(); redraw(); }, F1: help,
    Tab: () => setCamera(player.content.cameras.length ? (player.camera + 1) % player.content.cameras.length : -1)};
  addEventListener('keydown', event => {
    if (event.target.tagName === 'SELECT' || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Tab' && document.activeElement !== canvas && document.activeElement !== document.body) return;
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action(event);
  });

  const pointers = new Map();
  canvas.onpointerdown = event => { canvas.focus(); canvas.setPointerCapture(event.pointerId); pointers.set(event.pointerId, event); };
  canvas.onpointerup = canvas.onpointercancel = event => pointers.delete(event.pointerId);
  canvas.oncontextmenu = event => event.preventDefault();
  canvas.onpointermove = event => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const dx = event.clientX - before.clientX, dy = event.clientY - before.clientY;
    if (pointers.size > 1) {  // two fingers
      const other = [...pointers.values()].find(p => p.pointerId !== event.pointerId);
      const far = p => Math.hypot(p.clientX - other.clientX, p.clientY - other.clientY);
      player.zoom(far(before) / Math.max(1, far(event)));
      player.pan(dx / 2, dy / 2);
    } else if (event.buttons & 4) player.zoom(Math.exp(0.006 * dy));
    else if (event.buttons & 2 || event.shiftKey) player.pan(dx, dy);
    else player.rotate(dx, dy);
    pointers.set(event.pointerId, event);
    redraw();
  };
  canvas.addEventListener('wheel', event => { event.preventDefault(); player.zoom(Math.exp(clamp(0.0012 * event.deltaY, -0.5, 0.5))); redraw(); }, {passive: false});
  canvas.ondblclick = () => { player.frameAll(); setCamera(-1); };
  addEventListener('resize', redraw);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { player.theme(); redraw(); });
  canvas.addEventListener('webglcontextlost', event => { event.preventDefault(); fail('The graphics card was lost: load this page again.'); });

  const fromAddress = () => {
    const asked = /^#t=(-?[\d.]+)/.exec(location.hash);
    if (asked) { play(false); seek(Number(asked[1])); }
    return asked;
  };
  addEventListener('hashchange', fromAddress);
  player.frameAll();
  if (!fromAddress() && !matchMedia('(prefers-reduced-motion: reduce)').matches) play(true);

  const tick = now => {
    if (state.playing) {
      if (state.before) player.time += Math.min(0.1, (now - state.before) / 1000) * state.speed;
      state.before = now;
      if (player.time >= player.last) { player.time = player.last; play(false); }
      state.dirty = true;
    }
    if (state.dirty) {
      state.dirty = false;
      player.draw();
      if (root.dataset.state === 'loading') {
        root.dataset.state = 'ready';
        root.dataset.firstFrame = Math.round(performance.now());
      }
    }
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}

(async () => {
  root.dataset.state = 'loading';
  const gl = $('view').getContext('webgl2', {antialias: true, alpha: false, powerPreference: 'high-performance'});
  if (!gl) return fail('This browser has no WebGL 2, which the playback needs: use a current Firefox, Chrome, Edge or Safari.');
  if (!('DecompressionStream' in window)) return fail('This browser is too old for this page: it has no DecompressionStream.');
  controls(new Player(await unpack(), gl));
})();
