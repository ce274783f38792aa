// Opens traces with Perfetto's own trace processor and answers queries.
//
// usage: node perfetto.mjs FOLDER TRACE QUERY...
// FOLDER has Perfetto's engine_bundle.js, which is made for a worker of a web page. What it needs of one is stood in for
// here. Each QUERY is SQL; its rows are printed as one line of JSON. A trace that cannot be read ends with an error.

import { readFileSync } from "node:fs";
import { join } from "node:path";

// Numbers from trace_processor.proto.
const APPEND = 1, FINALIZE = 2, QUERY = 3;
const CELL_NULL = 1, CELL_VARINT = 2, CELL_FLOAT64 = 3, CELL_STRING = 4;

const [folder, trace, ...queries] = process.argv.slice(2);

function varint(value) {
  const bytes = [];
  for (let rest = BigInt(value); ; rest >>= 7n) {
    if (rest < 0x80n) return [...bytes, Number(rest)];
    bytes.push(Number(rest & 0x7fn) | 0x80);
  }
}

function field(number, value) {
  if (typeof value === "number") return Buffer.from([...varint(number * 8), ...varint(value)]);
  return Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(value.length)]), value]);
}

function* fields(bytes) {
  let at = 0;
  const number = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(number());
    switch (tag & 7) {
      case 0: yield [tag >> 3, number()]; break;
      case 1: yield [tag >> 3, bytes.subarray(at, (at += 8))]; break;
      case 2: { const length = Number(number()); yield [tag >> 3, bytes.subarray(at, (at += length))]; break; }
      default: throw new Error(`kind of field ${tag & 7}`);
    }
  }
}

function packed(bytes) {
  const padded = Buffer.concat(Array.from(bytes.length ? splitVarints(bytes) : [], (one) => Buffer.from([8, ...one])));
  return [...fields(padded)].map(([, value]) => BigInt.asIntN(64, value));
}

function* splitVarints(bytes) {
  for (let from = 0, at = 0; at < bytes.length; at++) {
    if (bytes[at] < 0x80) { yield bytes.subarray(from, at + 1); from = at + 1; }
  }
}

// The rows of a query's answer, which comes in batches.
function rows(results) {
  const names = [], values = [];
  for (const result of results) {
    for (const [number, value] of fields(result)) {
      if (number === 1) names.push(value.toString());
      if (number === 2 && value.length) throw new Error(value.toString());
      if (number === 3) values.push(...cells(value));
    }
  }
  const table = [];
  while (values.length) table.push(Object.fromEntries(names.map((name) => [name, values.shift()])));
  return table;
}

function cells(batch) {
  const kinds = [], numbers = [], floats = [];
  let texts = [];
  for (const [number, value] of fields(batch)) {
    if (number === 1) kinds.push(...packed(value).map(Number));
    if (number === 2) numbers.push(...packed(value).map(Number));
    if (number === 3) for (let at = 0; at < value.length; at += 8) floats.push(value.readDoubleLE(at));
    if (number === 5) texts = value.toString().split("\0");
  }
  return kinds.map((kind) => {
    if (kind === CELL_NULL) return null;
    if (kind === CELL_VARINT) return numbers.shift();
    if (kind === CELL_FLOAT64) return floats.shift();
    if (kind === CELL_STRING) return texts.shift();
    throw new Error(`kind of cell ${kind}`);
  });
}

// What a worker of a web page has, as far as the engine uses it.
class XMLHttpRequest {
  open(_method, url) { this.url = url; }
  send() {
    this.status = 200;
    const bytes = readFileSync(join(folder, this.url));
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  }
}

// The bundle is one line of many thousand characters: what went wrong is told without it.
process.on("uncaughtException", (error) => {
  console.error(`${trace}: ${error.message}`);
  process.exit(1);
});

// Its names are given as parameters, so that they hide what would tell the engine that this is no web page.
const worker = {
  XMLHttpRequest, process: undefined, console: { log() {}, warn() {}, error() {} },
  location: { href: "engine_bundle.js" }, WorkerGlobalScope: class {}, self: {},
};
worker.self.location = worker.location;
new Function(...Object.keys(worker), readFileSync(join(folder, "engine_bundle.js"), "utf8"))(...Object.values(worker));

let answers = [];
const port = { postMessage: (bytes) => answers.push(Buffer.from(bytes)) };
worker.self.onmessage({ data: port });
let sequence = 0;

// Sends a request; its answers, each the part of it that belongs to the kind of request.
function ask(kind, part, value, answer) {
  const request = [field(1, sequence++), field(2, kind), ...(value ? [field(part, value)] : [])];
  answers = [];
  port.onmessage({ data: new Uint8Array(field(1, Buffer.concat(request))) });
  const messages = [...fields(Buffer.concat(answers))].map(([, message]) => [...fields(message)]);
  const fatal = messages.flat().find(([number]) => number === 5);
  if (fatal) throw new Error(fatal[1].toString());
  return messages.flatMap((message) => message.filter(([number]) => number === answer).map(([, value]) => value));
}

function check(results) {
  for (const result of results) {
    for (const [number, value] of fields(result)) if (number === 2 && value.length) throw new Error(value.toString());
  }
}

// The engine starts by itself, in a task of its own.
setTimeout(() => {
  check(ask(APPEND, 101, readFileSync(trace), 201));
  check(ask(FINALIZE, 0, null, 214));
  for (const query of queries) {
    console.log(JSON.stringify(rows(ask(QUERY, 103, field(1, Buffer.from(query)), 203))));
  }
}, 10);
