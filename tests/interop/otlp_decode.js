// Decodes ExportTraceServiceRequests by OpenTelemetry's own schema: a line of base64 in, a line of JSON out.  What the schema
// does not know would be missing when it is encoded again, so that has to give the same number of bytes.
'use strict';
const readline = require('readline');
const root = require('@opentelemetry/otlp-transformer/build/src/generated/root');

const Request = root.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;

readline.createInterface({ input: process.stdin }).on('line', (line) => {
    const bytes = Buffer.from(line, 'base64');
    const request = Request.decode(bytes);
    const again = Request.encode(request).finish();
    const told = Request.toObject(request, { longs: String, enums: String, bytes: String });
    process.stdout.write(JSON.stringify({ same: again.length === bytes.length, told }) + '\n');
});
