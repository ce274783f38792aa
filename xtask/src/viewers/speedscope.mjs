// Opens files with speedscope's own importer and tells what it saw.
//
// usage: node speedscope.mjs FOLDER FILE...
// FOLDER is speedscope's dist/release, whose bundles are tables of modules. They are read without starting the page. For
// each file one line of JSON is printed: its profiles, how many calls speedscope draws and how deep, and the summed lengths
// by name. It draws no call without length.

import { readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";

const [folder, ...files] = process.argv.slice(2);

// The bundles are lines of many thousand characters: what went wrong is told without them.
process.on("uncaughtException", (error) => {
  console.error(error.message);
  process.exit(1);
});

const modules = {};
for (const name of readdirSync(folder).filter((name) => /^(speedscope|import)\..*\.js$/.test(name))) {
  const start = "parcelRequire=function(e,r,t,n){";
  const text = readFileSync(join(folder, name), "utf8");
  if (!text.startsWith(start)) throw new Error(`${name} is no bundle of the kind that is known`);
  new Function("modules", `let parcelRequire=function(e){Object.assign(modules,e);return;${text.slice(start.length)}`)(modules);
}

const loaded = {};
function load(id) {
  if (loaded[id]) return loaded[id].exports;
  if (!modules[id]) throw new Error(`speedscope has no module ${id}`);
  const [body, names] = modules[id];
  const module = (loaded[id] = { exports: {} });
  // What the page loads later is for symbols of programs, which these files have none of.
  const require = (name) => (name === "_bundle_loader" ? () => new Promise(() => {}) : load(names[name] ?? name));
  require.resolve = (name) => name;
  body.call(module.exports, require, module, module.exports, globalThis);
  return module.exports;
}

globalThis.window = globalThis;
globalThis.self = globalThis;
console.log = () => {};
console.warn = () => {};
const importer = Object.keys(modules).find((id) => /exports\.importProfileGroupFromText=/.test(modules[id][0].toString()));
const { importProfileGroupFromText } = load(importer);

for (const file of files) {
  const group = await importProfileGroupFromText(basename(file), readFileSync(file, "utf8"));
  if (!group) throw new Error(`${file}: speedscope does not know what it is`);
  const profiles = group.profiles.map((profile) => {
    const open = [], lengths = {};
    let calls = 0, deepest = 0;
    profile.forEachCall(
      (_node, value) => { open.push(value); calls += 1; deepest = Math.max(deepest, open.length); },
      ({ frame: { name } }, value) => { lengths[name] = (lengths[name] ?? 0) + value - open.pop(); },
    );
    return { name: profile.getName(), total: profile.getTotalWeight(), calls, deepest, lengths };
  });
  process.stdout.write(`${JSON.stringify(profiles)}\n`);
}
