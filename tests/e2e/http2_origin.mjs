// SPDX-License-Identifier: Apache-2.0
// A server of HTTP/2 alone: node http2_origin.mjs CERT KEY ADDRESS PORT. It answers with what it
// was asked, as JSON, and trailers, the authorization in the head and in these; /big with 8 MiB, /part with
// 200 KiB; /packed with the authorization, compressed; /early with an interim answer before, /hints with a
// thousand; /at-once before it has read the body, whose size it then writes down; /give-up likewise, but it
// resets the request. /break and /stop end in the midst of the answer, with an error and without; /short is not as long as
// it says; /refuse-once is refused every other time.
import {readFileSync, writeFileSync} from 'node:fs';
import {constants, createSecureServer} from 'node:http2';
import {gzipSync} from 'node:zlib';

const [cert, key, address, port] = process.argv.slice(2);
const server = createSecureServer({maxSessionMemory: 100, cert: readFileSync(cert), key: readFileSync(key)});
let refuses = false;
server.on('stream', (stream, headers) => {
  let body = 0;
  stream.on('error', () => {});
  const isEarly = headers[':path'] === '/at-once';
  if (isEarly || headers[':path'] === '/give-up') {
    stream.respond({':status': 200});
    stream.end('early');
    if (!isEarly) return stream.on('finish', () => stream.close());
  }
  if (headers[':path'] === '/break' || headers[':path'] === '/stop') {
    stream.respond({':status': 200});
    stream.write('part');
    return setTimeout(() => stream.destroy(headers[':path'] === '/break' ? new Error() : undefined), 300);
  }
  if (headers[':path'] === '/short') {
    stream.respond({':status': 200, 'content-length': 9});
    return stream.end('part');
  }
  if (headers[':path'] === '/refuse-once' && (refuses = !refuses)) return stream.close(constants.NGHTTP2_REFUSED_STREAM);
  stream.on('data', (data) => {
    body += data.length;
  });
  stream.on('end', () => {
    if (isEarly) return writeFileSync('uploaded', `${body}`);
    const size = {'/big': 8 << 20, '/part': 200 << 10}[headers[':path']];
    if (size) {
      stream.respond({':status': 200});
      stream.end(Buffer.alloc(size, 'x'));
      return;
    }
    const said = headers['authorization'] ?? '';
    if (headers[':path'] === '/packed') {
      stream.respond({':status': 200, 'content-encoding': 'gzip'});
      stream.end(gzipSync(said));
      return;
    }
    if (headers[':path'] === '/hints') {
      for (let i = 0; i < 1000; ++i) stream.additionalHeaders({':status': 103, link: 'x'.repeat(4000)});
    }
    if (headers[':path'] === '/early') stream.additionalHeaders({':status': 103, link: '</a>'});
    const head = {':status': 200, 'content-type': 'application/json', 'x-head': said};
    stream.respond(head, {waitForTrailers: true});
    stream.on('wantTrailers', () => stream.sendTrailers({'x-end': 'yes', 'x-trailer': said}));
    stream.end(JSON.stringify({headers, body}));
  });
});
process.on('uncaughtException', () => {});  // of streams that were reset meanwhile
server.listen(Number(port), address);
