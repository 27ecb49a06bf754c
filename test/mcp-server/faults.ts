import type { IncomingMessage, ServerResponse } from 'node:http';

type Fault = (request: IncomingMessage, response: ServerResponse) => void;

const status =
  (code: number): Fault =>
  (_request, response) =>
    void response.writeHead(code, { 'content-type': 'text/plain' }).end('No.');

const answer =
  (type: string, body: string): Fault =>
  (_request, response) =>
    void response.writeHead(200, { 'content-type': type }).end(body);

const result =
  (given: object): Fault =>
  (request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const { id } = JSON.parse(body) as { id?: number };
      answer('application/json', JSON.stringify({ jsonrpc: '2.0', id, result: given }))(
        request,
        response,
      );
    });
  };

const faults: Readonly<Record<string, Fault>> = {
  html: answer('text/html', '<h1>Welcome</h1>'),
  json: answer('application/json', '{"hello":"world"}'),
  text: answer('application/json', 'hello'),
  'other-result': result({ hello: 'world' }),
  'other-protocol': result({
    protocolVersion: '1999-12-31',
    capabilities: {},
    serverInfo: { name: 'old', version: '1' },
  }),
  'not-found': status(404),
  unauthorized: status(401),
  forbidden: status(403),
  broken: status(500),
  busy: status(429),
  reset: (request) => void request.socket.destroy(),
  'empty-stream': answer('text/event-stream', ': nothing\n\n'),
  hang: () => {},
};

/** Answers a request with the fault `name`, as a broken server does. */
export function fault(name: string, request: IncomingMessage, response: ServerResponse): void {
  const known = faults[name];
  if (known) known(request, response);
  else response.writeHead(404).end(`Unknown fault ${name}`);
}
