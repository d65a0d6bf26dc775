// Unpacks the Chromium of @sparticuz/chromium: `node unpack.cjs PLACE`.
"use strict";

const { chmodSync, createReadStream, createWriteStream, renameSync } = require("node:fs");
const { join } = require("node:path");
const { pipeline } = require("node:stream/promises");
const { createBrotliDecompress } = require("node:zlib");

const place = process.argv[2];
const packed = join(__dirname, "node_modules/@sparticuz/chromium/bin/chromium.br");

pipeline(createReadStream(packed), createBrotliDecompress(), createWriteStream(`${place}.part`)).then(() => {
  chmodSync(`${place}.part`, 0o755);
  renameSync(`${place}.part`, place); // a whole program, or none
});
